package ownership

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// writes are the calls that change the cluster's state.
type writes struct {
	*router
	now    func() time.Time
	volume *volume.Volume
	same   Call[[]NewSubscription, []channel.Subscription]
}

func newWrites(rt *router, now func() time.Time, volume *volume.Volume) *writes {
	w := &writes{router: rt, now: now, volume: volume}
	w.same = newCall(rt, "same", w.sameHere).Within(sameWithin)
	return w
}

// The calls of this file return when their command is durable and applied. All but
// Unsubscribe are the owner's of a range, and fail on a node that does not lead it. Their
// errors: ErrUnavailable (the outcome is unknown, within five seconds),
// ErrClosed, ErrInvalid, ErrTooLarge, the context's, and what each names.

// Unsubscribe ends a subscription. Ending it again is no error; ErrNotFound says
// that it never existed.
func (w *writes) Unsubscribe(ctx context.Context, id string) error {
	b, seq, err := state.ParseSubscriptionID(id)
	if err != nil {
		return err
	}
	return w.do(ctx, b, &wire.Command{Change: &wire.Command_Unsubscribe{
		Unsubscribe: &wire.Unsubscribe{Bucket: uint32(b), Seq: seq},
	}})
}

// Commit changes a channel's content. ErrStale says that the channel has gone, is no
// longer at Base, or had its judge's state forgotten since; ErrNoSpace, that the disk
// is too full for it.
func (w *writes) Commit(ctx context.Context, c Commit) error {
	command, err := state.NewCommit(c)
	if err != nil {
		return err
	}
	if err := w.room(c.Base == 0 && c.Version > 0); err != nil {
		return err
	}
	return w.doHere(ctx, w.of(c.Channel.Bucket()), command)
}

// Forget replaces a channel's judge state by judge, which lacks what had been learned
// and was made from ch, a result of [Store.Channel]. No candidate waits then, and
// commits that were judged by an earlier state are stale. ErrStale says that the
// channel has ended or has another version or content since; ErrNoSpace, that the disk
// is too full for it.
func (w *writes) Forget(ctx context.Context, ch channel.Channel, judge []byte) error {
	command, err := state.NewForget(ch, judge)
	if err != nil {
		return err
	}
	if err := w.room(false); err != nil {
		return err
	}
	return w.doHere(ctx, w.of(ch.ID.Bucket()), command)
}

// EndChannel removes a channel without subscriptions, with all that is kept of it. ErrStale says that it has subscribers, or is not of this incarnation.
func (w *writes) EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error {
	return w.doHere(ctx, w.of(id.Bucket()), &wire.Command{Change: &wire.Command_EndChannel{
		EndChannel: &wire.EndChannel{Channel: id[:], Incarnation: incarnation},
	}})
}

// SetEndpoint keeps what is known of a sink URL, in the place of what it was made from;
// ErrStale says that something else stands. An endpoint without anything to remember is
// forgotten. Text that is not UTF-8 or too long is mended.
func (w *writes) SetEndpoint(ctx context.Context, e, was channel.Endpoint) error {
	command, err := state.NewSetEndpoint(e, was)
	if err != nil {
		return err
	}
	return w.doHere(ctx, w.of(channel.IDOf(e.URL).Bucket()), command)
}

// Advance moves delivery positions on, never back. Positions of channels that
// ended, and stragglers without a subscription, are dropped. A call may set up to
// 65,536 stragglers per range.
func (w *writes) Advance(ctx context.Context, progress []channel.Progress) error {
	parts := make(map[*route]*wire.Advance)
	for _, p := range progress {
		item, err := state.NewAdvance(p)
		if err != nil {
			return err
		}
		r := w.of(p.Channel.Bucket())
		if parts[r] == nil {
			parts[r] = &wire.Advance{Empty: w.version.Load() >= emptyFrom}
		}
		parts[r].Items = append(parts[r].Items, item)
	}
	return inParallel(parts, func(r *route, part *wire.Advance) error {
		return w.doHere(ctx, r, &wire.Command{Change: &wire.Command_Advance{Advance: part}})
	})
}

// room returns ErrNoSpace where the disk is too full: commands that begin something new
// are refused first, changes of existing channels when little space is left. Deletions
// and progress do not ask.
func (w *writes) room(begins bool) error {
	limit := volume.Critical
	if begins {
		limit = volume.Low
	}
	if w.volume.Level() < limit {
		return nil
	}
	w.tools.metrics.noSpace.Inc()
	return ErrNoSpace
}
