package primary

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Load is what a plan asks of the origins.
type Load struct {
	Budget   float64       // polls per interval that the subscribers would cause alone: Σ q
	Planned  float64       // polls per interval: Σ r
	Detected time.Duration // planned mean wait of a change, weighted by subscribers
	Bound    time.Duration // no rates within the budget and the floor do better
}

// plan knows the factors of every owned channel and their sums.
type plan struct {
	interval time.Duration
	floor    time.Duration
	factors  map[channel.ID]factors
	emptied  map[channel.ID]time.Time // channels without subscribers, since when
	polled   int
	sumQ     float64
	sumSqrtQ float64
}

// factors is what the plan remembers of one channel.
type factors struct {
	incarnation uint64
	subscribers uint64
	gone        bool
}

func (f factors) polled() bool { return f.subscribers > 0 && !f.gone }

func newPlan(interval, floor time.Duration) plan {
	return plan{
		interval: interval,
		floor:    floor,
		factors:  make(map[channel.ID]factors),
		emptied:  make(map[channel.ID]time.Time),
	}
}

// polling says what a change means for a channel's pollers.
type polling uint8

const (
	pollAsBefore polling = iota
	pollStart            // polled from now on, or under another incarnation
	pollStop
)

// update takes a channel's state into the sums.
func (p *plan) update(ch ownership.Channel, ended bool) polling {
	old, known := p.factors[ch.ID]
	if ended {
		if known && old.incarnation != ch.Incarnation {
			return pollAsBefore
		}
		p.forget(ch.ID, old)
		return stopIf(known && old.polled())
	}
	next := factors{incarnation: ch.Incarnation, subscribers: ch.Subscribers, gone: ch.Gone}
	p.forget(ch.ID, old)
	p.remember(ch, next)
	switch {
	case next.polled() && (!old.polled() || old.incarnation != next.incarnation):
		return pollStart
	case !next.polled():
		return stopIf(old.polled())
	}
	return pollAsBefore
}

func stopIf(stop bool) polling {
	if stop {
		return pollStop
	}
	return pollAsBefore
}

func (p *plan) forget(id channel.ID, old factors) {
	delete(p.factors, id)
	delete(p.emptied, id)
	p.add(old, -1)
}

func (p *plan) remember(ch ownership.Channel, next factors) {
	p.factors[ch.ID] = next
	if next.subscribers == 0 {
		p.emptied[ch.ID] = ch.EmptiedAt
	}
	p.add(next, 1)
}

func (p *plan) add(f factors, sign int) {
	if !f.polled() {
		return
	}
	p.polled += sign
	p.sumQ += float64(sign) * float64(f.subscribers)
	p.sumSqrtQ += float64(sign) * math.Sqrt(float64(f.subscribers))
}

// emptyChannel is a channel that may end.
type emptyChannel struct {
	id          channel.ID
	incarnation uint64
}

// empty returns at most limit channels without subscribers since before.
func (p *plan) empty(before time.Time, limit int) []emptyChannel {
	var due []emptyChannel
	for id, since := range p.emptied {
		if since.Before(before) {
			due = append(due, emptyChannel{id, p.factors[id].incarnation})
			if len(due) == limit {
				break
			}
		}
	}
	return due
}

// load returns the plan's sums. Every polled channel has rate 1, so that each
// subscriber waits half an interval. No rates do better than the larger of two
// bounds: every channel polled once a floor, and the continuous optimum
// r ∝ √q under the budget alone, τ·(Σ√q)²/(2·Σq·budget).
func (p *plan) load() Load {
	load := Load{Budget: p.sumQ, Planned: float64(p.polled)}
	if p.polled == 0 {
		return load
	}
	load.Detected = p.interval / 2
	continuous := float64(p.interval) * p.sumSqrtQ * p.sumSqrtQ / (2 * p.sumQ * load.Budget)
	fastest := max(p.interval/p.floor, 1)
	load.Bound = max(time.Duration(continuous), p.interval/(2*fastest))
	return load
}
