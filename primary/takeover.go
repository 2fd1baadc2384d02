package primary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// ErrNotLed says that another node leads the range of a channel, or none does: nothing
// is judged or committed here, and the poller keeps nothing of its poll.
var ErrNotLed = errors.New("this node does not lead the channel's range")

// tenure is the time in which this node leads a range, from RangeGained to RangeLost.
// What was read in one is void in a later one of the same range: another node may have
// led in between. Its flags are guarded by Owner.mu.
type tenure struct {
	channel.Range
	term    uint64
	learned bool // its channels are all in the plan
	ordered bool // its channels have orders or are about to: changes are ordered at once
	over    bool
}

// RangeGained announces that this node leads a range: what was applied before is in the
// store, and [Owner.ChannelChanged] announces what is applied from now on. The channels
// get their orders by [Owner.Start] or, after it, by [Owner.Run].
func (o *Owner) RangeGained(r channel.Range, term uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := &tenure{Range: r, term: term}
	o.mu.led.Set(r, t)
	o.mu.gained = append(o.mu.gained, t)
	o.signalGain()
}

// OrderAgain has all channels of the ranges that this node leads within r ordered once
// more, because who is to poll them has changed or has lost orders.
func (o *Owner) OrderAgain(r channel.Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for led, t := range o.mu.led.All() {
		if t.ordered && led.From <= r.To && r.From <= led.To && !slices.Contains(o.mu.gained, t) {
			o.mu.gained = append(o.mu.gained, t)
		}
	}
	o.signalGain()
}

// RangeLost tells the owner that this node does not lead a range any more. When it
// returns, no channel of the range is ordered, and no report of one is committed.
func (o *Owner) RangeLost(r channel.Range, _ uint64) {
	o.mu.Lock()
	if t := o.mu.led.Remove(r); t != nil {
		t.over = true
		if t.ordered {
			o.mu.poller.End(r)
		}
	}
	o.mu.plan.stale = true // the others' part of the budget is another
	o.mu.notBefore = time.Time{}
	o.mu.Unlock()
	for bucket := r.From; bucket <= r.To; bucket++ {
		o.abandon(bucket)
	}
}

// abandon takes the channels of a bucket from the plan. The lock is free between two
// buckets, since changes of other ranges wait for it.
func (o *Owner) abandon(bucket channel.Bucket) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.plan.abandon(bucket)
}

// Leased implements [engine.Owner] for a node alone, whose polls no other node could make.
func (o *Owner) Leased(channel.ID) bool { return true }

// tenureOf returns the tenure of a channel's range; nil: this node does not lead it.
func (o *Owner) tenureOf(id channel.ID) *tenure {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.led.At(id.Bucket())
}

// commit commits what was decided in a tenure from what was read in it.
func (o *Owner) commit(ctx context.Context, t *tenure, c ownership.Commit) error {
	if o.tenureOf(c.Channel) != t {
		return fmt.Errorf("channel %s: %w", c.Channel, ErrNotLed)
	}
	return o.store.Commit(ctx, c)
}

// signalGain wakes follow. o.mu is held, or nothing else runs yet.
func (o *Owner) signalGain() {
	select {
	case o.gain <- struct{}{}:
	default:
	}
}

// takeOverAgain is the pause after a takeover that failed.
const takeOverAgain = time.Second

// follow takes over the ranges that are gained after the start, until ctx is done.
func (o *Owner) follow(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.gain:
		case <-again:
		}
		poller := o.startedWith()
		if poller == nil {
			continue // Start takes over what is gained before it
		}
		if err := o.takeOver(poller); err != nil && ctx.Err() == nil {
			o.config.Logger.Error("cannot take over ranges, will try again", "error", err)
			again = time.After(takeOverAgain)
		}
	}
}

// startedWith returns the poller when it has orders and gained ranges wait for theirs.
func (o *Owner) startedWith() Poller {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.mu.gained) == 0 {
		return nil
	}
	return o.mu.poller
}

// takeOver gives the poller its orders for all ranges that wait for it. Their channels
// are all known before the first is ordered, so that each has its own rate from the
// beginning. After an error they wait again.
func (o *Owner) takeOver(poller Poller) error {
	o.takingOver.Lock()
	defer o.takingOver.Unlock()
	o.mu.Lock()
	gained := o.mu.gained
	o.mu.gained = nil
	o.mu.Unlock()
	if err := o.order(gained, poller); err != nil {
		o.metrics.takeoverFailures.Inc()
		o.mu.Lock()
		o.mu.gained = append(gained, o.mu.gained...)
		o.mu.Unlock()
		return err
	}
	o.metrics.takeovers.Add(float64(len(gained)))
	return nil
}

func (o *Owner) order(gained []*tenure, poller Poller) error {
	for _, t := range gained {
		if err := o.eachPage(t, o.learnPage, func() {}); err != nil {
			return err
		}
	}
	o.mu.Lock()
	for _, t := range gained {
		t.learned = true
	}
	o.mu.Unlock()
	if err := o.solve(true); err != nil {
		return fmt.Errorf("solve for rates: %w", err)
	}
	o.mu.Lock()
	o.mu.poller = poller
	for _, t := range gained {
		if !t.over {
			poller.Begin(t.Range, t.term)
			t.ordered = true
		}
	}
	o.mu.Unlock()
	for _, t := range gained {
		if err := o.eachPage(t, o.orderPage, poller.Wait); err != nil {
			return err
		}
		o.complete(t)
	}
	return nil
}

// complete says that all channels of a range have been ordered, unless it was lost.
func (o *Owner) complete(t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !t.over {
		o.mu.poller.Complete(t.Range)
	}
}

// scanPage is how many channels are read, and ordered, at a time.
const scanPage = 1000

// eachPage goes through the channels of a range while the tenure lasts, and calls between
// without the lock after each page.
func (o *Owner) eachPage(t *tenure, do func(page []channel.Channel), between func()) error {
	var after *channel.ID
	for {
		last, err := o.page(t, after, do)
		if err != nil || last == nil {
			return err
		}
		after = last
		between()
	}
}

// page reads and does one page under the lock, so that a change that is applied after
// the read is also followed after it. It returns the last ID, or nil at the end.
func (o *Owner) page(t *tenure, after *channel.ID, do func(page []channel.Channel)) (last *channel.ID, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.over || planted.Bug(14) {
		return nil, nil
	}
	page, err := o.store.ChannelsIn(t.Range, after, o.scanPage)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	do(page)
	return &page[len(page)-1].ID, nil
}

// learnPage has the plan know channels. o.mu is held.
func (o *Owner) learnPage(page []channel.Channel) {
	for _, ch := range page {
		o.mu.plan.update(ch, false)
	}
}

// orderPage orders channels. o.mu is held.
func (o *Owner) orderPage(page []channel.Channel) {
	orders := make([]engine.Order, 0, len(page))
	for _, ch := range page {
		o.mu.plan.update(ch, false)
		if o.mu.plan.of(ch).rate != 0 {
			orders = append(orders, o.orderOf(ch))
		}
	}
	o.mu.poller.Order(orders...)
}
