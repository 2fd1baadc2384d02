// Package primary is what the primary owner of a channel does: it judges what
// pollers report, commits new versions, plans who polls how often, and ends
// channels that nobody subscribes to any more.
//
// Every decision about a channel is taken here, one at a time, from state that
// its range replicates; pollers only carry out orders. The judgement itself is a
// pure function of package deltas, and durability is package ownership's: this
// package is the shell between the two.
package primary

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Store is the replicated state that an owner reads and commits to.
type Store interface {
	Channel(id channel.ID) (ownership.Channel, error)
	Seen(id channel.ID) ([]uint64, error)
	Channels(after *channel.ID, limit int) ([]ownership.Channel, error)
	Updates(id channel.ID, after uint64, limit int) ([]ownership.Update, *ownership.Gap, error)
	Commit(ctx context.Context, commit ownership.Commit) error
	EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error
}

// Poller carries out orders. Neither method may block.
type Poller interface {
	Order(orders ...engine.Order)
	Drop(ids ...channel.ID)
}

// Config is what an [Owner] needs to know. All fields are required.
type Config struct {
	Interval time.Duration // τ: a plain feed reader's polling interval
	Floor    time.Duration // shortest time between two polls by one egress
	Now      func() time.Time
	Logger   *slog.Logger
}

// Owner is the primary owner of channels. It is safe for concurrent use.
type Owner struct {
	config  Config
	store   Store
	metrics *metrics

	judging [judgingStripes]sync.Mutex // by channel: one judgement at a time

	mu struct {
		sync.Mutex // taken after none, and before the poller's own lock
		poller     Poller
		plan       plan
	}
}

const judgingStripes = 256

// New returns an owner that reads and commits to store. Orders start with
// [Owner.Start].
func New(config Config, store Store, registry prometheus.Registerer) *Owner {
	owner := &Owner{config: config, store: store, metrics: newMetrics(registry)}
	owner.mu.plan = newPlan(config.Interval, config.Floor)
	return owner
}

// scanPage is how many channels are read, and ordered, at a time.
const scanPage = 1000

// Start gives poller its orders for every channel of the store, and from then on
// as channels change.
func (o *Owner) Start(poller Poller) error {
	o.mu.Lock()
	o.mu.poller = poller
	o.mu.Unlock()
	var after *channel.ID
	for {
		last, err := o.orderPage(after)
		if err != nil || last == nil {
			return err
		}
		after = last
	}
}

// orderPage reads and orders one page under the lock, so that a change that is
// applied after the read is also ordered after it. It returns the last ID, or
// nil at the end.
func (o *Owner) orderPage(after *channel.ID) (last *channel.ID, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	page, err := o.store.Channels(after, scanPage)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	for _, ch := range page {
		o.mu.plan.update(ch, false)
		if rate := o.Rate(ch); rate.Polls > 0 {
			o.mu.poller.Order(o.order(ch))
		}
	}
	return &page[len(page)-1].ID, nil
}

// ChannelChanged tells the owner what its range has applied to a channel, in the
// order of the log: created, more or fewer subscribers, a version, gone, ended.
// It does not block on anything but the lock of orders.
func (o *Owner) ChannelChanged(ch ownership.Channel, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.change(ch, ended)
}

// change updates the plan and the poller's orders. o.mu is held.
func (o *Owner) change(ch ownership.Channel, ended bool) {
	polled := o.mu.plan.update(ch, ended)
	if o.mu.poller == nil {
		return
	}
	switch polled {
	case pollStart:
		o.mu.poller.Order(o.order(ch))
	case pollStop:
		o.mu.poller.Drop(ch.ID)
	}
}

// order is what the poller of rank 0 is told: a cluster of one has no other.
func (o *Owner) order(ch ownership.Channel) engine.Order {
	rate := o.Rate(ch)
	return engine.Order{
		Channel:     ch.ID,
		Incarnation: ch.Incarnation,
		URL:         ch.URL,
		Rate:        rate,
		Width:       overlay.WidthOf(rate, o.config.Interval, o.config.Floor),
		Version:     ch.Version,
		Hash:        ch.Hash,
		// A candidate may wait: the answer to the first report says whether one does.
		Held: ch.Version > 0,
	}
}

// Rate returns how often a channel is polled by the whole system: once an
// interval while anybody subscribes, never otherwise.
func (o *Owner) Rate(ch ownership.Channel) overlay.Rate {
	if ch.Subscribers == 0 || ch.Gone {
		return overlay.Rate{Intervals: 1}
	}
	return overlay.Rate{Polls: 1, Intervals: 1}
}

// Load returns what the plan asks of the origins and what detection it buys.
func (o *Owner) Load() Load {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.plan.load()
}

// Run ends channels that have had no subscriber for an interval, until ctx is
// done.
func (o *Owner) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepInterval(o.config.Interval))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			o.sweep(ctx)
		}
	}
}

// sweepInterval lets a channel outstay its interval by a quarter at most.
func sweepInterval(interval time.Duration) time.Duration {
	return min(max(interval/4, time.Second), time.Minute)
}

// sweepPage is how many due channels are looked up at a time.
const sweepPage = 1000

// sweep ends the channels that are due. What could not be ended is for the next
// sweep.
func (o *Owner) sweep(ctx context.Context) {
	for more := true; more; {
		o.mu.Lock()
		due := o.mu.plan.empty(o.config.Now().Add(-o.config.Interval), sweepPage)
		o.mu.Unlock()
		more = o.end(ctx, due) > 0 && len(due) == sweepPage
	}
}

// end ends channels and returns how many have ended; none when it met a failure.
func (o *Owner) end(ctx context.Context, due []emptyChannel) (ended int) {
	for _, ch := range due {
		switch err := o.store.EndChannel(ctx, ch.id, ch.incarnation); {
		case err == nil:
			o.metrics.ended.Inc()
			ended++
		case !errors.Is(err, ownership.ErrStale): // else somebody subscribed meanwhile
			o.metrics.endFailures.Inc()
			o.config.Logger.Warn("cannot end channel", "channel", ch.id, "error", err)
			return 0
		}
	}
	return ended
}
