package ownership

import (
	"context"
	"errors"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

const (
	sweepChannels = 2000            // looked at in one step
	passEvery     = time.Minute     // between two passes over all channels
	shortestAge   = 1 * time.Minute // that lack of space shrinks retention to
)

// sweeper proposes to forget what the rules of retention let go. It looks at
// channels in small steps, so that a million of them cost little at a time; what
// goes is decided where the command is applied.
type sweeper struct {
	s        *Store
	next     []byte        // key of the channel to look at next, nil between passes
	passed   time.Time     // when the last pass began
	retain   time.Duration // updates older than this go, delivered or not
	proposed int           // in this pass
}

func (s *Store) sweep(ctx context.Context) {
	w := newSweeper(s)
	every(ctx, s.cfg.SweepInterval, func() { w.step(ctx) })
}

func newSweeper(s *Store) *sweeper { return &sweeper{s: s, retain: state.KeepAtMost} }

// step goes on with a pass, or begins one when it is time.
func (w *sweeper) step(ctx context.Context) {
	now := w.s.cfg.Now()
	if w.next == nil {
		if now.Sub(w.passed) < passEvery && !w.crowded() {
			return
		}
		w.passed, w.proposed = now, 0
		w.expireKeys(ctx, now)
		w.forgetRests(ctx, now)
	}
	for _, trim := range w.candidates(now) {
		w.propose(ctx, channel.ID(trim.Channel).Bucket(), &wire.Command{Change: &wire.Command_Trim{Trim: trim}})
	}
	if w.next == nil {
		w.adjust()
	}
}

// crowded says that the updates kept exceed their bytes, and that another pass
// may help.
func (w *sweeper) crowded() bool {
	limit := w.s.cfg.RetainBytes
	return limit > 0 && w.s.UpdateBytes() > limit && (w.proposed > 0 || w.retain > shortestAge)
}

// adjust moves the age that updates may reach, at the end of a pass: down while
// they take too much space, up again when there is room. So the oldest go first,
// all over.
func (w *sweeper) adjust() {
	limit, bytes := w.s.cfg.RetainBytes, w.s.UpdateBytes()
	switch {
	case limit > 0 && bytes > limit:
		w.retain = max(w.retain/2, shortestAge)
	case limit == 0 || bytes < limit/10*8:
		w.retain = min(w.retain*2, state.KeepAtMost)
	}
}

// candidates reads the next channels and returns the trims worth proposing.
func (w *sweeper) candidates(now time.Time) (trims []*wire.Trim) {
	trims, next, err := w.s.state.Trims(w.next, sweepChannels, now, w.retain, func(b channel.Bucket) bool { return w.s.of(b).serves() })
	if err != nil {
		w.s.tools.log.Warn("sweep could not read channels", "error", err)
	}
	w.next = next
	return trims
}

// expireKeys forgets the idempotency keys of days that no longer count.
func (w *sweeper) expireKeys(ctx context.Context, now time.Time) {
	for _, g := range w.s.groups() {
		if !g.serving.Load() {
			continue
		}
		if command := g.state.ExpireKeys(now); command != nil {
			w.propose(ctx, g.all.From, command)
		}
	}
}

// forgetRests proposes to forget hosts whose rest is over.
func (w *sweeper) forgetRests(ctx context.Context, now time.Time) {
	for _, g := range w.s.groups() {
		if !g.serving.Load() {
			continue
		}
		command, hosts, err := w.s.state.ForgetRests(g.rng(), now)
		if err != nil {
			w.s.tools.log.Warn("sweep could not read hosts that rest", "error", err)
		} else if hosts > 0 {
			w.propose(ctx, g.all.From, command)
		}
	}
}

// propose sends a command. A channel that has changed meanwhile is for the next
// pass.
func (w *sweeper) propose(ctx context.Context, b channel.Bucket, command *wire.Command) {
	err := w.s.doHere(ctx, w.s.of(b), command)
	switch {
	case err == nil:
		w.proposed++
		w.s.tools.metrics.sweeps.Inc()
	case errors.Is(err, ErrStale), ctx.Err() != nil:
	default:
		w.s.tools.metrics.sweepsFailed.Inc()
	}
}
