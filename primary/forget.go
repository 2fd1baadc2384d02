package primary

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Forget makes durable that nothing is learned of the noise of a channel's content. The
// owner keeps no judge's state in memory, so the next report is judged without. What is
// forgotten already is not written. The error is that of the store:
// [channel.ErrNotFound] for a channel that does not exist.
func (j *judge) Forget(ctx context.Context, id channel.ID) error {
	stripe := j.stripe(id)
	stripe.Lock()
	defer stripe.Unlock()
	err := j.forget(ctx, id)
	if errors.Is(err, ownership.ErrStale) {
		// A commit whose outcome was not known came before: forget what is now.
		err = j.forget(ctx, id)
	}
	return err
}

func (j *judge) forget(ctx context.Context, id channel.ID) error {
	ch, err := j.store.Channel(id)
	if err != nil {
		return fmt.Errorf("channel %s: %w", id, err)
	}
	var state deltas.State
	if err := state.UnmarshalBinary(ch.Judge); err != nil {
		return fmt.Errorf("judge's state of channel %s: %w", id, err)
	}
	if state.Extractor == 0 {
		return nil // without content there is nothing that was learned
	}
	bare, err := state.Forget().MarshalBinary()
	if err != nil {
		return fmt.Errorf("judge's state of channel %s: %w", id, err)
	}
	if bytes.Equal(bare, ch.Judge) {
		return nil
	}
	if err := j.store.Forget(ctx, ch, bare); err != nil {
		return fmt.Errorf("forget what was learned of channel %s: %w", id, err)
	}
	return nil
}
