package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// The rows of the table of bad input that are about sinks, in virtual time. Rows
// 46, 49 and 50 on real connections are in call_test.go.

func (n *node) expectVersions(t *testing.T, sub channel.Subscription, want ...uint64) {
	t.Helper()
	if got := n.sinks.versions(sub); !slices.Equal(got, want) {
		t.Errorf("%s got versions %v, want %v", sub.ID, got, want)
	}
}

// lateness returns how long after a time the last arrival of a subscription came.
func (n *node) lateness(t *testing.T, sub channel.Subscription, since time.Time) time.Duration {
	t.Helper()
	came := n.sinks.arrivals(sub)
	if len(came) == 0 {
		t.Fatalf("%s got nothing", sub.ID)
	}
	return came[len(came)-1].at.Sub(since)
}

func TestRow44HangingEndpointDelaysNoOther(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		hangs := n.store.Subscribe(id, sinkA, "") // first in order
		var others []channel.Subscription
		for i := range 2000 {
			others = append(others, n.store.Subscribe(id, fmt.Sprintf("http://other.example/%d", i), ""))
		}
		n.sinks.set(sinkA, answer{delay: time.Hour})
		for v := range uint64(3) {
			since := time.Now()
			n.store.Commit(id)
			elapse(10 * time.Second)
			for _, sub := range others {
				if late := n.lateness(t, sub, since); late > 0 {
					t.Fatalf("version %d: %s waited %s", v+2, sub.ID, late)
				}
			}
		}
		progress, _ := n.store.Progress(id)
		if want := []channel.Straggler{{Seq: hangs.Seq, Next: 2}}; progress.Version != 4 || !slices.Equal(progress.Stragglers, want) {
			t.Errorf("progress %+v: want version 4 and stragglers %v", progress, want)
		}
		n.sinks.set(sinkA, answer{})
		elapse(time.Minute)
		n.expectVersions(t, hangs, 2, 3, 4)
		if busiest := n.sinks.busiest[sinkA]; busiest > 1 {
			t.Errorf("%d requests at a time went to an endpoint for one subscription", busiest)
		}
	})
}

// A thousand endpoints that hang together, as when a host that many use goes down,
// take no more than a moment from the others.
func TestRow44ManyHangingEndpoints(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		var others []channel.Subscription
		for i := range 2000 {
			url := fmt.Sprintf("http://sink.example/%d", i)
			sub := n.store.Subscribe(id, url, "")
			if i%2 == 0 {
				n.sinks.set(url, answer{delay: time.Hour})
			} else {
				others = append(others, sub)
			}
		}
		since := time.Now()
		n.store.Commit(id)
		elapse(10 * time.Second)
		for _, sub := range others {
			if late := n.lateness(t, sub, since); late > 2*slowAfter {
				t.Fatalf("%s waited %s", sub.ID, late)
			}
		}
	})
}

// Endpoints that hang, more than may be slow at a time, hold up the others once, until their
// first requests have failed: their tries have room of their own.
func TestTriesHoldUpNoOther(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		n.deliverer.core.config.Parallel, n.deliverer.core.config.SlowParallel = 16, 32
		id := n.store.AddChannel("http://origin.example/")
		n.hang(id, 200)
		works := n.store.Subscribe(id, sinkA, "")
		n.store.Commit(id)
		elapse(5 * time.Minute)
		if got := len(n.sinks.versions(works)); got != 1 {
			t.Fatalf("%d versions came", got)
		}
		for range 60 {
			since := time.Now()
			n.store.Commit(id)
			elapse(7 * time.Second)
			if late := n.lateness(t, works, since); late < 0 || late > 2*slowAfter {
				t.Fatalf("at %v it waited %v", since, late)
			}
		}
	})
}

// hang subscribes endpoints that never answer.
func (n *node) hang(id channel.ID, endpoints int) {
	for i := range endpoints {
		url := fmt.Sprintf("http://sink.example/%d", i)
		n.store.Subscribe(id, url, "")
		n.sinks.set(url, answer{delay: time.Hour})
	}
}

// An endpoint that works again while it waits for its try, behind many that never answer, is served
// as one that works.
func TestWorksBeforeItsTry(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		core := n.deliverer.core
		core.config.Parallel, core.config.SlowParallel = 16, 32
		id := n.store.AddChannel("http://origin.example/")
		n.hang(id, 200)
		sub := n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkA, answer{status: http.StatusInternalServerError})
		n.store.Commit(id)
		queues := n.deliverer.dispatcher.queues
		waits := func() bool {
			core.Lock()
			defer core.Unlock()
			e := n.deliverer.dispatcher.streaks.endpointOf(sub)
			return e.turn == &queues.tries
		}
		for passed := 0; !waits(); passed++ {
			if elapse(time.Second); passed > 3600 {
				t.Fatal("it never waited for its try")
			}
		}
		n.sinks.set(sinkA, answer{})
		before := len(n.sinks.versions(sub))
		if err := n.deliverer.Test(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
		elapse(2 * slowAfter)
		if got := n.sinks.versions(sub); len(got) <= before {
			t.Errorf("nothing came within %v", 2*slowAfter)
		}
	})
}

// Of a channel whose endpoints all fail, a try reads its own subscription.
func TestTryReadsItsOwn(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		const endpoints = 1000
		requests := 0
		n.deliverer.dispatcher.caller.transport = tap(n.sinks, func(*http.Request) { requests++ })
		id := n.store.AddChannel("http://origin.example/")
		for i := range endpoints {
			url := fmt.Sprintf("http://sink.example/%d", i)
			n.store.Subscribe(id, url, "")
			n.sinks.set(url, answer{status: http.StatusInternalServerError})
		}
		n.store.Commit(id)
		elapse(2 * time.Second)
		listed := n.store.Listed()
		n.sinks.locked(func() { requests = 0 })
		elapse(time.Minute)
		n.sinks.locked(func() {
			if read := n.store.Listed() - listed; requests < endpoints || read > 2*requests {
				t.Errorf("%d subscriptions were read for %d tries", read, requests)
			}
		})
	})
}

func TestRow45SameIDAfterFailure(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		var ids []string
		seen := func(request *http.Request) { ids = append(ids, request.Header.Get("webhook-id")) }
		n.deliverer.dispatcher.caller.transport = tap(n.sinks, seen)
		n.sinks.set(sinkA, answer{status: http.StatusInternalServerError})
		n.store.Commit(id)
		elapse(time.Second)
		if e := n.store.Kept(sinkA); e.Attempts != 1 || e.LastError != "endpoint answered 500 Internal Server Error" {
			t.Errorf("endpoint %+v", e)
		}
		n.sinks.set(sinkA, answer{})
		elapse(10 * time.Second)
		n.sinks.locked(func() {
			if want := sub.ID + "-2"; !slices.Equal(ids, []string{want, want}) {
				t.Errorf("IDs %q, want %q twice", ids, want)
			}
		})
		n.expectVersions(t, sub, 2)
		if e := n.store.Kept(sinkA); !e.Healthy() {
			t.Errorf("endpoint %+v, want none", e)
		}
	})
}

// tap shows each request to a function, under the sinks' lock.
func tap(to *sinks, seen func(*http.Request)) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		to.locked(func() { seen(request) })
		return to.RoundTrip(request)
	})
}

func (s *sinks) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func TestRow46CutAcknowledgementIsRetried(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkA, answer{cut: true})
		n.store.Commit(id)
		elapse(time.Second)
		n.sinks.set(sinkA, answer{})
		elapse(10 * time.Second)
		came := n.sinks.arrivals(sub)
		if len(came) != 2 || came[0].id != came[1].id || came[0].acked || !came[1].acked {
			t.Errorf("arrivals %+v: want the same twice", came)
		}
	})
}

func TestRow47RedirectIsFailure(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkA, answer{status: http.StatusPermanentRedirect})
		n.store.Commit(id)
		elapse(time.Second)
		if e := n.store.Kept(sinkA); e.Attempts != 1 || n.sinks.count() != 0 {
			t.Errorf("endpoint %+v after a redirect, %d messages", e, n.sinks.count())
		}
	})
}

func TestRow48GoneEndpointIsDisabled(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.store.Commit(id)
		elapse(time.Second)
		n.sinks.set(sinkA, answer{status: http.StatusGone})
		n.store.Commit(id)
		elapse(time.Second)
		if e := n.store.Kept(sinkA); e.State != channel.EndpointDisabled {
			t.Fatalf("endpoint %+v, want disabled", e)
		}
		n.sinks.set(sinkA, answer{})
		n.store.Commit(id)
		n.stop()
		n.start()
		elapse(1000 * time.Hour) // no probe, and no other attempt
		n.expectVersions(t, sub, 2)

		again := n.store.Subscribe(id, sinkA, "")
		elapse(time.Second)
		n.store.Commit(id)
		elapse(time.Minute)
		n.expectVersions(t, again, 5)
		n.expectVersions(t, sub, 2, 5)
		if came := n.sinks.arrivals(sub); came[1].id != sub.ID+"-gap-3-4" || came[1].message.Type != api.MessageGap {
			t.Errorf("after the revival came %+v, want one gap from 3 to 4", came[1])
		}
		n.expectLostUntil(t, again.Created)
	})
}

// expectLostUntil checks that the endpoint works, that what was committed until a time is
// lost, and that this is forgotten when the store has forgotten all of that.
func (n *node) expectLostUntil(t *testing.T, until time.Time) {
	t.Helper()
	if e := n.store.Kept(sinkA); !e.Works() || !e.LostUntil.Equal(until) {
		t.Errorf("endpoint %+v, want one that works and has lost what was committed until %s", e, until)
	}
	elapse(time.Until(until.Add(streak.KeepLost)) - time.Second)
	if e := n.store.Kept(sinkA); e.Healthy() {
		t.Error("what was lost is forgotten too early")
	}
	elapse(2 * time.Second)
	if e := n.store.Kept(sinkA); !e.Healthy() {
		t.Errorf("endpoint %+v, want none", e)
	}
}

// Row 51: one dead endpoint among 10,000. Time is virtual, so that what is measured
// is waiting, not work: none of the others waits at all.
func TestRow51DeadEndpointAmongMany(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		const endpoints = 10000
		id := n.store.AddChannel("http://origin.example/")
		var subs []channel.Subscription
		for i := range endpoints {
			url := fmt.Sprintf("http://sink.example/%d", i)
			n.sinks.set(url, answer{delay: 5 * time.Millisecond})
			subs = append(subs, n.store.Subscribe(id, url, ""))
		}
		measure := func() time.Duration {
			since := time.Now()
			n.store.Commit(id)
			elapse(10 * time.Second)
			var worst []time.Duration
			for _, sub := range subs[1:] {
				worst = append(worst, n.lateness(t, sub, since))
			}
			slices.Sort(worst)
			return worst[len(worst)*99/100]
		}
		without := measure()
		for _, dead := range []answer{{delay: time.Hour}, {err: errNetwork}} {
			n.sinks.set(subs[0].Sink.URL, dead)
			if with := measure(); float64(with) > 1.2*float64(without) {
				t.Errorf("p99 %s with a dead endpoint (%+v), %s without", with, dead, without)
			}
		}
	})
}

func TestRow52DownForThreeDays(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub, other := n.store.Subscribe(id, sinkA, ""), n.store.Subscribe(id, sinkB, "")
		n.sinks.set(sinkA, answer{err: errNetwork})
		var want []uint64
		for v := uint64(2); v < 2+72; v++ {
			n.store.Commit(id)
			elapse(time.Hour)
			want = append(want, v)
			if v%10 == 0 { // and the node is restarted now and then: the streak goes on
				n.stop()
				n.start()
			}
		}
		if e := n.store.Kept(sinkA); e.State != channel.EndpointActive || e.Attempts != 9 || !e.FailingSince.Equal(epoch2000) {
			t.Errorf("after three days the endpoint is %+v", e)
		}
		n.sinks.set(sinkA, answer{})
		elapse(4 * time.Hour)
		n.expectVersions(t, sub, want...)
		n.expectVersions(t, other, want...)
	})
}

// epoch2000 is when virtual time begins.
var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSuspension(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id, quiet := n.store.AddChannel("http://origin.example/"), n.store.AddChannel("http://quiet.example/")
		sub, silent := n.store.Subscribe(id, sinkA, ""), n.store.Subscribe(quiet, sinkA, "")
		var attempts []time.Duration
		n.deliverer.dispatcher.caller.transport = tap(n.sinks, func(*http.Request) { attempts = append(attempts, time.Since(epoch2000)) })
		n.sinks.set(sinkA, answer{err: errNetwork})
		n.store.Commit(id)
		for range 5 {
			elapse(20 * time.Hour)
			n.store.Commit(id)
		}
		if e := n.store.Kept(sinkA); e.State != channel.EndpointSuspended || e.Attempts != 11 {
			t.Fatalf("after 100 hours the endpoint is %+v, want suspended", e)
		}
		n.sinks.locked(func() {
			if len(attempts) != 11 { // ten steps and a probe
				t.Errorf("%d attempts at %s, want 11", len(attempts), attempts)
			}
		})
		n.sinks.set(sinkA, answer{})
		elapse(24 * time.Hour)
		n.store.Commit(id)
		n.store.Commit(quiet)
		elapse(time.Minute)
		var worked time.Time
		n.sinks.locked(func() { worked = epoch2000.Add(attempts[11]) })
		n.expectVersions(t, sub, 8)
		n.expectVersions(t, silent, 2) // it missed nothing
		if came := n.sinks.arrivals(sub); len(came) != 2 || came[0].id != sub.ID+"-gap-2-7" || came[0].message.Data.Reason != payload.ReasonSuspended {
			t.Errorf("arrivals %+v: want one gap from 2 to 7 first", came)
		}
		n.expectLostUntil(t, worked.Truncate(time.Microsecond))
	})
}

// An endpoint that fails one message in ten stops neither the others of its
// subscriptions, nor is it hammered with the one that failed.
func TestFlakyEndpointGoesOn(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		var subs []channel.Subscription
		for range 50 {
			subs = append(subs, n.store.Subscribe(id, sinkA, ""))
		}
		tries := make(map[string][]time.Time)
		n.deliverer.dispatcher.caller.transport = roundTripper(func(request *http.Request) (*http.Response, error) {
			id := request.Header.Get("webhook-id")
			fails := false
			n.sinks.locked(func() {
				tries[id] = append(tries[id], time.Now())
				fails = len(tries)%10 == 0 && len(tries[id]) == 1
			})
			if fails {
				return nil, errNetwork
			}
			return n.sinks.answer(request, sinkA, answer{})
		})
		n.store.Commit(id)
		elapse(time.Minute)
		for _, sub := range subs {
			n.expectVersions(t, sub, 2)
		}
		n.sinks.locked(func() {
			for id, at := range tries {
				if len(at) > 1 && at[1].Sub(at[0]) < 4*time.Second {
					t.Errorf("%s was tried again after %s", id, at[1].Sub(at[0]))
				}
			}
		})
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestGoneChannel(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.store.Commit(id)
		n.store.Gone(id)
		elapse(time.Second)
		late := n.store.Subscribe(id, sinkB, "")
		elapse(time.Second)
		n.stop()
		n.start() // and told once, not once per start
		elapse(time.Second)
		n.store.Commit(id) // it came back
		n.store.Gone(id)
		elapse(time.Second)
		ids := func(sub channel.Subscription) (out []string) {
			for _, a := range n.sinks.arrivals(sub) {
				out = append(out, a.id)
			}
			return out
		}
		if got, want := ids(sub), []string{sub.ID + "-2", sub.ID + "-gone-2", sub.ID + "-3", sub.ID + "-gone-3"}; !slices.Equal(got, want) {
			t.Errorf("early: got %q, want %q", got, want)
		}
		if got, want := ids(late), []string{late.ID + "-gone-2", late.ID + "-3", late.ID + "-gone-3"}; !slices.Equal(got, want) {
			t.Errorf("late: got %q, want %q", got, want)
		}
	})
}

func TestRetentionGap(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		early := n.store.Subscribe(id, sinkA, "")
		n.stop()
		n.store.Commit(id)
		n.store.Commit(id)
		during := n.store.Subscribe(id, sinkB, "") // gets 4 and 5, of which 4 is lost
		for range 3 {
			n.store.Commit(id)
		}
		n.store.Trim(id, 4)
		n.start()
		elapse(time.Second)
		n.expectVersions(t, early, 5, 6)
		n.expectVersions(t, during, 5, 6)
		for sub, want := range map[channel.Subscription]string{early: "-gap-2-4", during: "-gap-4-4"} {
			if got := n.sinks.arrivals(sub)[0].id; got != sub.ID+want {
				t.Errorf("first message %s, want %s%s", got, sub.ID, want)
			}
		}
	})
}

// An unreadable update must not stop those behind it.
func TestUnreadableUpdate(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.stop()
		n.store.Commit(id)
		n.store.Corrupt()
		n.start()
		n.store.Commit(id)
		elapse(time.Second)
		n.expectVersions(t, sub, 3)
		if got := n.sinks.arrivals(sub)[0]; got.id != sub.ID+"-gap-2-2" || got.message.Data.Reason != payload.ReasonUnreadable {
			t.Errorf("first message %+v, want a gap", got)
		}
	})
}

// TestTestSink: a test goes out at once, and its success ends a streak.
func TestTestSink(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("http://origin.example/")
		sub := n.store.Subscribe(id, sinkA, "")
		n.sinks.set(sinkA, answer{status: 503})
		n.store.Commit(id)
		elapse(time.Hour)
		err := n.deliverer.Test(t.Context(), sub)
		if failure, ok := err.(*CallError); !ok || failure.Class != ClassStatus || failure.Status != 503 {
			t.Errorf("test of a failing sink: %v", err)
		}
		if e := n.store.Kept(sinkA); e.Attempts != 4 {
			t.Errorf("endpoint %+v: a test is no step of the schedule", e)
		}
		n.sinks.set(sinkA, answer{})
		if err := n.deliverer.Test(t.Context(), sub); err != nil {
			t.Errorf("test: %v", err)
		}
		synctest.Wait()
		elapse(10 * time.Second)
		came := n.sinks.arrivals(sub)
		if len(came) != 2 || came[0].message.Type != api.MessageTest || came[1].id != sub.ID+"-2" {
			t.Errorf("arrivals %+v: want the test, and what was waiting", came)
		}
	})
}
