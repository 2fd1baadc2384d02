package ownership

import (
	"errors"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
)

var (
	// ErrUnavailable says that the range has no leader here, or did not answer
	// within five seconds. The outcome is unknown: the command may yet happen.
	ErrUnavailable = errors.New("range unavailable, outcome unknown")
	// ErrClosed says that the store was closed before the command was accepted.
	ErrClosed = state.ErrClosed
	// ErrStale says that a command was made against a version or incarnation that
	// is no longer the channel's, or that a channel to be ended has subscribers.
	ErrStale = state.ErrStale
	// ErrKeyReused says that an idempotency key came before with another request.
	ErrKeyReused = state.ErrKeyReused
	// ErrInvalid says that a command breaks the rules of its type.
	ErrInvalid = state.ErrInvalid
	// ErrRestoring says that a backup is being restored, and that nothing else changes
	// until it is whole.
	ErrRestoring = state.ErrRestoring
	// ErrNotFresh says that the cluster has, or had, subscriptions, and so takes no
	// backup.
	ErrNotFresh = state.ErrNotFresh
	// ErrTooLarge says that a command is larger than a log entry may be.
	ErrTooLarge = errors.New("command too large")
	// ErrNoSpace says that the disk is nearly full, and that the command was one of
	// those that are refused first. It was not carried out.
	ErrNoSpace = errors.New("disk nearly full")
	// ErrBehind says that the log has grown to several times of what it should be,
	// since snapshots fail: the disk fills, and a start takes ever longer.
	ErrBehind = errors.New("log grows without snapshots")
	// ErrCorrupt says that what the disk holds is not what was written to it: a
	// bad checksum, a missing entry, a store that lost its data. Nothing is served.
	ErrCorrupt = disk.ErrCorrupt
	// ErrForeign says that the directory belongs to another node or cluster, or to
	// another program.
	ErrForeign = errors.New("directory belongs to another node")
	// ErrMode says that the directory is of one of several nodes, and is opened as that of a
	// node alone.
	ErrMode = errors.New("directory is of another kind of cluster")
	// ErrVersion says that this program does not apply the version of the state machine that
	// the cluster is at: it is too old, or too new by more than one release.
	ErrVersion = tables.ErrVersion
	// ErrRefused says that the cluster as it is forbids what was asked for.
	ErrRefused = tables.ErrRefused
	// ErrRanges says that the directory was made with another number of ranges than
	// Config.Ranges.
	ErrRanges = errors.New("directory has another number of ranges")
)
