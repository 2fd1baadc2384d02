package corona_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// patience bounds every wait for the node; what is waited for takes a second.
const patience = 20 * time.Second

// growing is an origin whose feed has one more entry whenever it is told to.
type growing struct {
	*httptest.Server
	entries atomic.Int64
	status  atomic.Int64
}

func newGrowing(t *testing.T) *growing {
	t.Helper()
	g := new(growing)
	g.entries.Store(1)
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *growing) serve(w http.ResponseWriter, r *http.Request) {
	if status := g.status.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	entries := g.entries.Load()
	tag := fmt.Sprintf(`"%d"`, entries)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>Growing</title><link>http://example.com/</link>`)
	for i := entries; i > 0; i-- {
		fmt.Fprintf(w, "<item><guid>entry-%d</guid><title>Entry %d</title><link>http://example.com/%d</link></item>", i, i, i)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

func open(t *testing.T, data string) *corona.Node {
	t.Helper()
	node, err := corona.Open(t.Context(), corona.Config{
		Data: data, Interval: time.Second, Floor: 100 * time.Millisecond, Ranges: 4, AllowPrivate: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func closeNode(t *testing.T, node *corona.Node) {
	t.Helper()
	if err := node.Close(); err != nil {
		t.Error(err)
	}
}

func subscribe(t *testing.T, node *corona.Node, url, key string) *api.Subscription {
	t.Helper()
	outcome := node.Subscribe(t.Context(), []api.SubscribeRequest{{URL: url, Sink: api.Sink{Type: api.SinkSSE}, Key: key}})[0]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	return outcome.Subscription
}

// until asks for a channel until it is as wanted.
func until(t *testing.T, node *corona.Node, id channel.ID, wanted func(*api.Channel) bool) *api.Channel {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for begun := time.Now(); ; <-ticker.C {
		ch, err := node.Channel(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(ch) {
			return ch
		}
		if time.Since(begun) > patience {
			t.Fatalf("channel is still %+v", ch)
		}
	}
}

func TestWatchYieldsEveryEntryOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	origin := newGrowing(t)
	defer origin.Close()
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// The feed grows when its first version is there, and with each update seen.
	id := channel.IDOf(origin.URL + "/")
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for ; ctx.Err() == nil; <-ticker.C {
			if ch, err := node.Channel(ctx, id); err == nil && ch.Version == 1 {
				origin.entries.Store(2)
				return
			}
		}
	}()
	next := int64(2)
	for update, err := range node.Watch(ctx, origin.URL) {
		if err != nil {
			t.Fatal(err)
		}
		added := update.Entries.Added
		if len(added) != 1 || added[0].ID != fmt.Sprintf("entry-%d", next) || update.Version != uint64(next) {
			t.Fatalf("update %+v; want version %d with entry-%d alone", update, next, next)
		}
		if !strings.Contains(update.Diff, fmt.Sprintf("+title: Entry %d", next)) {
			t.Errorf("diff %q does not show the entry", update.Diff)
		}
		if next == 4 {
			break
		}
		next++
		origin.entries.Store(next)
	}
	page, err := node.Subscriptions(t.Context(), api.SubscriptionQuery{Limit: 10})
	if err != nil || len(page.Subscriptions) != 0 {
		t.Errorf("after the watch: subscriptions %+v, %v; want none", page, err)
	}
}

func TestRestartKeepsWhatWasAcknowledged(t *testing.T) {
	origin := newGrowing(t)
	data := filepath.Join(t.TempDir(), "data")
	node := open(t, data)
	name := node.Name()
	kept, deleted := subscribe(t, node, origin.URL, "key"), subscribe(t, node, origin.URL, "")
	if err := node.Unsubscribe(t.Context(), deleted.ID); err != nil {
		t.Fatal(err)
	}
	until(t, node, kept.Channel, func(ch *api.Channel) bool { return ch.Version == 1 })
	closeNode(t, node)

	origin.entries.Store(2) // while no node polls
	node = open(t, data)
	defer closeNode(t, node)
	if node.Name() != name {
		t.Errorf("name %q became %q", name, node.Name())
	}
	if again, err := node.Subscription(t.Context(), kept.ID); err != nil || again.FromVersion != kept.FromVersion {
		t.Errorf("kept subscription: %+v, %v", again, err)
	}
	wantStatus(t, http.StatusNotFound, func() error { _, err := node.Subscription(t.Context(), deleted.ID); return err }())
	if err := node.Unsubscribe(t.Context(), deleted.ID); err != nil {
		t.Errorf("unsubscribe once more: %v", err)
	}
	if same := subscribe(t, node, origin.URL, "key"); same.ID != kept.ID {
		t.Errorf("the same key made %s, want %s", same.ID, kept.ID)
	}
	until(t, node, kept.Channel, func(ch *api.Channel) bool { return ch.Version == 2 })
	updates, err := node.Updates(t.Context(), kept.Channel, 0, 10)
	if err != nil || len(updates.Updates) != 1 || len(updates.Updates[0].Entries.Added) != 1 {
		t.Errorf("updates %+v, %v; want version 2 with one entry", updates, err)
	}
	origin.entries.Store(3)
	third := until(t, node, kept.Channel, func(ch *api.Channel) bool { return ch.Version == 3 })
	if third.UpdateIntervalS > 120 {
		t.Errorf("changes each %v s, after two within seconds", third.UpdateIntervalS)
	}
}

// TestSubscribeAgain: a key that made a subscription before gives it back, and
// says so.
func TestSubscribeAgain(t *testing.T) {
	origin := newGrowing(t)
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	request := api.SubscribeRequest{URL: origin.URL, Sink: api.Sink{Type: api.SinkSSE}, Key: "key"}
	first := node.Subscribe(t.Context(), []api.SubscribeRequest{request})[0]
	again := node.Subscribe(t.Context(), []api.SubscribeRequest{request})[0]
	if err := errors.Join(first.Err, again.Err); err != nil {
		t.Fatal(err)
	}
	if first.Existing || !again.Existing || again.Subscription.ID != first.Subscription.ID {
		t.Errorf("made %+v, then %+v", first, again)
	}
}

func TestGoneEndsPolling(t *testing.T) { // row 22
	origin := newGrowing(t)
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	made := subscribe(t, node, origin.URL, "")
	until(t, node, made.Channel, func(ch *api.Channel) bool { return ch.Version == 1 })
	origin.status.Store(http.StatusGone)
	ch := until(t, node, made.Channel, func(ch *api.Channel) bool { return ch.Gone })
	if ch.Rate != 0 || ch.Width != 0 || len(ch.Pollers) != 0 {
		t.Errorf("a gone channel is still polled: %+v", ch)
	}
	stream, err := node.Stream(t.Context(), api.StreamFilter{Subscriptions: []string{made.ID}}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if event, err := stream.Next(ctx); err != nil || event.Type != api.StreamGone {
		t.Errorf("event %+v, %v; want gone", event, err)
	}
}

func TestStatus(t *testing.T) {
	origin := newGrowing(t)
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	for range 3 {
		subscribe(t, node, origin.URL, "")
	}
	id := channel.IDOf(origin.URL + "/")
	var status *api.Status
	var err error
	until(t, node, id, func(*api.Channel) bool {
		status, err = node.Status(t.Context())
		return err != nil || status.Load.PlannedPollsPerInterval == 3
	})
	if err != nil || status.Channels != 1 || status.Subscriptions != 3 || len(status.Cluster.Ranges) != 4 {
		t.Fatalf("status %+v, %v", status, err)
	}
	if budget := status.Load.BudgetPollsPerInterval; budget != 3 {
		t.Errorf("budget %v; want three polls an interval, as three would make alone", budget)
	}
	if want := (api.Detection{PlannedS: 0.5 / 3, BoundS: 0.5 / 3}); math.Abs(status.Detection.PlannedS-want.PlannedS)+math.Abs(status.Detection.BoundS-want.BoundS) > 1e-6 {
		t.Errorf("detection %+v, want %+v", status.Detection, want)
	}
	if err := node.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMetricsEndWithTheirNode(t *testing.T) {
	registry := prometheus.NewRegistry()
	gather := func() int {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Error(err)
		}
		return len(families)
	}
	for range 2 {
		node, err := corona.Open(t.Context(), corona.Config{Data: t.TempDir(), Ranges: 1, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		if gather() == 0 {
			t.Error("a node without metrics")
		}
		closeNode(t, node)
		if n := gather(); n != 0 {
			t.Errorf("%d families of metrics of a node that is closed", n)
		}
	}
}

func TestRefusals(t *testing.T) {
	data := t.TempDir()
	if _, err := corona.Open(t.Context(), corona.Config{Data: data, Interval: time.Second, Floor: time.Minute}); !errors.Is(err, corona.ErrConfig) {
		t.Errorf("floor above interval: %v", err)
	}
	for _, reserve := range []uint64{1, math.MaxUint64} {
		if _, err := corona.Open(t.Context(), corona.Config{Data: t.TempDir(), DiskReserve: reserve}); !errors.Is(err, corona.ErrConfig) {
			t.Errorf("disk reserve of %d bytes: %v", reserve, err)
		}
	}
	node, err := corona.Open(t.Context(), corona.Config{Data: data, Name: "alpha", Ranges: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer closeNode(t, node)
	if _, err := corona.Open(t.Context(), corona.Config{Data: data}); err == nil || !strings.Contains(err.Error(), `"alpha"`) {
		t.Errorf("second node on a directory: %v; want the first one's name", err)
	}
	for _, url := range []string{"http://localhost/", "http://127.0.0.1/", "http://10.0.0.1/", "ftp://example.com/", "http://u:p@example.com/"} {
		outcome := node.Subscribe(t.Context(), []api.SubscribeRequest{{URL: url, Sink: api.Sink{Type: api.SinkSSE}}})[0]
		wantStatus(t, http.StatusBadRequest, outcome.Err)
	}
	reuse := node.Subscribe(t.Context(), []api.SubscribeRequest{
		{URL: "http://example.com/1", Sink: api.Sink{Type: api.SinkSSE}, Key: "k"},
		{URL: "http://example.com/2", Sink: api.Sink{Type: api.SinkSSE}, Key: "k"},
	})
	if reuse[0].Err != nil {
		t.Error(reuse[0].Err)
	}
	wantStatus(t, http.StatusConflict, reuse[1].Err) // row 38
	noSink := node.Subscribe(t.Context(), []api.SubscribeRequest{{URL: "http://example.com/"}})[0]
	wantStatus(t, http.StatusBadRequest, noSink.Err)
	_, err = node.Subscriptions(t.Context(), api.SubscriptionQuery{After: "nonsense", Limit: 1})
	wantStatus(t, http.StatusBadRequest, err)
	wantStatus(t, http.StatusNotFound, node.Unsubscribe(t.Context(), "sub_0000000000000"))
	wantStatus(t, http.StatusNotFound, node.Unsubscribe(t.Context(), "nonsense"))
}

func wantStatus(t *testing.T, status int, err error) {
	t.Helper()
	var problem *api.Problem
	if !errors.As(err, &problem) || problem.Status != status {
		t.Errorf("error %v; want a problem with status %d", err, status)
	}
}
