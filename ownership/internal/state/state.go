// Package state is the replicated state of ranges: subscriptions, channels, updates,
// delivery positions, idempotency keys. It has the commands that change it, what applying
// each of them does, and all reads of it. It knows pebble and the encoding in package
// wire; it knows no log, no other node and no clock, and starts no goroutine.
//
// A [Machine] is the state of one range. A [Reader] reads those of all replicas of a node.
package state

import "errors"

var (
	// ErrClosed says that the state was closed before the call.
	ErrClosed = errors.New("store closed")
	// ErrStale says that a command was made against a version or incarnation that
	// is no longer the channel's, or that a channel to be ended has subscribers.
	ErrStale = errors.New("made against an earlier state")
	// ErrKeyReused says that an idempotency key came before with another request.
	ErrKeyReused = errors.New("idempotency key used before with another request")
	// ErrInvalid says that a command breaks the rules of its type.
	ErrInvalid = errors.New("invalid command")
	// ErrMoved says that a command is about a bucket that its range does not have, or no
	// longer: it was not carried out, and may be sent to the range that has it.
	ErrMoved = errors.New("bucket of another range")
	// ErrRestoring says that a backup is being restored, and that nothing else changes
	// until it is whole.
	ErrRestoring = errors.New("a backup is being restored")
	// ErrNotFresh says that the cluster has, or had, subscriptions: no backup can be
	// restored into it.
	ErrNotFresh = errors.New("the cluster is not fresh: it has, or had, subscriptions")
)
