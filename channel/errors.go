package channel

import "errors"

var (
	// ErrNotFound says that a channel or a subscription does not exist; of a
	// subscription, that it never did.
	ErrNotFound = errors.New("not found")
	// ErrTooOld says that updates behind a cursor are no longer kept.
	ErrTooOld = errors.New("cursor older than what is kept")
)
