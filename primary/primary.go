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
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/internal/part"
	"github.com/seed-91e7e7c1/corona/overlay"
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
	Ranges  func() []channel.Range // of the whole cluster as it is now; nil: other nodes are told nothing
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
	judge   // takes reports
	planner // finds rates
	tenures // gains and loses ranges
	sweeper // ends channels
	config  Config
	book    *book
}

// New returns an owner that reads and commits to store. Orders start with
// [Owner.Start].
func New(config Config, store Store, registry prometheus.Registerer) *Owner {
	metrics, known := newMetrics(registry), &book{config: config, store: store}
	owner := &Owner{
		judge:   judge{config: config, store: store, metrics: metrics, book: known},
		planner: planner{config: config, store: store, metrics: metrics, book: known},
		tenures: tenures{config: config, metrics: metrics, book: known, scanPage: scanPage, gain: make(chan struct{}, 1)},
		sweeper: sweeper{config: config, store: store, metrics: metrics, book: known},
		config:  config,
		book:    known,
	}
	owner.tenures.planner = &owner.planner
	if config.Ranges != nil {
		owner.exchange = newExchange(config)
	}
	owner.rates.config = config.optimiserConfig()
	owner.rates.columns = owner.newColumns(0)
	known.plan = newPlan(config, owner.rates.columns)
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
	o.book.Lock()
	defer o.book.Unlock()
	o.book.change(ch, ended)
}

// Run keeps rates what they should be, takes over the ranges that this node comes to
// lead, and ends channels that have had no subscriber for an interval, until ctx is
// done.
func (o *Owner) Run(ctx context.Context) {
	var others sync.WaitGroup // which wait for commits and reads, as rates must not
	others.Go(func() { o.sweeper.run(ctx, sweepInterval(o.config.Interval)) })
	others.Go(func() { o.follow(ctx) })
	part.Do(ctx, part.Solve, o.optimise)
	others.Wait()
}

// Bound sets the least time between two polls that a channel's origin asks for, as a
// poller reports it. It is kept in memory only, since every poller reports it again
// after a start, and with the first content of another incarnation.
func (o *Owner) Bound(id channel.ID, incarnation uint64, atLeast time.Duration) {
	o.book.Lock()
	defer o.book.Unlock()
	if !o.book.plan.bound(id, incarnation, atLeast) || !o.book.isOrdered(id.Bucket()) {
		return
	}
	// Read under the lock, so that a change that is applied later is ordered later. A
	// channel that cannot be read is ordered when it changes.
	if ch, err := o.book.store.Channel(id); err == nil && ch.Incarnation == incarnation {
		o.book.poller.Order(o.book.orderOf(ch))
	}
}

// Sized says how many bytes on the wire a poll of a channel is expected to take.
func (o *Owner) Sized(id channel.ID, incarnation uint64, bytes int64) {
	o.book.Lock()
	defer o.book.Unlock()
	o.book.plan.resize(id, incarnation, bytes)
}

// Rate returns how often a channel is polled by the whole system, as last ordered:
// never when it has no subscriber.
func (o *Owner) Rate(ch channel.Channel) overlay.Rate {
	return o.book.rate(ch)
}

// Leased implements [engine.Owner] for a node alone, whose polls no other node could make.
func (o *Owner) Leased(channel.ID) bool { return true }
