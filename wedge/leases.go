package wedge

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// renew renews the lease of a range.
func (p *Poller) renew(s Session) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.ranges.At(s.From)
	switch {
	case r != nil && s.Term < r.Term:
		return outdated
	case r == nil || s.Term > r.Term || r.lapsed || s.Sequence != r.Sequence:
		return again
	}
	r.until = time.Now().Add(p.config.Lease)
	return taken
}

// expire goes by the leases that are over: first rank 0 alone goes on polling, at most
// once an interval, and after an interval there is no poller left.
// Where other nodes poll from the same address, there is none left at once.
func (p *Poller) expire(now time.Time) {
	p.shared.Store(p.owner.sharesEgress())
	p.mu.Lock()
	defer p.mu.Unlock()
	var over []channel.Range
	for id, r := range p.mu.ranges.All() {
		switch {
		case !now.After(r.until) || planted.Bug(17):
		case now.After(p.end(r)):
			over = append(over, id)
		case !r.lapsed:
			p.lapse(r)
		}
	}
	for _, r := range over {
		p.mu.ranges.Remove(r)
		p.engine.Drop(slices.DeleteFunc(idsOf(p.engine.Ordered(r)), func(id channel.ID) bool {
			return p.mu.ranges.At(id.Bucket()) != nil // it has been split off since, and ordered
		})...)
	}
}

// end returns when a range has no poller left unless its lease is renewed.
func (p *Poller) end(r *obeyed) time.Time {
	if p.shared.Load() {
		return r.until
	}
	return r.until.Add(p.config.Interval)
}

// Leased implements [engine.Owner]: a poller polls what it was ordered to, until the orders'
// lease is over; see expire.
func (p *Poller) Leased(id channel.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.mu.ranges.At(id.Bucket())
	return r != nil && !time.Now().After(p.end(r))
}

// lapse has rank 0 alone poll a range's channels. p.mu is held.
func (p *Poller) lapse(r *obeyed) {
	p.config.Logger.Warn("no owner has ordered a range for long", "range", r.ID, "lease", p.config.Lease)
	p.metrics.lapsed.Inc()
	r.lapsed, r.seen = true, nil
	var drops []channel.ID
	var paces []engine.Pace
	for _, pace := range p.engine.Ordered(r.Range) {
		if p.mu.ranges.At(pace.Channel.Bucket()) != r {
			continue // it has been split off since, and ordered
		}
		if pace.Rank > 0 {
			drops = append(drops, pace.Channel)
			continue
		}
		pace.Width = 1
		if pace.Rate.Float() > 1 {
			pace.Rate = overlay.Rate{Polls: 1, Intervals: 1}
		}
		paces = append(paces, pace)
	}
	p.engine.Repace(paces...)
	p.engine.Drop(drops...)
}
