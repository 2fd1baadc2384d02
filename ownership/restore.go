package ownership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/backup"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

const (
	// restorePiece is how many bytes of records go in a command, unless one alone is larger.
	restorePiece = 256 << 10
	// restoreAhead is how many commands of records are under way.
	restoreAhead = 8
)

// Restore makes a fresh cluster what a backup holds: subscriptions keep their IDs,
// channels their versions; incarnations are new. The cluster takes no other command
// until the end of the backup was seen to be whole. A restore that ended early can be
// taken up again with the same backup, by any node.
//
// ErrNotFresh says that the cluster has, or had, subscriptions, and ErrRestoring that
// another backup is being restored: it takes nothing of this one. An error that wraps
// [backup.ErrFile] says that the file cannot be used; what of it was taken is not served.
//
// ErrNoSpace says that the disk of this node is nearly full, ErrRefused that the backup is of a
// newer version of the state machine than the cluster's.
func (b *backups) Restore(ctx context.Context, from io.Reader) (backup.Summary, error) {
	if err := b.room(true); err != nil { // before any range waits for this backup alone
		return backup.Summary{}, fmt.Errorf("restore: %w", err)
	}
	in, err := backup.NewReader(from, nil)
	if err != nil {
		return backup.Summary{}, err
	}
	if err := allow(b.version.Load(), in.StateMachine()); err != nil { // or replicas of an older program would refuse records
		return backup.Summary{}, fmt.Errorf("restore: %w", err)
	}
	r := &restoring{b: b, id: in.ID(), whole: make(map[*route]bool)}
	if err := r.begin(ctx); err != nil {
		return backup.Summary{}, fmt.Errorf("restore: %w", err)
	}
	buckets, err := r.putAll(ctx, in)
	if err == nil {
		err = r.end(ctx, buckets)
	}
	return in.Summary(), err
}

// restoring is a restore on its way.
type restoring struct {
	b     *backups
	id    []byte
	whole map[*route]bool // ranges that have all of the backup, from an earlier attempt
}

// begin has all ranges take the backup's records and nothing else, or none: one that
// refuses never began with this backup, so that none has a record of it. The first
// begins before the others, and is refused to a second backup.
func (r *restoring) begin(ctx context.Context) error {
	routes := r.b.inOrder()
	begun, refused, err := r.survey(ctx, routes)
	if err != nil {
		return err
	}
	if len(r.whole) == len(routes) {
		return fmt.Errorf("%w; it has this backup already", ErrNotFresh)
	}
	if refused == nil {
		begin := func(at *route) error {
			return r.do(ctx, at, &wire.Restore{Step: &wire.Restore_Begin{Begin: bucketsOf(at)}})
		}
		if refused = r.each(routes[:1], begin); refused == nil {
			begun, refused = true, r.each(routes[1:], begin)
		}
	}
	if !begun || len(r.whole) > 0 || !refuses(refused) {
		return refused
	}
	undoing := context.WithoutCancel(ctx)            // or the cluster would take neither subscriptions nor backups
	undone := r.each(routes, func(at *route) error { // where the outcome is unknown too
		return r.do(undoing, at, &wire.Restore{Step: &wire.Restore_Undo{Undo: bucketsOf(at)}})
	})
	if undone != nil { // what was refused does not matter beside ranges that wait for this backup alone
		return fmt.Errorf("the cluster refused it (%v), and it could not be called off everywhere: run the same restore again: %w", refused, undone)
	}
	return refused
}

// survey asks all ranges how far they are with the backup: whether any has begun, and
// why one refuses it.
func (r *restoring) survey(ctx context.Context, routes []*route) (begun bool, refused, err error) {
	for _, at := range routes {
		state, err := r.b.restorable.at(ctx, at, r.id)
		switch {
		case refuses(err):
			refused = err
		case err != nil:
			return false, nil, err
		}
		begun = begun || state.Begun
		if state.Whole {
			r.whole[at] = true
		}
	}
	return begun, refused, nil
}

// refuses reports whether a range said that it does not take the backup.
func refuses(err error) bool { return errors.Is(err, ErrNotFresh) || errors.Is(err, ErrRestoring) }

func bucketsOf(at *route) *wire.Restore_Buckets {
	return &wire.Restore_Buckets{From: uint32(at.From), To: uint32(at.To)}
}

// each does something with all ranges that are not whole, at once.
func (r *restoring) each(routes []*route, do func(at *route) error) error {
	errs := make([]error, len(routes))
	var doing sync.WaitGroup
	for i, at := range routes {
		if !r.whole[at] {
			doing.Go(func() { errs[i] = do(at) })
		}
	}
	doing.Wait()
	return errors.Join(errs...)
}

// do sends one step to a range, which may be done more than once.
func (r *restoring) do(ctx context.Context, at *route, step *wire.Restore) error {
	step.Backup = r.id
	command := &wire.Command{Change: &wire.Command_Restore{Restore: step}}
	return untilLed(ctx, func() error {
		soon, cancel := within(ctx, answerWithin)
		defer cancel()
		_, err := r.b.propose(soon, at.From, command)
		return err
	})
}

// putAll puts all records of a backup, and returns those of its buckets.
func (r *restoring) putAll(ctx context.Context, in *backup.Reader) (buckets []*wire.Bucket, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p := &putter{restoring: r, ctx: ctx, stop: stop, room: make(chan struct{}, restoreAhead)}
	for err == nil {
		var more []*wire.Bucket
		_, more, err = in.Next(p.add)
		buckets = append(buckets, more...)
	}
	if errors.Is(err, io.EOF) {
		err = p.flush()
	}
	p.under.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("restore: %w", cause)
	}
	return buckets, err
}

// putter gathers records to commands, and has some of these under way at a time.
type putter struct {
	*restoring
	ctx   context.Context
	stop  context.CancelCauseFunc // with the first error of a command
	room  chan struct{}
	under sync.WaitGroup

	at    *route // of pairs
	pairs []*wire.Restore_Pair
	size  int
}

// add takes a record, which it copies.
func (p *putter) add(key, value []byte) error {
	bucket, goes := state.Restorable(key)
	if !goes {
		return nil
	}
	at := p.b.of(bucket)
	if at != p.at || p.size+len(key)+len(value) > restorePiece {
		if err := p.flush(); err != nil {
			return err
		}
		p.at = at
	}
	if p.whole[at] {
		return nil
	}
	both := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	p.pairs = append(p.pairs, &wire.Restore_Pair{Key: both[:len(key):len(key)], Value: both[len(key):]})
	p.size += len(both)
	return nil
}

// flush sends what was gathered on its way, once there is room.
func (p *putter) flush() error {
	if len(p.pairs) == 0 {
		return nil
	}
	if err := p.b.room(true); err != nil {
		return err
	}
	select {
	case p.room <- struct{}{}:
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	at, pairs := p.at, p.pairs
	p.pairs, p.size = nil, 0
	p.under.Go(func() {
		defer func() { <-p.room }()
		step := &wire.Restore{Step: &wire.Restore_Put{Put: &wire.Restore_Records{Pairs: pairs}}}
		if err := p.do(p.ctx, at, step); err != nil {
			p.stop(fmt.Errorf("range %d: %w", at.ID, err))
		}
	})
	return nil
}

// end has all ranges be what the backup says.
func (r *restoring) end(ctx context.Context, buckets []*wire.Bucket) error {
	if len(buckets) != channel.Buckets {
		return fmt.Errorf("restore: %w: %d buckets", ErrInvalid, len(buckets))
	}
	return r.each(r.b.inOrder(), func(at *route) error {
		return r.do(ctx, at, &wire.Restore{Step: &wire.Restore_End_{End: &wire.Restore_End{
			From: uint32(at.From), Buckets: buckets[at.From : int(at.To)+1],
		}}})
	})
}
