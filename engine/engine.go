// Package engine polls channels: it knows when each is due, asks its host as
// politely as that host demands, notices when an answer differs from the current
// version, and reports that to the channel's owner.
//
// One heap holds all due times, queues per host keep a slow origin's polls away
// from those of other hosts, and a bounded number of workers runs them; nothing is
// kept per channel but its state. Content and validators become state only with
// the owner's answer, so that no crash can hide a change behind a 304. DESIGN.md
// has the thread map, the outcomes and the crash story.
package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// ErrClosed is returned by [Engine.Run] when the engine was closed, or is
// running already.
var ErrClosed = errors.New("engine is closed or running")

// Engine polls the channels that it has orders for. Its methods may be called
// concurrently, also by the [Owner] from within a report.
type Engine struct {
	config  Config
	asker   asker
	owner   Owner
	cache   *store.Cache
	ledger  *store.Ledger
	metrics *metrics
	kick    chan struct{} // wakes the loop: something is due before its alarm
	workers sync.WaitGroup

	asking   sync.RWMutex // read by calls of others, which may come at any time: the stores stay open meanwhile
	hostRows sync.Mutex   // taken before mu: hosts are noted in the order of what they say

	// mu is never held during a fetch, a report, or a read or write of the cache or
	// the ledger.
	mu struct {
		sync.Mutex
		channels  *channels
		recent    recent
		pool      pool
		turned    int64 // when the loop did last what was due
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
		owner:   owner,
		metrics: newMetrics(),
		kick:    make(chan struct{}, 1),
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
	e.asker = asker{
		config: config, fetcher: fetcher, owner: owner, cache: e.cache, metrics: e.metrics,
		cpu: make(chan struct{}, config.extractions()), leased: owner.Leased, engine: e,
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

// Repace sets other paces for channels that are ordered, whose polls move to
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
	e.asking.Lock()
	defer e.asking.Unlock()
	return errors.Join(e.ledger.Close(), e.cache.Close())
}
