// Package engine polls channels: it knows when each is due, asks its host as
// politely as that host demands, notices when an answer differs from the current
// version, and reports that to the channel's owner.
//
// One heap holds all due times, queues per host keep a slow origin's polls away
// from everybody else's, and a bounded number of workers runs them; nothing is
// kept per channel but its state. Content and validators become state only with
// the owner's answer, so that no crash can hide a change behind a 304. DESIGN.md
// has the thread map, the outcomes and the crash story.
package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// ErrClosed is returned by [Engine.Run] when the engine was closed, or is
// running already.
var ErrClosed = errors.New("engine is closed or running")

// Engine polls the channels that it has orders for. Its methods may be called
// concurrently, also by the [Owner] from within a report.
type Engine struct {
	config  Config
	fetcher Fetcher
	owner   Owner
	cache   *store.Cache
	ledger  *store.Ledger
	metrics *metrics
	kick    chan struct{} // wakes the loop: something is due before its alarm
	cpu     chan struct{} // held while a document is taken apart
	workers sync.WaitGroup

	hostRows sync.Mutex // taken before mu: hosts are noted in the order of what they say

	// mu is never held during a fetch, a report, or a read or write of the cache or
	// the ledger.
	mu struct {
		sync.Mutex
		channels  *channels
		recent    recent
		pool      pool
		alarm     int64 // when the loop wakes by itself
		began     int64 // when Run did
		recalling bool  // since then
		closed    bool
		cancel    context.CancelFunc // ends Run; nil while it does not run
		done      chan struct{}      // closed when Run has returned
	}
}

// Open returns an engine on content cache and ledger in config.Dir, which it makes
// when there are none. It starts no polling: [Engine.Run] does. A nil registerer keeps
// its metrics unregistered.
func Open(config Config, fetcher Fetcher, owner Owner, registerer prometheus.Registerer) (*Engine, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := store.CheckFormat(config.fs, config.Dir); err != nil {
		return nil, err
	}
	e := &Engine{
		config:  config,
		fetcher: fetcher,
		owner:   owner,
		metrics: newMetrics(),
		kick:    make(chan struct{}, 1),
		cpu:     make(chan struct{}, config.extractions()),
	}
	e.mu.channels = newChannels(config)
	var err error
	stored := store.NewMetrics()
	if e.cache, err = store.OpenCache(config.store(), stored); err != nil {
		return nil, err
	}
	if e.ledger, err = store.OpenLedger(config.store(), stored, e.mu.channels.restorer(wallNow())); err != nil {
		return nil, errors.Join(err, e.cache.Close())
	}
	if registerer != nil {
		registerer.MustRegister(e.metrics.all...)
		registerer.MustRegister(stored.Collectors()...)
		registerer.MustRegister(e.gauges()...)
	}
	return e, nil
}

// Order gives the engine new channels, or changes what it knows of old ones. A
// channel without content that was not known is polled at once, as fast as its
// host allows; one with content waits for its next slot, which is where it was
// before a restart. Orders of a rate 0 are kept and never polled. The orders'
// strings are kept.
func (e *Engine) Order(orders ...Order) {
	const chunk = 256 // orders under one lock: workers wait for no long batch
	for len(orders) > 0 {
		n := min(len(orders), chunk)
		e.orderSome(orders[:n])
		orders = orders[n:]
	}
}

func (e *Engine) orderSome(orders []Order) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for i := range orders {
		e.mu.channels.order(&orders[i], now)
	}
	e.wakeIfSooner()
}

// Repace takes in other paces for channels that are ordered, whose polls move to
// the slots of those from now on. One that is not ordered, or under another
// incarnation, changes nothing.
func (e *Engine) Repace(paces ...Pace) {
	const chunk = 256 // as in Order
	for len(paces) > 0 {
		n := min(len(paces), chunk)
		e.repaceSome(paces[:n])
		paces = paces[n:]
	}
}

func (e *Engine) repaceSome(paces []Pace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for i := range paces {
		e.mu.channels.repace(&paces[i], now)
	}
	e.wakeIfSooner()
}

// Drop ends the polling of channels. A poll under way ends by itself, and what it
// found is forgotten. What is known of a channel is kept for an interval: an
// order that comes back within it goes on where the last one ended.
func (e *Engine) Drop(ids ...channel.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for _, id := range ids {
		e.mu.channels.drop(id, now)
	}
}

// Run polls until the context ends or [Engine.Close] is called, and returns when
// every poll has ended; polls under way are cut off. It runs once.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, err := e.start(ctx, cancel)
	if err != nil {
		return err
	}
	defer close(done)
	var janitor sync.WaitGroup
	janitor.Go(func() { e.sweep(ctx) })
	janitor.Go(func() { e.recall(ctx) })
	janitor.Go(func() { e.cache.Run(ctx) })
	e.loop(ctx)
	e.stopWorkers()
	janitor.Wait()
	return nil
}

func (e *Engine) start(ctx context.Context, cancel context.CancelFunc) (chan struct{}, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed || e.mu.done != nil {
		return nil, ErrClosed
	}
	e.mu.cancel = cancel
	e.mu.began, e.mu.recalling = wallNow(), true
	e.mu.done = make(chan struct{})
	e.mu.pool.start(ctx)
	return e.mu.done, nil
}

// Close ends Run, waits for it, and closes cache and ledger. It may be called again.
func (e *Engine) Close() error {
	e.mu.Lock()
	wasClosed, cancel, done := e.mu.closed, e.mu.cancel, e.mu.done
	e.mu.closed = true
	e.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
	if wasClosed {
		return nil
	}
	return errors.Join(e.ledger.Close(), e.cache.Close())
}

// loop is the only one that moves channels and hosts whose time has come to where
// workers find them, and the only one that notices that the clock was set.
func (e *Engine) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	clock := stepClock{ahead: start.UnixNano()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-e.kick:
		}
		begun := time.Now()
		timer.Reset(e.turn(clock.step(begun.UnixNano(), begun.Sub(start))))
		e.metrics.loopBusy.Add(time.Since(begun).Seconds())
	}
}

// longestSleep bounds how long a clock that was set goes unnoticed.
const longestSleep = 5 * time.Second

// turn does what is due and returns how long there is nothing more to do.
func (e *Engine) turn(step time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	if step != 0 {
		e.metrics.clockSteps.Inc()
		e.mu.channels.realign(int64(step), now)
		e.config.Logger.Warn("clock was set, slots are planned anew", "step", step)
	}
	e.mu.channels.schedule.Promote(e.hasRoom(), now)
	e.dispatch(now)
	e.mu.alarm = min(e.mu.channels.schedule.NextDue(), now+int64(longestSleep))
	return time.Duration(e.mu.alarm - now)
}

// hasRoom reports that the disk has room for first contents.
func (e *Engine) hasRoom() bool { return e.config.Volume.Level() < volume.Low }

// wakeIfSooner wakes the loop when something is due before its alarm. The caller
// holds mu.
func (e *Engine) wakeIfSooner() {
	if e.mu.channels.schedule.NextDue() >= e.mu.alarm {
		return
	}
	select {
	case e.kick <- struct{}{}:
	default: // it is awake, or about to be
	}
}

func wallNow() int64 { return time.Now().UnixNano() }

// stepClock notices when the wall clock is set, as opposed to passing: it is then
// no longer as far ahead of the time that the process has been running.
type stepClock struct {
	ahead int64 // nanoseconds
}

// smallestStep is what is not taken for a step: slewing and measuring.
const smallestStep = time.Second

// step returns by how much the wall clock was set since the last call, forwards
// or back; 0 when it only passed. running is from a clock that cannot be set.
func (c *stepClock) step(wall int64, running time.Duration) time.Duration {
	ahead := wall - int64(running)
	step := time.Duration(ahead - c.ahead)
	c.ahead = ahead
	if step.Abs() < smallestStep {
		return 0
	}
	return step
}
