package lists

import (
	"context"
	"time"
)

// The first wait before something is tried again, and the longest: each is twice as
// long as the one before.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// retries says when to try again, and when no more.
type retries struct {
	most  time.Duration // of waiting in a row that led to nothing
	pause func(context.Context, time.Duration) error

	delay  time.Duration // the next wait
	waited time.Duration
}

func newRetries(most time.Duration, pause func(context.Context, time.Duration) error) *retries {
	return &retries{most: most, pause: pause, delay: firstRetry}
}

// reset says that the last try led to something.
func (r *retries) reset() { r.delay, r.waited = firstRetry, 0 }

// left reports whether there is another try.
func (r *retries) left() bool { return r.waited+r.delay <= r.most }

// wait waits for it. Its error is the context's.
func (r *retries) wait(ctx context.Context) error {
	err := r.pause(ctx, r.delay)
	r.waited += r.delay
	r.delay = min(2*r.delay, lastRetry)
	return err
}

// pause waits, or returns why the context ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
