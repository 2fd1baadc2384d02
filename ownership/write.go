package ownership

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// The calls of this file return when their command is durable and applied. All but
// Unsubscribe are the owner's of a range, and fail on a node that does not lead it. Their
// errors: ErrUnavailable (the outcome is unknown, within five seconds),
// ErrClosed, ErrInvalid, ErrTooLarge, the context's, and what each names.

// Unsubscribe ends a subscription. Ending it again is no error; ErrNotFound says
// that it never existed.
func (s *Store) Unsubscribe(ctx context.Context, id string) error {
	b, seq, err := state.ParseSubscriptionID(id)
	if err != nil {
		return err
	}
	return s.do(ctx, b, &wire.Command{Change: &wire.Command_Unsubscribe{
		Unsubscribe: &wire.Unsubscribe{Bucket: uint32(b), Seq: seq},
	}})
}

// Commit changes a channel's content. ErrStale says that the channel has gone, is no
// longer at Base, or had its judge's state forgotten since; ErrNoSpace, that the disk
// is too full for it.
func (s *Store) Commit(ctx context.Context, c Commit) error {
	command, err := state.NewCommit(c)
	if err != nil {
		return err
	}
	if err := s.room(c.Base == 0 && c.Version > 0); err != nil {
		return err
	}
	return s.doHere(ctx, s.of[c.Channel.Bucket()], command)
}

// Forget replaces a channel's judge state by judge, which lacks what had been learned
// and was made from ch, a result of [Store.Channel]. No candidate waits then, and
// commits that were judged by an earlier state are stale. ErrStale says that the
// channel has ended or has another version or content since; ErrNoSpace, that the disk
// is too full for it.
func (s *Store) Forget(ctx context.Context, ch channel.Channel, judge []byte) error {
	command, err := state.NewForget(ch, judge)
	if err != nil {
		return err
	}
	if err := s.room(false); err != nil {
		return err
	}
	return s.doHere(ctx, s.of[ch.ID.Bucket()], command)
}

// EndChannel removes a channel without subscriptions, with all that is kept of it. ErrStale says that it has subscribers, or is not of this incarnation.
func (s *Store) EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error {
	return s.doHere(ctx, s.of[id.Bucket()], &wire.Command{Change: &wire.Command_EndChannel{
		EndChannel: &wire.EndChannel{Channel: id[:], Incarnation: incarnation},
	}})
}

// SetEndpoint keeps what is known of a sink URL, in the place of what it was made from;
// ErrStale says that something else stands. An endpoint without anything to remember is
// forgotten. Text that is not UTF-8 or too long is mended.
func (s *Store) SetEndpoint(ctx context.Context, e, was channel.Endpoint) error {
	command, err := state.NewSetEndpoint(e, was)
	if err != nil {
		return err
	}
	return s.doHere(ctx, s.of[channel.IDOf(e.URL).Bucket()], command)
}

// Advance moves delivery positions on, never back. Positions of channels that
// ended, and stragglers without a subscription, are dropped. A call may set up to
// 65,536 stragglers per range.
func (s *Store) Advance(ctx context.Context, progress []channel.Progress) error {
	parts := make(map[*route]*wire.Advance)
	for _, p := range progress {
		item, err := state.NewAdvance(p)
		if err != nil {
			return err
		}
		r := s.of[p.Channel.Bucket()]
		if parts[r] == nil {
			parts[r] = &wire.Advance{}
		}
		parts[r].Items = append(parts[r].Items, item)
	}
	return inParallel(parts, func(r *route, part *wire.Advance) error {
		return s.doHere(ctx, r, &wire.Command{Change: &wire.Command_Advance{Advance: part}})
	})
}

// room returns ErrNoSpace where the disk is too full: commands that begin something new
// are refused first, changes of existing channels when little space is left. Deletions
// and progress do not ask.
func (s *Store) room(begins bool) error {
	limit := volume.Critical
	if begins {
		limit = volume.Low
	}
	if s.cfg.Volume.Level() < limit {
		return nil
	}
	s.tools.metrics.noSpace.Inc()
	return ErrNoSpace
}

// do sends a command that any node may propose to the leader of its range.
func (s *Store) do(ctx context.Context, b channel.Bucket, command *wire.Command) error {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	_, err := s.propose(ctx, s.of[b], command)
	return err
}

// doHere sends a command that only the leader of its range may propose. It is not
// forwarded: a node that no longer leads made it from a state that may be outdated.
func (s *Store) doHere(ctx context.Context, r *route, command *wire.Command) error {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	content, err := proto.Marshal(command)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case len(content) > maxCommand:
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(content))
	case s.closing.Load():
		return ErrClosed
	case !r.serves():
		return s.late(fmt.Errorf("range %d is not led here: %w", r.ID, ErrUnavailable))
	}
	p, err := s.enqueue(ctx, r.local, content)
	if err == nil {
		_, err = s.answered(ctx, p)
	}
	if errors.Is(err, errElsewhere) {
		err = s.late(fmt.Errorf("range %d is not led here any more: %w", r.ID, ErrUnavailable))
	}
	return err
}
