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
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Store is the replicated state that an owner reads and commits to.
type Store interface {
	Channel(id channel.ID) (channel.Channel, error)
	Seen(id channel.ID) ([]uint64, error)
	Channels(after *channel.ID, limit int) ([]channel.Channel, error)
	Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error)
	Commit(ctx context.Context, commit ownership.Commit) error
	// Forget puts a judge's state that was made from ch in the place of ch's.
	Forget(ctx context.Context, ch channel.Channel, judge []byte) error
	EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error
}

// Poller carries out orders. No method may block.
type Poller interface {
	Order(orders ...engine.Order)
	Repace(paces ...engine.Pace)
	Drop(ids ...channel.ID)
}

// Config is what an [Owner] needs to know. Interval, Floor, Now and Logger are
// required; the zero value of the others means what they say.
type Config struct {
	Interval time.Duration // τ: a plain feed reader's polling interval
	Floor    time.Duration // shortest time between two polls by one egress
	Now      func() time.Time
	Logger   *slog.Logger

	Policy honeycomb.Policy // 0: lite
	Ladder honeycomb.Ladder // zero: any
	Cost   honeycomb.Cost   // 0: polls
	Target time.Duration    // fast's mean wait of a change; required by it
	Budget float64          // most Σ cost·rate, in polls or bytes per interval; 0: what the subscribers would cause alone

	Maintenance time.Duration                   // between two solves of all channels; 0: 10 minutes
	HostGap     func(host string) time.Duration // between two requests to a host, a name with port, 0: none; nil: none for any
	Measure     func() Measured                 // how the poller keeps up; nil: what is planned can be polled

	// MovedHold is how long permanent redirects must have led to one URL before that
	// is asked instead of the channel's own. A maintenance page, a hotel's login or a
	// domain that lapsed leads elsewhere for days; who believes it at once polls that
	// for ever. 0: three weeks.
	MovedHold time.Duration
}

const (
	defaultMovedHold   = 21 * 24 * time.Hour
	defaultMaintenance = 10 * time.Minute
)

func (c Config) movedHold() time.Duration { return cmp.Or(c.MovedHold, defaultMovedHold) }

func (c Config) maintenance() time.Duration { return cmp.Or(c.Maintenance, defaultMaintenance) }

// Validate says what is wrong with what the optimiser is to do.
func (c Config) Validate() error { return c.optimiserConfig().Validate() }

// Owner is the primary owner of channels. It is safe for concurrent use.
type Owner struct {
	config  Config
	store   Store
	metrics *metrics

	judging [judgingStripes]sync.Mutex // by channel: one judgement at a time

	solving sync.Mutex // taken before mu
	rates   rates      // guarded by solving

	mu struct {
		sync.Mutex // held for a few milliseconds at most; taken before the poller's own lock
		poller     Poller
		plan       plan
		capacity   capacity
		firsts     uint64 // of plan, at the last look

		full      time.Time     // when the latest solve of all began
		fullTook  time.Duration // columns, rates and orders
		updates   uint64        // solves since
		notBefore time.Time     // of the next solve
		sums      sums          // at the latest
		latest    Plan          // of it
	}
}

const judgingStripes = 256

// New returns an owner that reads and commits to store. Orders start with
// [Owner.Start].
func New(config Config, store Store, registry prometheus.Registerer) *Owner {
	owner := &Owner{config: config, store: store, metrics: newMetrics(registry)}
	owner.rates = rates{config: config.optimiserConfig(), columns: newColumns(config.optimiserConfig(), 0)}
	owner.mu.plan = newPlan(config, owner.rates.columns)
	return owner
}

// scanPage is how many channels are read, and ordered, at a time.
const scanPage = 1000

// Start gives poller its orders for every channel of the store, and from then on
// as channels change. All channels are known before the first is ordered, so that
// each has its own rate from the beginning.
func (o *Owner) Start(poller Poller) error {
	if err := o.eachPage(o.learnPage); err != nil {
		return err
	}
	if err := o.solve(true); err != nil {
		return fmt.Errorf("solve for rates: %w", err)
	}
	o.mu.Lock()
	o.mu.poller = poller
	o.mu.Unlock()
	return o.eachPage(o.orderPage)
}

// eachPage goes through the channels of the store.
func (o *Owner) eachPage(do func(after *channel.ID) (last *channel.ID, err error)) error {
	var after *channel.ID
	for {
		last, err := do(after)
		if err != nil || last == nil {
			return err
		}
		after = last
	}
}

// learnPage takes a page into the plan under the lock, so that a change that is
// applied after the read is also taken in after it. It returns the last ID, or nil at
// the end.
func (o *Owner) learnPage(after *channel.ID) (last *channel.ID, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	page, err := o.store.Channels(after, scanPage)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	for _, ch := range page {
		o.mu.plan.update(ch, false)
	}
	return &page[len(page)-1].ID, nil
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
	orders := make([]engine.Order, 0, len(page))
	for _, ch := range page {
		o.mu.plan.update(ch, false)
		if o.mu.plan.of(ch).rate != 0 {
			orders = append(orders, o.order(ch))
		}
	}
	o.mu.poller.Order(orders...)
	return &page[len(page)-1].ID, nil
}

// ChannelChanged tells the owner what its range has applied to a channel, in the
// order of the log: created, more or fewer subscribers, a version, gone, ended.
// It does not block on anything but the lock of orders.
func (o *Owner) ChannelChanged(ch channel.Channel, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.change(ch, ended)
}

// change updates the plan and the poller's orders. o.mu is held.
func (o *Owner) change(ch channel.Channel, ended bool) {
	polled := o.mu.plan.update(ch, ended)
	if o.mu.poller == nil {
		return
	}
	switch polled {
	case pollStart, pollAnew:
		o.mu.poller.Order(o.order(ch))
	case pollStop:
		o.mu.poller.Drop(ch.ID)
	}
}

// order is what the poller of rank 0 is told: a cluster of one has no other. o.mu
// is held.
func (o *Owner) order(ch channel.Channel) engine.Order {
	known := o.mu.plan.of(ch)
	rate := known.rate.rate()
	return direct(engine.Order{
		Channel:     ch.ID,
		Incarnation: ch.Incarnation,
		URL:         ch.URL,
		Rate:        rate,
		Width:       overlay.WidthOf(rate, o.config.Interval, o.config.Floor),
		Version:     ch.Version,
		Hash:        ch.Hash,
		Held:        ch.Held,
		Subscribers: uint64(popular(known.subscribers)),
		Most:        known.most.rate(),
	}, ch.Moved, o.config.movedHold())
}

// Run keeps rates what they should be, and ends channels that have had no subscriber
// for an interval, until ctx is done.
func (o *Owner) Run(ctx context.Context) {
	var sweeping sync.WaitGroup // which waits for commits, as rates must not
	sweeping.Go(func() { o.sweepEach(ctx, sweepInterval(o.config.Interval)) })
	o.optimise(ctx)
	sweeping.Wait()
}

func (o *Owner) sweepEach(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
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
