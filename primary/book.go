package primary

import (
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// book is what an owner knows and has ordered of its channels, under one lock, which is
// held for a few milliseconds at most and taken before the poller's own.
type book struct {
	config Config
	store  Store

	sync.Mutex
	poller Poller                   // nil before Start
	led    channel.ByRange[*tenure] // ranges that this node leads
	plan   plan
}

// tenure is the time in which this node leads a range, from RangeGained to RangeLost.
// What was read in one is void in a later one of the same range: another node may have
// led in between. Its flags are guarded by the book's lock.
type tenure struct {
	channel.Range
	term    uint64
	learned bool // its channels are all in the plan
	ordered bool // its channels have orders or are about to: changes are ordered at once
	over    bool
}

// change updates the plan and the poller's orders. b is locked.
func (b *book) change(ch channel.Channel, ended bool) {
	t := b.led.At(ch.ID.Bucket())
	if t == nil {
		return // or it is told before the range was gained, and read then
	}
	polled := b.plan.update(ch, ended)
	if !t.ordered {
		return
	}
	switch polled {
	case pollStart, pollAnew:
		b.poller.Order(b.orderOf(ch))
	case pollStop:
		b.poller.Drop(ch.ID)
	}
}

// orderOf is what a channel's pollers are told, whichever they are. b is locked.
func (b *book) orderOf(ch channel.Channel) engine.Order {
	known := b.plan.of(ch)
	return direct(engine.Order{
		Channel:     ch.ID,
		Incarnation: ch.Incarnation,
		URL:         ch.URL,
		Rate:        known.rate.rate(),
		Width:       b.plan.width(known),
		Version:     ch.Version,
		Hash:        ch.Hash,
		Held:        ch.Held,
		Subscribers: uint64(popular(known.subscribers)),
		Most:        known.most.rate(),
	}, ch.Moved, b.config.movedHold())
}

// orderWhole orders channels of which some pollers know nothing. What cannot be read is
// ordered at the latest with the range's next takeover.
func (b *book) orderWhole(ids []channel.ID) {
	b.Lock()
	defer b.Unlock()
	for _, id := range ids {
		ch, err := b.store.Channel(id)
		if err == nil && b.isOrdered(id.Bucket()) && b.plan.of(ch).rate != 0 {
			b.poller.Order(b.orderOf(ch))
		}
	}
}

// isOrdered says whether the channels of a bucket have orders. b is locked.
func (b *book) isOrdered(bucket channel.Bucket) bool {
	t := b.led.At(bucket)
	return t != nil && t.ordered
}

// pace is what a channel's pollers are told, whichever they are. b is locked.
func (b *book) pace(e *entry) engine.Pace {
	return engine.Pace{
		Channel: e.id, Incarnation: uint64(e.incarnation), Rate: e.rate.rate(),
		Width: b.plan.width(e.factors),
	}
}

// walkChunk is how many channels are looked at under one lock, or as many as a run
// has.
const walkChunk = 512

// walk visits all channels, run by run, some under each lock.
func (b *book) walk(visit func(run []entry)) {
	for bucket := 0; bucket < channel.Buckets; {
		bucket = b.walkSome(bucket, visit)
	}
}

func (b *book) walkSome(bucket int, visit func(run []entry)) (next int) {
	b.Lock()
	defer b.Unlock()
	for n := 0; bucket < channel.Buckets && n < walkChunk; bucket++ {
		run := b.plan.factors.runs[bucket]
		visit(run)
		n += len(run)
	}
	return bucket
}

// tenureOf returns the tenure of a channel's range; nil: this node does not lead it.
func (b *book) tenureOf(id channel.ID) *tenure {
	b.Lock()
	defer b.Unlock()
	return b.led.At(id.Bucket())
}

// abandon takes the channels of a bucket from the plan. The lock is free between two
// buckets, since changes of other ranges wait for it.
func (b *book) abandon(bucket channel.Bucket) {
	b.Lock()
	defer b.Unlock()
	b.plan.abandon(bucket)
}

// overdue returns channels that are to end, of the ranges that have not failed.
func (b *book) overdue(failed map[*tenure]bool) []emptyChannel {
	b.Lock()
	defer b.Unlock()
	return b.plan.empty(b.config.Now().Add(-b.config.Interval), sweepPage, func(id channel.ID) bool {
		t := b.led.At(id.Bucket())
		return t != nil && !failed[t]
	})
}

// rate returns how often a channel is polled, as last ordered.
func (b *book) rate(ch channel.Channel) overlay.Rate {
	b.Lock()
	defer b.Unlock()
	return b.plan.of(ch).rate.rate()
}
