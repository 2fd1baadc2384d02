package webhook

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// What else waits for an endpoint goes on when subscriptions are deleted that stood
// before it.

// An endpoint that works again is recorded so, when the subscription is deleted whose
// backlog it was to be tried with.
func TestRevivedWithoutBacklog(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		n.sinks.set(sinkA, answer{status: http.StatusGone})
		backlog := n.store.Subscribe(id, sinkA, "")
		n.store.Commit(id)
		elapse(time.Second)
		n.sinks.set(sinkA, answer{delay: time.Hour})
		n.store.Subscribe(id, sinkA, "") // revives it
		elapse(10 * time.Second)
		n.store.Unsubscribe(backlog)
		n.sinks.set(sinkA, answer{})
		elapse(time.Hour)
		if e := n.store.Kept(sinkA); !e.Healthy() {
			t.Errorf("the store has %+v", e)
		}
		if left := len(n.deliverer.endpoints.byURL); left != 0 {
			t.Errorf("%d endpoints left in memory", left)
		}
	})
}

// What is parked at an endpoint comes, when those that stood in its queue are deleted
// there: no request ends that would make room.
func TestQueueOfDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.tune = func(d *Deliverer) { d.core.limits.queue, d.core.config.Parallel = 1, 1 }
		n.start()
		defer n.stop()
		id := n.store.AddChannel("http://origin.example/")
		n.store.Subscribe(id, sinkB, "")
		queued, parked := n.store.Subscribe(id, sinkA, ""), n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkB, answer{delay: 900 * time.Millisecond})
		n.store.Commit(id)
		elapse(500 * time.Millisecond)
		n.store.Unsubscribe(queued)
		elapse(time.Hour)
		n.expectVersions(t, parked, 2)
		n.expectVersions(t, queued)
	})
}

// The same while the endpoint is to be tried: another subscription is the try.
func TestTryOfDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.tune = func(d *Deliverer) { d.core.config.Parallel = 1 }
		n.start()
		defer n.stop()
		id, other := n.store.AddChannel("http://origin.example/"), n.store.AddChannel("http://origin.example/other")
		first, second := n.store.Subscribe(id, sinkA, ""), n.store.Subscribe(id, sinkA, "")
		n.store.Subscribe(other, sinkB, "")
		n.sinks.set(sinkA, answer{status: http.StatusInternalServerError})
		n.store.Commit(id)
		elapse(4400 * time.Millisecond)
		n.sinks.set(sinkA, answer{})
		n.sinks.set(sinkB, answer{delay: 900 * time.Millisecond})
		n.store.Commit(other)
		elapse(800 * time.Millisecond)
		if n.deliverer.queues.lanes != 2 {
			t.Fatalf("%d lanes, want one under way and the try behind it", n.deliverer.queues.lanes)
		}
		n.store.Unsubscribe(first)
		elapse(time.Minute)
		n.expectVersions(t, second, 2)
	})
}
