package primary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// Moved records what a poll has shown of where a channel has moved. It commits
// only what changes by that; the poller's next order says it.
func (j *judge) Moved(ctx context.Context, move engine.Move) error {
	stripe := j.stripe(move.Channel)
	stripe.Lock()
	defer stripe.Unlock()
	t := j.book.tenureOf(move.Channel)
	if t == nil {
		return fmt.Errorf("channel %s: %w", move.Channel, ErrNotLed)
	}
	ch, err := j.store.Channel(move.Channel)
	if errors.Is(err, channel.ErrNotFound) || err == nil && ch.Incarnation != move.Incarnation {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read channel %s: %w", move.Channel, err)
	}
	next := nextMoved(ch.Moved, deltas.Kind(ch.Kind), move, j.config.movedHold())
	if next == ch.Moved {
		return nil
	}
	commit := unchanged(ch)
	commit.Gone, commit.Moved, commit.At = ch.Gone, &next, j.config.Now()
	if err := j.commit(ctx, t, commit); err != nil {
		return fmt.Errorf("commit that channel %s has moved: %w", move.Channel, err)
	}
	return nil
}

// nextMoved is what is known after a poll, of a channel whose committed content is
// of a kind.
//
//   - A target is remembered from the first poll that was led there by permanent
//     redirects alone and found the channel's kind of document.
//   - Another target starts the time over; a poll without a target forgets it.
//   - A document of another kind makes all targets doubtful until the channel's URL
//     answers by itself again: the page may be what is committed by then.
//   - Once it has held for so long it is learned: polls ask it alone. It is
//     forgotten when it shows another kind, or when the channel's URL, asked since it
//     fails, answers by itself; and starts over where it redirects for good in its turn.
func nextMoved(known channel.Moved, kind deltas.Kind, move engine.Move, hold time.Duration) channel.Moved {
	foreign := move.Foreign || move.Kind != 0 && move.Kind != kind
	switch {
	case kind == 0:
		return known // nothing is committed that a document could be compared with
	case move.Learned && foreign:
		return channel.Moved{}
	case move.Learned && move.To == "":
		return known
	case move.To == "":
		return channel.Moved{}
	case foreign:
		return channel.Moved{To: move.To}
	case doubted(known):
		return known
	case move.To != known.To:
		return channel.Moved{To: move.To, Since: move.Since.UTC().Truncate(time.Microsecond)}
	}
	known.Learned = known.Learned || move.At.Sub(known.Since) >= hold
	return known
}

// doubted reports a target that is not to be learned, however long it holds.
func doubted(known channel.Moved) bool {
	return known.To != "" && !known.Learned && known.Since.IsZero()
}

// direct adds to an order where the channel has moved.
func direct(order engine.Order, known channel.Moved, hold time.Duration) engine.Order {
	order.MovedTo = known.To
	switch {
	case known.Learned:
		order.Ask = known.To
	case !known.Since.IsZero():
		order.MovedAgain = known.Since.Add(hold)
	}
	return order
}
