//go:build unix

package corona

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/garbage"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/server"
)

// BenchmarkUpdates asks how long updates take from their commit to receivers that follow
// all of them over HTTP at each of three nodes, at a steady rate, and what one costs. The
// nodes, the receivers and the origin are this one process. An operation is a second of
// load, after what it takes to begin:
//
//	go test -run '^$' -bench 'Updates/injected' -benchtime 30x .
//	go test -run '^$' -bench 'Updates/polled=500' -benchtime 30x .
//
// injected: ownership is given commits in an open loop, at the node that leads the
// channel's range. polled: an origin changes a feed of 14 KB with each answer; the two
// nodes that poll a channel in turns are not its owner, which judges, commits, and has the
// other one patch what it holds.
//
// The figures: p50-ms and p99-ms, from when the update was due (injected) or judged
// (polled), which is before it is committed, to each receiver; acked-p99-ms, from the end
// of the commit; updates/s, which must be the rate, else the delays say nothing; cpu-ms,
// the processor time of the process for an update. An update that a receiver lacks or has
// twice fails the benchmark.
func BenchmarkUpdates(b *testing.B) {
	for _, rate := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("injected=%d", rate), func(b *testing.B) { injected(b, rate) })
	}
	for _, rate := range []int{125, 500} {
		b.Run(fmt.Sprintf("polled=%d", rate), func(b *testing.B) { polled(b, rate) })
	}
}

const (
	injectors       = 512
	injectedEach    = 8               // channels of an injector
	updatesInterval = 4 * time.Second // two polls of a channel
	startWithin     = 2 * time.Minute
	drainWithin     = 30 * time.Second
)

func injected(b *testing.B, rate int) {
	r := newUpdatesRig(b, Config{})
	ids := r.subscribe(injectors*injectedEach, 1, func(channel.ID) bool { return true })
	r.await("contents", func() bool { return r.all(ids, 1) })
	if b.N > 1 {
		r.await("contents at all their pollers", func() bool {
			busy := processor(b)
			time.Sleep(2 * time.Second)
			return processor(b)-busy < 500*time.Millisecond
		})
	}
	updates := sampleUpdates(b)
	every := time.Second * injectors / time.Duration(rate)
	begun := r.begin()
	over := begun.Add(time.Duration(b.N) * time.Second)
	acked := make(map[update]time.Time)
	var acks sync.Mutex
	var injecting sync.WaitGroup
	for i := range injectors {
		injecting.Go(func() {
			known := make(map[channel.ID]channel.Channel)
			due := begun.Add(every * time.Duration(i) / injectors)
			for n := 0; due.Before(over); n, due = n+1, due.Add(every) {
				time.Sleep(time.Until(due))
				id := ids[i*injectedEach+n%injectedEach]
				made, err := r.commit(known[id], id, due, updates[n%len(updates)])
				if err != nil {
					b.Errorf("commit to channel %s: %v", id, err)
					return
				}
				known[id] = made
				acks.Lock()
				acked[update{id, made.Version}] = time.Now()
				acks.Unlock()
			}
		})
	}
	injecting.Wait()
	r.end(over, ids)
	var late []time.Duration
	for _, got := range r.receivers {
		for _, e := range got.events {
			if at, ok := acked[e.update]; ok {
				late = append(late, max(e.received.Sub(at), 0))
			}
		}
	}
	b.ReportMetric(quantile(late, 0.99), "acked-p99-ms")
}

func polled(b *testing.B, rate int) {
	r := newUpdatesRig(b, Config{Interval: updatesInterval, Floor: updatesInterval, Maintenance: 2 * time.Second, HostGap: NoHostGap, HostParallel: 64})
	var names []channel.ID
	for _, node := range r.nodes {
		names = append(names, overlay.NodeID(node.Name()))
	}
	ids := r.subscribe(rate*int(updatesInterval/time.Second)/2, 2, func(id channel.ID) bool {
		return !slices.Contains(overlay.Pollers(id, names, 2), r.leader(id))
	})
	r.await("contents", func() bool { return r.all(ids, 1) })
	for range 5 { // until polls come at the rate, if the processor bears it: updates/s says
		before := r.origin.answers.Load()
		time.Sleep(updatesInterval)
		seen, want := r.origin.answers.Load()-before, int64(rate)*int64(updatesInterval/time.Second)
		if seen > want*9/10 && seen < want*11/10 {
			break
		}
	}
	begun := r.begin()
	over := begun.Add(time.Duration(b.N) * time.Second)
	time.Sleep(time.Until(over))
	r.origin.still.Store(true)
	r.end(over, ids)
}

// updatesRig is a cluster, and receivers at each of its nodes.
type updatesRig struct {
	b         *testing.B
	nodes     []*Node
	receivers []*receiver
	origin    *growingFeeds
	begun     time.Time
	busy      time.Duration // of the processor, until begun
	profile   *os.File      // of the load; nil: none
}

func newUpdatesRig(b *testing.B, config Config) *updatesRig {
	b.Cleanup(func() { debug.SetGCPercent(100) })
	garbage.Limit(b.Context())
	config.Ranges, config.AllowPrivate = 3, true
	r := &updatesRig{b: b, nodes: openSecured(b, config, "n1", "n2", "n3")}
	r.origin = newGrowingFeeds(b)
	for _, node := range r.nodes {
		r.receivers = append(r.receivers, newReceiver(b, node))
	}
	if b.N > 1 {
		r.await("a range to lead for each node", func() bool {
			led := make(map[string]bool)
			for _, status := range r.nodes[0].store.Ranges() {
				led[status.Leader] = true
			}
			return len(led) == len(r.nodes)
		})
	}
	return r
}

// await waits until something is so.
func (r *updatesRig) await(what string, so func() bool) {
	r.b.Helper()
	if !within(startWithin, so) {
		r.b.Fatalf("waited %v for %s", startWithin, what)
	}
}

// within waits until something is so, and reports whether it came in time.
func within(most time.Duration, so func() bool) bool {
	for end := time.Now().Add(most); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// leader returns the number of the node that leads a channel's range, -1: none does.
func (r *updatesRig) leader(id channel.ID) int {
	for _, status := range r.nodes[0].store.Ranges() {
		if status.From <= id.Bucket() && id.Bucket() <= status.To {
			return slices.IndexFunc(r.nodes, func(n *Node) bool { return n.Name() == status.Leader })
		}
	}
	return -1
}

// subscribe makes subscriptions to channels of the origin, so many to each of those that
// are wanted.
func (r *updatesRig) subscribe(channels, each int, wanted func(channel.ID) bool) (ids []channel.ID) {
	var requests []api.SubscribeRequest
	for i := 0; len(ids) < channels; i++ {
		url := r.origin.url(i)
		if id := channel.IDOf(url); wanted(id) {
			ids = append(ids, id)
			for range each {
				requests = append(requests, api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}})
			}
		}
	}
	for _, made := range r.nodes[0].Subscribe(r.b.Context(), requests) {
		if made.Err != nil {
			r.b.Fatal(made.Err)
		}
	}
	return ids
}

// commit gives a channel its next version, which is the update that was due at a time, and
// returns the channel; known is what it was, if known. While the range changes its leader it
// is tried again, unless it turns out to have been made.
func (r *updatesRig) commit(known channel.Channel, id channel.ID, due time.Time, next ownership.Commit) (made channel.Channel, err error) {
	next.Channel, next.At = id, due
	for end := time.Now().Add(startWithin); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		at := r.leader(id)
		if at < 0 {
			continue
		}
		if known.Version == 0 {
			if known, err = r.nodes[at].store.Channel(id); err != nil {
				return known, err
			}
		}
		if known.Version == next.Version {
			return known, nil
		}
		next.Incarnation, next.Base, next.Version, next.Forgotten = known.Incarnation, known.Version, known.Version+1, known.Forgotten
		err = r.nodes[at].store.Commit(r.b.Context(), next)
		if known.Version = next.Version; err == nil || !errors.Is(err, ownership.ErrUnavailable) && !errors.Is(err, ownership.ErrStale) {
			return known, err
		}
		known.Version = 0
	}
	return known, ownership.ErrUnavailable
}

// versions returns the versions of channels as their owners know them.
func (r *updatesRig) versions(ids []channel.ID) map[channel.ID]uint64 {
	versions := make(map[channel.ID]uint64, len(ids))
	for _, id := range ids {
		if at := r.leader(id); at >= 0 {
			if ch, err := r.nodes[at].store.Channel(id); err == nil {
				versions[id] = ch.Version
			}
		}
	}
	return versions
}

// all reports whether all channels have at least a version.
func (r *updatesRig) all(ids []channel.ID, version uint64) bool {
	versions := r.versions(ids)
	return !slices.ContainsFunc(ids, func(id channel.ID) bool { return versions[id] < version })
}

// begin begins the measurement.
func (r *updatesRig) begin() time.Time {
	if name := os.Getenv("CORONA_UPDATES_PROFILE"); name != "" && r.b.N > 1 {
		var err error
		if r.profile, err = os.Create(name); err == nil {
			err = pprof.StartCPUProfile(r.profile)
		}
		if err != nil {
			r.b.Fatal(err)
		}
	}
	r.begun, r.busy = time.Now(), processor(r.b)
	return r.begun
}

// end ends the measurement. It reports what was due from its begin to over, when all
// receivers have all versions of the channels, which do not change any more.
func (r *updatesRig) end(over time.Time, ids []channel.ID) {
	busy := processor(r.b) - r.busy
	if r.profile != nil {
		pprof.StopCPUProfile()
		if err := r.profile.Close(); err != nil {
			r.b.Error(err)
		}
	}
	r.drain(ids)
	var waits []time.Duration
	for _, got := range r.receivers {
		for _, e := range got.events {
			if !e.at.Before(r.begun.Truncate(time.Microsecond)) && e.at.Before(over) {
				waits = append(waits, e.received.Sub(e.at))
			}
		}
	}
	if len(waits) == 0 {
		r.b.Fatal("no receiver saw an update")
	}
	updates := float64(len(waits)) / float64(len(r.receivers))
	r.b.ReportMetric(0, "ns/op")
	r.b.ReportMetric(quantile(waits, 0.5), "p50-ms")
	r.b.ReportMetric(quantile(waits, 0.99), "p99-ms")
	r.b.ReportMetric(updates/over.Sub(r.begun).Seconds(), "updates/s")
	r.b.ReportMetric(1000*busy.Seconds()/updates, "cpu-ms")
}

// quantile returns the q-th of times in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return 1000 * times[int(q*float64(len(times)-1))].Seconds()
}

// drain waits until every receiver has all versions of channels that do not change any
// more, each once, and closes the receivers.
func (r *updatesRig) drain(ids []channel.ID) {
	r.b.Helper()
	var missing int
	if !within(drainWithin, func() bool {
		versions := r.versions(ids)
		missing = 0
		for _, got := range r.receivers {
			missing += got.missing(versions)
		}
		return missing == 0
	}) {
		r.b.Errorf("%d updates were not received within %v", missing, drainWithin)
	}
	for _, got := range r.receivers {
		got.close()
	}
}

type update struct {
	channel channel.ID
	version uint64
}

// receiver follows all updates at a node.
type receiver struct {
	close  func()
	mu     sync.Mutex
	last   map[channel.ID]uint64
	events []received
}

type received struct {
	update
	at, received time.Time
}

// newReceiver serves a node's API as corona serve does, and follows its stream.
func newReceiver(b *testing.B, node *Node) *receiver {
	front, err := server.New(server.Config{AllowPrivate: true}, node, node.config.Registry)
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := front.Run(ctx, listener); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(func() { stop(); running.Wait() })
	r := &receiver{last: make(map[channel.ID]uint64)}
	labelled("receiver", func() {
		client, err := api.NewClient("http://"+listener.Addr().String(), nil)
		if err != nil {
			b.Fatal(err)
		}
		following, leave := context.WithCancel(ctx)
		stream, err := client.Stream(following, api.StreamFilter{}, "")
		if err != nil {
			b.Fatal(err)
		}
		var reading sync.WaitGroup
		reading.Go(func() {
			defer stream.Close()
			for {
				event, err := stream.Next()
				if err != nil {
					if following.Err() == nil {
						b.Error(err)
					}
					return
				}
				r.take(b, event)
			}
		})
		r.close = func() { leave(); reading.Wait(); client.Close() }
		b.Cleanup(r.close)
	})
	return r
}

// labelled runs f with a label in profiles of the processor, which the goroutines have too
// that it starts: go tool pprof -tagignore rig leaves them out.
func labelled(part string, f func()) {
	pprof.Do(context.Background(), pprof.Labels("rig", part), func(context.Context) { f() })
}

func (r *receiver) take(b *testing.B, event api.StreamEvent) {
	now := time.Now()
	if event.Type != api.StreamUpdate {
		b.Errorf("received event %q: %s", event.Type, event.Data)
		return
	}
	var got struct {
		Channel    channel.ID `json:"channel"`
		Version    uint64     `json:"version"`
		DetectedAt time.Time  `json:"detected_at"`
	}
	if err := json.Unmarshal(event.Data, &got); err != nil {
		b.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := max(r.last[got.Channel], 1) + 1; got.Version != want {
		b.Errorf("received version %d of channel %s, want %d", got.Version, got.Channel, want)
	}
	r.last[got.Channel] = got.Version
	r.events = append(r.events, received{update{got.Channel, got.Version}, got.DetectedAt, now})
}

// missing returns how many updates up to some versions have not been received.
func (r *receiver) missing(versions map[channel.ID]uint64) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, version := range versions {
		n += int(version - max(r.last[id], 1))
	}
	return n
}

// growingFeeds is an origin of feeds, each of which has a new entry at every answer until
// they are to be still. It answers at many addresses, so that each host has few of them.
type growingFeeds struct {
	port    string
	entries [1024]string // texts, which all feeds share
	shown   [1 << 14]atomic.Int64
	answers atomic.Int64
	still   atomic.Bool
}

const (
	feedEntries = 30
	feedHosts   = 100
)

func newGrowingFeeds(b *testing.B) *growingFeeds {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		b.Fatal(err)
	}
	f := &growingFeeds{}
	_, f.port, _ = net.SplitHostPort(listener.Addr().String())
	words := strings.Fields("the a node owner of range polls commits update version feed reader said that when network changes were seen by others in another town today")
	for i := range f.entries {
		var text strings.Builder
		for n := uint32(i + 1); text.Len() < 300; {
			n = n*1664525 + 1013904223
			text.WriteString(words[n>>16%uint32(len(words))])
			text.WriteByte(' ')
		}
		f.entries[i] = text.String()
	}
	origin := &http.Server{Handler: f}
	labelled("origin", func() {
		go func() { _ = origin.Serve(listener) }() // it returns when it is closed
	})
	b.Cleanup(func() { _ = origin.Close() })
	return f
}

func (f *growingFeeds) url(feed int) string {
	return fmt.Sprintf("http://127.100.0.%d:%s/%d.xml", 1+feed%feedHosts, f.port, feed)
}

// ServeHTTP implements [http.Handler].
func (f *growingFeeds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	feed, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".xml"))
	if err != nil || feed < 0 || feed >= len(f.shown) {
		http.NotFound(w, r)
		return
	}
	f.answers.Add(1)
	newest := f.shown[feed].Load()
	if !f.still.Load() {
		newest = f.shown[feed].Add(1)
	}
	w.Header().Set("Content-Type", "application/rss+xml")
	_, _ = w.Write(f.document(feed, int(newest))) // who does not read it is told nothing
}

// document returns a feed as it is when so many entries have been added.
func (f *growingFeeds) document(feed, newest int) []byte {
	doc := make([]byte, 0, 16<<10)
	doc = fmt.Appendf(doc, "<rss version=\"2.0\"><channel><title>Feed %d</title><link>https://feeds.example/%d</link><description>News</description>\n", feed, feed)
	for n := newest + feedEntries; n > newest; n-- {
		doc = fmt.Appendf(doc, "<item><title>Story %d of feed %d</title><link>https://feeds.example/%d/%d</link><guid>%d-%d</guid><description>", n, feed, feed, n, feed, n)
		doc = append(doc, f.entries[(feed+n)%len(f.entries)]...)
		doc = append(doc, "</description></item>\n"...)
	}
	return append(doc, "</channel></rss>"...)
}

// sampleUpdates returns what commits of new entries of the origin's feeds carry, but for the
// content's hash: pollers go on to hold the content that they have.
func sampleUpdates(b *testing.B) (commits []ownership.Commit) {
	f := newGrowingFeeds(b)
	for i := range 64 {
		var versions [2]*deltas.Core
		for n := range versions {
			var err error
			if versions[n], err = deltas.Extract(deltas.Document{Body: f.document(i, n), ContentType: "application/rss+xml"}); err != nil {
				b.Fatal(err)
			}
		}
		made := deltas.Compare(versions[0], versions[1])
		commits = append(commits, ownership.Commit{
			Update: made.Append(nil), Patch: made.Delta, Seen: versions[1].Identities()[:1],
		})
	}
	return commits
}
