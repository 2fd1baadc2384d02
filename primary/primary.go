// Package primary is what the primary owner of a channel does: it judges what
// pollers report, commits new versions, plans who polls how often, and ends
// channels whose last subscription has ended.
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
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Store is the replicated state that an owner reads and commits to.
type Store interface {
	Channel(id channel.ID) (channel.Channel, error)
	Seen(id channel.ID) ([]uint64, error)
	// ChannelsIn returns up to limit channels of a range in the order of their IDs,
	// after one or from the first.
	ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error)
	Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error)
	Commit(ctx context.Context, commit ownership.Commit) error
	// Forget puts a judge's state that was made from ch in the place of ch's.
	Forget(ctx context.Context, ch channel.Channel, judge []byte) error
	EndChannel(ctx context.Context, id channel.ID, incarnation uint64) error
}

// Poller carries out orders: it chooses the nodes that poll a channel, as many of them as
// the order's width says where there are so many. No method but Wait may block.
type Poller interface {
	// Begin says that all channels of a range that this node leads in a term are about
	// to be ordered, and Complete that they have been: those that have not been ordered
	// in between are not polled any more.
	Begin(r channel.Range, term uint64)
	Complete(r channel.Range)
	// End says that this node orders a range no longer.
	End(r channel.Range)

	Order(orders ...engine.Order)
	// Repace returns the channels that have got pollers who know nothing of them, and
	// have to be ordered.
	Repace(paces ...engine.Pace) (whole []channel.ID)
	Drop(ids ...channel.ID)

	// Wait returns when there is room for many orders, and after some seconds in any case.
	Wait()
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

	// Several nodes plan, each for the ranges that it leads. Budget and HostGap are the
	// cluster's: a node plans with its part. These functions must not wait.
	Share   func() float64         // the part of all channels that this node leads, from 0 to 1; nil: 1
	Pollers func() int             // egress addresses that poll, at least 1; nil: 1
	Ranges  []channel.Range        // of the whole cluster; nil: other nodes are told nothing
	Tell    func(tradeoffs []byte) // sends to [Owner.Hear] of every other node; required with Ranges

	// HostParts says of hosts, of which this node owns so many channels, which part of all
	// channels these are; 0: not known. A host's cap is divided so among owners, or by
	// Pollers. It must not wait. nil: no part is known.
	HostParts func(owned []channel.Led) (parts []float64)

	// MovedHold is how long permanent redirects must have led to one URL before that
	// is asked instead of the channel's own. A maintenance page, a hotel's login or a
	// domain that lapsed leads elsewhere for days; a poller that believed it at once would poll
	// that for ever. 0: three weeks.
	MovedHold time.Duration
}

const (
	defaultMovedHold   = 21 * 24 * time.Hour
	defaultMaintenance = 10 * time.Minute
)

func (c Config) movedHold() time.Duration { return cmp.Or(c.MovedHold, defaultMovedHold) }

func (c Config) maintenance() time.Duration { return cmp.Or(c.Maintenance, defaultMaintenance) }

// share returns the part of all channels that this node leads.
func (c Config) share() float64 {
	if c.Share == nil {
		return 1
	}
	return c.Share()
}

// pollers returns how many nodes may poll one channel, and among how many a host's cap is
// divided.
func (c Config) pollers() int {
	if c.Pollers == nil {
		return 1
	}
	return max(c.Pollers(), 1)
}

// Validate says what is wrong with what the optimiser is to do.
func (c Config) Validate() error { return c.optimiserConfig().Validate() }

// Owner is the primary owner of channels. It is safe for concurrent use.
type Owner struct {
	config   Config
	store    Store
	metrics  *metrics
	scanPage int

	judging [channel.Buckets]sync.Mutex // by bucket: one judgement of a channel at a time, and ranges share none

	takingOver sync.Mutex    // one takeover at a time; taken before solving
	gain       chan struct{} // 1: a range was gained

	solving sync.Mutex // taken before mu
	rates   rates      // guarded by solving

	exchange *exchange // nil: other nodes are told nothing

	mu struct {
		sync.Mutex                          // held for a few milliseconds at most; taken before the poller's own lock
		poller     Poller                   // nil before Start
		led        channel.ByRange[*tenure] // ranges that this node leads
		gained     []*tenure                // that wait to be taken over
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

// New returns an owner that reads and commits to store. Orders start with
// [Owner.Start].
func New(config Config, store Store, registry prometheus.Registerer) *Owner {
	owner := &Owner{config: config, store: store, metrics: newMetrics(registry), scanPage: scanPage, gain: make(chan struct{}, 1)}
	if config.Ranges != nil {
		owner.exchange = newExchange(config)
	}
	owner.rates.config = config.optimiserConfig()
	owner.rates.columns = owner.newColumns(0)
	owner.mu.plan = newPlan(config, owner.rates.columns)
	return owner
}

// Start gives poller its orders for every channel of the ranges that this node leads,
// and from then on as channels change and ranges are gained and lost.
func (o *Owner) Start(poller Poller) error {
	defer o.signalGain() // of what was gained meanwhile
	return o.takeOver(poller)
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
	t := o.mu.led.At(ch.ID.Bucket())
	if t == nil {
		return // or it is told before the range was gained, and read then
	}
	polled := o.mu.plan.update(ch, ended)
	if !t.ordered {
		return
	}
	switch polled {
	case pollStart, pollAnew:
		o.mu.poller.Order(o.orderOf(ch))
	case pollStop:
		o.mu.poller.Drop(ch.ID)
	}
}

// orderOf is what a channel's pollers are told, whichever they are. o.mu is held.
func (o *Owner) orderOf(ch channel.Channel) engine.Order {
	known := o.mu.plan.of(ch)
	return direct(engine.Order{
		Channel:     ch.ID,
		Incarnation: ch.Incarnation,
		URL:         ch.URL,
		Rate:        known.rate.rate(),
		Width:       o.mu.plan.width(known),
		Version:     ch.Version,
		Hash:        ch.Hash,
		Held:        ch.Held,
		Subscribers: uint64(popular(known.subscribers)),
		Most:        known.most.rate(),
	}, ch.Moved, o.config.movedHold())
}

// Run keeps rates what they should be, takes over the ranges that this node comes to
// lead, and ends channels that have had no subscriber for an interval, until ctx is
// done.
func (o *Owner) Run(ctx context.Context) {
	var others sync.WaitGroup // which wait for commits and reads, as rates must not
	others.Go(func() { o.sweepEach(ctx, sweepInterval(o.config.Interval)) })
	others.Go(func() { o.follow(ctx) })
	o.optimise(ctx)
	others.Wait()
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
// sweep: a range whose store does not answer holds up no other.
func (o *Owner) sweep(ctx context.Context) {
	failed := make(map[*tenure]bool)
	for more := true; more; {
		due := o.overdue(failed)
		before := len(failed)
		ended := o.end(ctx, due, failed)
		more = len(due) == sweepPage && (ended > 0 || len(failed) > before)
	}
}

// overdue returns channels that are to end, of the ranges that have not failed.
func (o *Owner) overdue(failed map[*tenure]bool) []emptyChannel {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.plan.empty(o.config.Now().Add(-o.config.Interval), sweepPage, func(id channel.ID) bool {
		t := o.mu.led.At(id.Bucket())
		return t != nil && !failed[t]
	})
}

// end ends channels and returns how many have ended. It adds to failed the tenures of
// the ranges that did not take it, and leaves out their other channels.
func (o *Owner) end(ctx context.Context, due []emptyChannel, failed map[*tenure]bool) (ended int) {
	for _, ch := range due {
		t := o.tenureOf(ch.id)
		if t == nil || failed[t] {
			continue
		}
		switch err := o.store.EndChannel(ctx, ch.id, ch.incarnation); {
		case err == nil:
			o.metrics.ended.Inc()
			ended++
		case ctx.Err() != nil:
			return ended
		case !errors.Is(err, ownership.ErrStale): // else a subscription came meanwhile
			o.metrics.endFailures.Inc()
			o.config.Logger.Warn("cannot end channels of a range", "range", t.ID, "channel", ch.id, "error", err)
			failed[t] = true
		}
	}
	return ended
}
