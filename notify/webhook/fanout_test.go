package webhook

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// A hundred thousand subscriptions of one channel, half of them with an endpoint
// that does not answer: what is in memory stays within the limits, whatever waits.
func TestManySubscriptionsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 subscriptions")
	}
	virtual(t, func(t *testing.T, n *node) {
		const count = 100000
		id := n.store.AddChannel("http://origin.example/")
		n.sinks.set(sinkA, answer{err: errNetwork})
		var live []channel.Subscription
		for i := range count {
			if i%2 == 0 {
				n.store.Subscribe(id, sinkA, "")
			} else {
				live = append(live, n.store.Subscribe(id, fmt.Sprintf("http://live.example/%d", i%1000), ""))
			}
		}
		w := n.deliverer
		most := 0
		w.dispatcher.caller.transport = tap(n.sinks, func(*http.Request) {
			w.core.Lock()
			defer w.core.Unlock()
			most = max(most, w.queues.lanes)
		})
		before := runtime.NumGoroutine()
		n.store.Commit(id)
		elapse(3 * time.Second)
		if got := n.sinks.count(); got != len(live) {
			t.Fatalf("%d messages came to live endpoints, want %d", got, len(live))
		}
		if limit := w.core.limits.window + w.core.limits.queue + w.core.limits.page; most > limit {
			t.Errorf("%d lanes at a time, want at most %d", most, limit)
		}
		if after := runtime.NumGoroutine(); after > before+10 {
			t.Errorf("%d goroutines, %d before", after, before)
		}
		n.sinks.set(sinkA, answer{})
		elapse(time.Minute)
		if got := n.sinks.count(); got != count {
			t.Errorf("%d messages came in the end, want %d", got, count)
		}
		synctest.Wait()
		if progress, _ := n.store.Progress(id); len(progress.Stragglers) != 0 || progress.Version != 2 {
			t.Errorf("in the end version %d and %d stragglers", progress.Version, len(progress.Stragglers))
		}
	})
}

// Many channels are looked at a few at a time, and wakes that find no room are made
// up for by a scan.
func TestDroppedWakesCostAScan(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		n.stop()
		n.tune = func(d *Deliverer) { d.core.limits.runnable = 10 }
		n.start()
		elapse(time.Second)
		n.deliverer.core.Lock() // no worker comes to anything
		var subs []channel.Subscription
		hooked := n.store.Hooks()
		n.store.Connect(nil)
		for i := range 1000 {
			id := n.store.AddChannel(fmt.Sprintf("http://origin.example/%d", i))
			subs = append(subs, n.store.Subscribe(id, sinkA, ""))
			n.store.Commit(id)
		}
		n.store.Connect(hooked)
		n.deliverer.core.Unlock()
		for _, sub := range subs {
			n.deliverer.wake(sub.Channel)
		}
		elapse(10 * time.Second)
		for _, sub := range subs {
			n.expectVersions(t, sub, 2)
		}
		if n.value("scans_total") < 2 {
			t.Error("no scan was needed")
		}
	})
}

// A start gives no turn to channels whose subscribers have everything, and one to
// those where a subscription lacks something: a version, or all since it was made.
func TestDeliveredChannelsGetNoTurn(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		var subs []channel.Subscription
		for i := range 300 {
			id := n.store.AddChannel(fmt.Sprintf("http://origin.example/%d", i))
			subs = append(subs, n.store.Subscribe(id, sinkA, ""))
			n.store.Commit(id)
		}
		elapse(10 * time.Second)
		n.stop()
		n.store.Commit(subs[0].Channel)
		late := n.store.Subscribe(subs[1].Channel, sinkA, "")
		before := n.store.Loads()
		n.start()
		elapse(10 * time.Second)
		n.expectVersions(t, subs[0], 2, 3)
		if turns := n.store.Loads() - before; turns < 2 || turns > 10 {
			t.Errorf("%d turns for 300 channels, want those of the two that need them", turns)
		}
		n.store.Commit(late.Channel)
		elapse(10 * time.Second)
		n.expectVersions(t, subs[1], 2, 3)
		n.expectVersions(t, late, 3)
	})
}

// The subscriptions of a channel get their update from memory, not each from the
// store.
func TestUpdateIsReadOnce(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		var subs []channel.Subscription
		for range 100 {
			subs = append(subs, n.store.Subscribe(id, sinkA, ""))
		}
		n.sinks.set(sinkA, answer{delay: time.Millisecond})
		n.store.Commit(id)
		elapse(10 * time.Second)
		for _, sub := range subs {
			n.expectVersions(t, sub, 2)
		}
		// One for the pass, and one for each request that begins before the first is encoded.
		if most := 1 + n.deliverer.core.config.EndpointParallel; n.store.Reads() > most {
			t.Errorf("the update was read %d times, want at most %d", n.store.Reads(), most)
		}
	})
}

// What the store does not answer is asked again, and the endpoint is not blamed.
func TestStoreFailures(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.stop()
		n.store.Fail(memstore.ErrDown, false)
		n.start()
		n.store.Commit(id)
		elapse(10 * time.Second)
		n.store.Fail(nil, false)
		elapse(time.Minute)
		n.expectVersions(t, sub, 2)
		n.store.Fail(memstore.ErrDown, false)
		n.store.Commit(id)
		elapse(10 * time.Second)
		n.store.Fail(nil, false)
		elapse(time.Minute)
		n.expectVersions(t, sub, 2, 3)
		if n.value("webhook_failures_total") != 0 || n.value("store_failures_total") == 0 {
			t.Error("the store's failures were counted as the endpoint's, or not at all")
		}
		if p, _ := n.store.Progress(id); p.Version != 3 {
			t.Errorf("progress %+v", p)
		}
	})
}
