package ownership

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable says that the range has no leader here, or did not answer
	// within five seconds. The outcome is unknown: the command may yet happen.
	ErrUnavailable = errors.New("range unavailable, outcome unknown")
	// ErrClosed says that the store was closed before the command was accepted.
	ErrClosed = errors.New("store closed")
	// ErrNotFound says that the thing does not exist, and for a subscription that
	// it never did.
	ErrNotFound = errors.New("not found")
	// ErrStale says that a command was made against a version or incarnation that
	// is no longer the channel's, or that a channel to be ended has subscribers.
	ErrStale = errors.New("made against an earlier state")
	// ErrKeyReused says that an idempotency key came before with another request.
	ErrKeyReused = errors.New("idempotency key used before with another request")
	// ErrInvalid says that a command breaks the rules of its type.
	ErrInvalid = errors.New("invalid command")
	// ErrTooLarge says that a command is larger than a log entry may be.
	ErrTooLarge = errors.New("command too large")
	// ErrTooOld says that updates after a cursor are no longer kept.
	ErrTooOld = errors.New("cursor older than what is kept")
	// ErrCorrupt says that what the disk holds is not what was written to it: a
	// bad checksum, a missing entry, a store that lost its data. Nothing is served.
	ErrCorrupt = errors.New("data on disk is damaged")
	// ErrForeign says that the directory belongs to another node or cluster, or to
	// another program.
	ErrForeign = errors.New("directory belongs to another node")
)

// FormatError says that a directory was written by a newer version. Nothing in
// it was touched.
type FormatError struct {
	Dir       string
	Have      int // the directory's format number
	Supported int // the newest that this program reads
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s has format %d, this program reads up to %d: use a newer version", e.Dir, e.Have, e.Supported)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}
