package primary

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Bound sets the least time between two polls that a channel's origin asks for, as a
// poller reports it. It is kept in memory only, since every poller reports it again
// after a start, and with the first content of another incarnation.
func (o *Owner) Bound(id channel.ID, incarnation uint64, atLeast time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.mu.plan.bound(id, incarnation, atLeast) || !o.isOrdered(id.Bucket()) {
		return
	}
	// Read under the lock, so that a change that is applied later is ordered later. A
	// channel that cannot be read is ordered when it changes.
	if ch, err := o.store.Channel(id); err == nil && ch.Incarnation == incarnation {
		o.mu.poller.Order(o.orderOf(ch))
	}
}

// Sized says how many bytes on the wire a poll of a channel is expected to take.
func (o *Owner) Sized(id channel.ID, incarnation uint64, bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.plan.resize(id, incarnation, bytes)
}

// Rate returns how often a channel is polled by the whole system, as last ordered:
// never when it has no subscriber.
func (o *Owner) Rate(ch channel.Channel) overlay.Rate {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.plan.of(ch).rate.rate()
}
