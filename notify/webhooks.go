package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// webhooks delivers to acknowledged sinks. Passes offer each version of a channel
// to its subscriptions in order; every subscription with something to send is a
// lane in its endpoint's queue; what an endpoint does not take now is parked: a
// straggler in the store, and a note at the endpoint of where to find it.
//
// One lock guards all state, and neither store nor endpoint is called under it.
type webhooks struct {
	config  Config
	limits  limits
	store   Store
	log     *slog.Logger
	metrics *metrics
	caller  *caller
	bodies  *bodies

	todo     *sync.Cond    // mu: a channel became runnable, or all stops
	drained  *sync.Cond    // mu: fewer channels are runnable, or all stops
	unsaved  chan struct{} // 1: a position changed
	urgent   chan struct{} // 1: so many changed that the batch must not wait
	scanning chan struct{} // 1: a scan is wanted
	senders  sync.WaitGroup

	unsavedEndpoints chan struct{} // 1: a record changed

	mu struct {
		sync.Mutex
		stopped   bool
		agenda    agenda
		channels  map[channel.ID]*channelState // with something to do, or to save
		runnable  fifo[*channelState]
		endpoints map[string]*endpoint // with something to do, or not working
		ready     fifo[*endpoint]      // with a lane that may start
		lanes     int
		parked    int    // notes at endpoints
		inFlight  int    // requests younger than slowAfter, or without room among the slow
		slow      int    // other requests
		scanWants uint64 // scans asked for, and those of them that are through
		scanned   uint64
		scans     int // drains that a scan asked for and that are not done
		dirty     map[*channelState]struct{}
		saving    bool   // a batch is under way
		batches   uint64 // of positions, begun
		complete  uint64 // the newest that saved all there was
		unsavedAt map[*endpoint]struct{}
	}
}

// limits bound memory and work; tests narrow them.
type limits struct {
	runnable int // channels in memory because a wake came; more cost a scan
	parked   int // notes of parked subscriptions; more cost a scan
	queue    int // lanes of one endpoint
	window   int // fresh offers of one pass
	changes  int // stragglers of one channel that wait to be written
	page     int // records read at a time
}

var defaultLimits = limits{runnable: 65536, parked: 1 << 20, queue: 1024, window: 2048, changes: 4096, page: 256}

const (
	workers     = 4                      // that read the store for passes
	batchDelay  = 100 * time.Millisecond // how long a position may wait to be saved
	slowAfter   = time.Second            // after this an endpoint gets nothing more until it answers
	restAfter   = 5 * time.Second        // what failed is not tried again sooner
	retryStore  = time.Second            // what the store did not answer is asked again
	stopTimeout = 2 * time.Second        // for the last positions
	bodyBytes   = 16 << 20               // of encoded updates kept for the next subscription
)

func newWebhooks(config Config, store Store, m *metrics) *webhooks {
	w := &webhooks{
		config: config, limits: defaultLimits, store: store, log: config.Logger, metrics: m,
		caller: newCaller(config), bodies: newBodies(bodyBytes),
		unsaved: make(chan struct{}, 1), urgent: make(chan struct{}, 1), scanning: make(chan struct{}, 1),
		unsavedEndpoints: make(chan struct{}, 1),
	}
	w.todo, w.drained = sync.NewCond(&w.mu), sync.NewCond(&w.mu)
	w.mu.agenda = newAgenda()
	w.mu.channels = make(map[channel.ID]*channelState)
	w.mu.endpoints = make(map[string]*endpoint)
	w.mu.dirty = make(map[*channelState]struct{})
	w.mu.unsavedAt = make(map[*endpoint]struct{})
	return w
}

// run delivers until ctx ends, and returns when everything has stopped and the
// last positions are saved.
func (w *webhooks) run(ctx context.Context) {
	defer w.caller.close()
	defer context.AfterFunc(ctx, w.stop)()
	if !w.loadEndpoints(ctx) {
		return
	}
	w.mu.Lock()
	w.wantScan()
	w.mu.Unlock()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { w.work(ctx) })
	}
	for _, loop := range []func(context.Context){w.keep, w.savePositions, w.saveEndpoints, w.scan} {
		all.Go(func() { loop(ctx) })
	}
	all.Wait()
	w.senders.Wait()
	w.saveLast(ctx)
}

func (w *webhooks) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.stopped = true
	w.todo.Broadcast()
	w.drained.Broadcast()
}

// keep runs the agenda, and starts what it and the hooks made ready.
func (w *webhooks) keep(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.mu.agenda.earlier:
		}
		w.mu.Lock()
		next, more := w.mu.agenda.run(time.Now())
		w.pump(ctx)
		w.mu.Unlock()
		if more {
			timer.Reset(time.Until(next))
		}
	}
}

// later does something under the lock at a time. Locked.
func (w *webhooks) later(at time.Time, do func()) { w.mu.agenda.add(at, do) }

// wake has a channel looked at. What finds no room is found by a scan.
func (w *webhooks) wake(id channel.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.mu.channels[id]
	if c == nil && w.mu.runnable.len() >= w.limits.runnable {
		w.wantScan()
		return
	}
	if c == nil {
		c = w.addChannel(id)
	}
	c.stale = true
	w.enqueue(c)
}

// subscribed gives a disabled endpoint another chance.
func (w *webhooks) subscribed(sub channel.Subscription) {
	if sub.Sink.URL == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.mu.endpoints[sub.Sink.URL]; e != nil && e.record.State == channel.EndpointDisabled {
		w.revive(e)
	}
}

// unsubscribed stops what a subscription still had to get.
func (w *webhooks) unsubscribed(sub channel.Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.mu.channels[sub.Channel]
	if c == nil || sub.Sink.URL == "" {
		return
	}
	if c.running {
		c.left = append(c.left, sub.Seq)
	}
	if l := c.lanes[sub.Seq]; l != nil {
		l.dropped = true
		delete(c.lanes, sub.Seq)
	}
	c.pos.drop(sub.Seq)
	w.touch(c)
}

// test sends a test message past all queues. An endpoint that answers it works.
func (w *webhooks) test(ctx context.Context, sub channel.Subscription) error {
	if err := w.call(ctx, sub, testMessage(sub, time.Now())); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.mu.endpoints[sub.Sink.URL]; e != nil {
		w.succeeded(e, true)
	}
	return nil
}

// call makes one request and counts it.
func (w *webhooks) call(ctx context.Context, sub channel.Subscription, m message) error {
	began := time.Now()
	err := w.caller.call(ctx, sub, m)
	w.metrics.seconds.Observe(time.Since(began).Seconds())
	if failure, ok := err.(*CallError); ok {
		w.metrics.failures.WithLabelValues(string(failure.Class)).Inc()
		return err
	}
	w.metrics.messages.WithLabelValues(m.kind).Inc()
	if m.kind == api.MessageUpdated {
		w.metrics.delay.Observe(time.Since(m.committed).Seconds())
	}
	return nil
}
