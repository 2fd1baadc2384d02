package ownership

import (
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
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
	ticker := time.NewTicker(s.cfg.SweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.step(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func newSweeper(s *Store) *sweeper { return &sweeper{s: s, retain: keepAtMost} }

// step goes on with a pass, or begins one when it is time.
func (w *sweeper) step(ctx context.Context) {
	now := w.s.cfg.Now()
	if w.next == nil {
		if now.Sub(w.passed) < passEvery && !w.crowded() {
			return
		}
		w.passed, w.proposed = now, 0
		w.expireKeys(ctx, wire.Micros(now))
		w.forgetRests(ctx, wire.Micros(now))
		w.next = kindPrefix(0, kindChannel)
	}
	for _, trim := range w.candidates(wire.Micros(now)) {
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
		w.retain = min(w.retain*2, keepAtMost)
	}
}

// candidates reads the next channels and returns the trims worth proposing.
func (w *sweeper) candidates(nowUS uint64) (trims []*wire.Trim) {
	done, err := w.s.reading()
	if err != nil {
		return nil
	}
	defer done()
	left := sweepChannels
	w.next, err = eachChannel(w.s.state, w.next, func(id channel.ID, record *wire.Channel) bool {
		if trim := w.consider(id, record, nowUS); trim != nil && w.s.of[id.Bucket()].serves() {
			trims = append(trims, trim)
		}
		left--
		return left > 0
	})
	if err != nil {
		w.s.tools.log.Warn("sweep could not read channels", "error", err)
		w.next = nil
	}
	return trims
}

// consider returns a trim if it would remove something.
func (w *sweeper) consider(id channel.ID, record *wire.Channel, nowUS uint64) *wire.Trim {
	if record.Oldest == 0 || record.Oldest > lastTrimmable(record.Version) {
		return nil
	}
	old := age(nowUS, record.OldestStamp)
	forced := w.retain < keepAtMost && old > w.retain
	if !forced {
		delivered, err := deliveredTo(w.s.state, id, record)
		if err != nil || !mayTrim(old, record.Oldest <= delivered) {
			return nil
		}
	}
	trim := &wire.Trim{Channel: id[:], Incarnation: record.Incarnation, BeforeUs: nowUS + 1, Forced: forced}
	if forced {
		trim.BeforeUs = nowUS - uint64(w.retain.Microseconds())
	}
	return trim
}

// expireKeys forgets the idempotency keys of days that no longer count.
func (w *sweeper) expireKeys(ctx context.Context, nowUS uint64) {
	before := firstKeyDay(nowUS)
	for _, g := range w.s.groups {
		if g.serving.Load() && g.fsm.hot.hasKeysBefore(before) {
			w.propose(ctx, g.from, &wire.Command{Change: &wire.Command_ExpireKeys{
				ExpireKeys: &wire.ExpireKeys{From: uint32(g.from), To: uint32(g.to), BeforeDay: before},
			}})
		}
	}
}

func (h *hot) hasKeysBefore(day uint32) bool {
	for i := range h.keyDay {
		if first := h.keyDay[i].Load(); first > 0 && first < day {
			return true
		}
	}
	return false
}

// propose sends a command. A channel that has changed meanwhile is for the next
// pass.
func (w *sweeper) propose(ctx context.Context, b channel.Bucket, command *wire.Command) {
	err := w.s.doHere(ctx, w.s.of[b], command)
	switch {
	case err == nil:
		w.proposed++
		w.s.tools.metrics.sweeps.Inc()
	case errors.Is(err, ErrStale), ctx.Err() != nil:
	default:
		w.s.tools.metrics.sweepsFailed.Inc()
	}
}

// eachChannel visits channels in the order of their IDs, from the key start on,
// until visit returns false. It returns the key to go on with, nil at the end.
func eachChannel(r pebble.Reader, start []byte, visit func(channel.ID, *wire.Channel) bool) (next []byte, err error) {
	err = eachInBuckets(r, kindChannel, start, func(key, value []byte) (bool, error) {
		record := &wire.Channel{}
		if err := unmarshal(key, value, record); err != nil {
			return false, err
		}
		if !visit(keyChannel(key), record) {
			next = append(append([]byte{}, key...), 0)
			return false, nil
		}
		return true, nil
	})
	return next, err
}
