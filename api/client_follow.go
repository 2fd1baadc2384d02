package api

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"
)

// The waits between attempts to connect again: doubled from the first to the
// last, each shortened by up to a half at random so that clients spread.
const (
	firstWait = 250 * time.Millisecond
	lastWait  = 15 * time.Second
)

// Follow reads the stream of updates and connects again whenever it breaks,
// from the cursor behind the last event: no event is lost or comes twice, save
// what a reset event tells of. lost, which may be nil, is called with the reason
// and the wait before each new attempt.
//
// The loop ends without an error when the context is done; with one when the
// very first connection fails, when the node refuses for a reason that time does
// not mend, or when what it sends is not understood.
func (c *Client) Follow(ctx context.Context, filter StreamFilter, cursor string, lost func(error, time.Duration)) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		follow := follower{cursor: cursor, wait: firstWait}
		for {
			err := follow.connection(ctx, c, filter, yield)
			if errors.Is(err, errStopped) || ctx.Err() != nil {
				return
			}
			if !follow.connected || !mends(err) {
				yield(StreamEvent{}, err)
				return
			}
			if !follow.pause(ctx, err, lost) {
				return
			}
		}
	}
}

type follower struct {
	cursor    string
	connected bool          // at least once
	wait      time.Duration // before the next attempt, before jitter
}

// connection reads one stream to its end, which is never without an error.
func (f *follower) connection(ctx context.Context, c *Client, filter StreamFilter, yield func(StreamEvent, error) bool) error {
	stream, err := c.Stream(ctx, filter, f.cursor)
	if err != nil {
		return err
	}
	defer stream.Close()
	f.connected = true
	for {
		event, err := stream.Next()
		f.cursor = stream.Cursor()
		if err != nil {
			return err
		}
		f.wait = firstWait
		if !yield(event, nil) {
			return errStopped
		}
	}
}

// mends reports whether time may mend what went wrong.
func mends(err error) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Retryable
	}
	return !errors.Is(err, errEventTooLong)
}

// pause waits before the next attempt and reports whether to make it.
func (f *follower) pause(ctx context.Context, reason error, lost func(error, time.Duration)) bool {
	wait := f.wait - rand.N(f.wait/2)
	f.wait = min(2*f.wait, lastWait)
	if lost != nil {
		lost(reason, wait)
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
