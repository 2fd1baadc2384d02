package corona_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona"
	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/need"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// moodyOrigin is a host that answers until it is to refuse: then the next request gets a
// 429, and it counts what comes more than the time that nodes have to tell each other
// after that, and before the rest is over.
type moodyOrigin struct {
	http    *http.Server
	host    string
	request chan struct{} // holds a token after a request

	mu      sync.Mutex
	moody   bool
	refused time.Time
	asked   []time.Time
}

const (
	moodyRest = 8 * time.Second
	toldAfter = 2 * time.Second // a refusal is known to all nodes
)

func newMoodyOrigin(t *testing.T) *moodyOrigin {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &moodyOrigin{host: listener.Addr().String(), request: make(chan struct{}, 1)}
	o.http = &http.Server{Handler: o}
	go func() { _ = o.http.Serve(listener) }() // it returns when it is closed
	t.Cleanup(func() { _ = o.http.Close() })
	return o
}

// ServeHTTP implements [http.Handler].
func (o *moodyOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer o.signal()
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.asked = append(o.asked, now)
	if o.moody && o.refused.IsZero() {
		o.refused = now
		w.Header().Set("Retry-After", fmt.Sprint(int(moodyRest.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	fmt.Fprintln(w, "text at", r.URL.Path)
}

// askedBetween returns how often the host was asked from one time to another one after
// the refusal.
func (o *moodyOrigin) askedBetween(from, to time.Duration) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, at := range o.asked {
		if after := at.Sub(o.refused); after >= from && after < to {
			n++
		}
	}
	return n
}

func (o *moodyOrigin) signal() {
	select {
	case o.request <- struct{}{}:
	default:
	}
}

// await waits until something is so of the requests that the host gets.
func (o *moodyOrigin) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	over := time.After(rigPatience)
	for !so() {
		select {
		case <-o.request:
		case <-over:
			t.Fatalf("%s: not in %s", what, rigPatience)
		}
	}
}

// refuse has the host refuse its next request, and returns when it has.
func (o *moodyOrigin) refuse(t *testing.T) (at time.Time) {
	t.Helper()
	o.mu.Lock()
	o.moody = true
	o.mu.Unlock()
	o.await(t, "a refusal", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		at = o.refused
		return !at.IsZero()
	})
	return at
}

// openThree opens the nodes of a cluster in this process, which give each host a gap.
func openThree(t *testing.T, gap time.Duration) (nodes [3]*corona.Node) {
	t.Helper()
	if runtime.GOOS != "linux" {
		need.Missing(t, "only Linux has the whole of 127.0.0.0/8")
	}
	host := fmt.Sprintf("127.%d.%d.", 192+rand.IntN(60), rand.IntN(256))
	dir := t.TempDir()
	var opening sync.WaitGroup
	for i := range nodes {
		opening.Go(func() {
			config := corona.Config{
				Data: filepath.Join(dir, fmt.Sprint(i)), Name: fmt.Sprintf("n%d", i), Ranges: 4, DiskReserve: 4 << 20, AllowPrivate: true,
				Interval: time.Second, Floor: time.Second, Maintenance: 2 * time.Second, HostGap: gap,
				Cluster: corona.ClusterConfig{Address: fmt.Sprintf("%s%d:8411", host, i+1), Gossip: fmt.Sprintf("%s%d:8412", host, i+1), BootstrapExpect: len(nodes)},
				Fatal:   func(err error) { t.Errorf("n%d: %v", i, err) },
			}
			for j := range nodes {
				config.Cluster.Join = append(config.Cluster.Join, fmt.Sprintf("%s%d:8412", host, j+1))
			}
			var err error
			if nodes[i], err = corona.Open(t.Context(), config); err != nil {
				t.Errorf("n%d: %v", i, err)
				return
			}
			t.Cleanup(func() {
				if err := nodes[i].Close(); err != nil {
					t.Errorf("n%d: %v", i, err)
				}
			})
		})
	}
	if opening.Wait(); t.Failed() {
		t.FailNow()
	}
	return nodes
}

// awaitPollers waits until so many nodes poll channels, all of which have content.
func awaitPollers(t *testing.T, n *corona.Node, nodes, channels int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d nodes that poll %d channels with content", nodes, channels), rigPatience, func() bool {
		polled, with := make(map[string]bool), 0
		all, err := n.Channels(t.Context(), nil, channels)
		for _, ch := range all {
			for _, node := range ch.Pollers {
				polled[node] = true
			}
			if ch.Version > 0 {
				with++
			}
		}
		return err == nil && len(polled) == nodes && with == channels
	})
}

// urlsPolledBy returns URLs, with numbers after a prefix, of channels whose first poller is
// one of the nodes.
func urlsPolledBy(nodes [3]*corona.Node, poller int, prefix string, channels int) (urls []string) {
	var labels []channel.ID
	for _, n := range nodes {
		labels = append(labels, overlay.NodeID(n.Name()))
	}
	for i := 0; len(urls) < channels; i++ {
		if url := fmt.Sprint(prefix, i); overlay.Pollers(channel.IDOf(url), labels, 1)[0] == poller {
			urls = append(urls, url)
		}
	}
	return urls
}

// subscribeAll makes subscriptions to URLs at a node, and returns their IDs. It waits for
// ranges that have no leader.
func subscribeAll(t *testing.T, n *corona.Node, sink api.Sink, urls ...string) (ids []string) {
	t.Helper()
	for _, url := range urls {
		request := api.SubscribeRequest{URL: url, Sink: sink, Key: url}
		eventually(t, "a subscription to "+url, rigPatience, func() bool {
			made := n.Subscribe(t.Context(), []api.SubscribeRequest{request})[0]
			if problem := (*api.Problem)(nil); errors.As(made.Err, &problem) && problem.Retryable {
				return false
			}
			if made.Err != nil {
				t.Fatal(made.Err)
			}
			ids = append(ids, made.Subscription.ID)
			return true
		})
	}
	return ids
}

// leaderOf returns the node that leads the range with a bucket.
func leaderOf(t *testing.T, nodes [3]*corona.Node, b channel.Bucket) *corona.Node {
	t.Helper()
	leader := rangeOf(t, nodes[0], b).Leader
	for _, n := range nodes {
		if n.Name() == leader {
			return n
		}
	}
	t.Fatalf("the range with bucket %d has no leader", b)
	return nil
}

// rangeOf returns the range with a bucket, as a node has it.
func rangeOf(t *testing.T, n *corona.Node, b channel.Bucket) api.Range {
	t.Helper()
	ranges := rangesOf(t, n)
	i := slices.IndexFunc(ranges, func(r api.Range) bool { return r.From <= b && b <= r.To })
	if i < 0 {
		t.Fatalf("no range has bucket %d", b)
	}
	return ranges[i]
}

func rangesOf(t *testing.T, n *corona.Node) []api.Range {
	t.Helper()
	status, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.Cluster.Ranges
}

// TestClusterSparesHost: a host that refuses one node of three is asked by none from two
// seconds later on until its rest is over, also when the node ends meanwhile that leads the
// host's range and keeps the rest. Then it is asked again.
func TestClusterSparesHost(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel() // it waits more than it computes
	nodes, origin := openThree(t, 0), newMoodyOrigin(t)
	const each = 4 // channels that a node polls
	for i := range nodes {
		subscribeAll(t, nodes[0], api.Sink{Type: api.SinkSSE}, urlsPolledBy(nodes, i, "http://"+origin.host+"/", each)...)
	}
	awaitPollers(t, nodes[0], len(nodes), len(nodes)*each)
	at := origin.refuse(t)
	eventually(t, "all nodes know of the rest", moodyRest/2, func() bool {
		status, err := nodes[0].Status(t.Context())
		return err == nil && status.Polling.RestingHosts == len(nodes)
	})
	told := max(toldAfter, time.Since(at))
	leader := leaderOf(t, nodes, channel.HostID(origin.host).Bucket())
	if err := leader.Close(); err != nil {
		t.Fatal(err)
	}
	origin.await(t, "a request after the rest", func() bool { return origin.askedBetween(moodyRest, time.Hour) > 0 })
	if n := origin.askedBetween(told, moodyRest); n > 0 {
		t.Errorf("a host that one node was refused by was asked %d times from %v later until its rest was over", n, told)
	}
	t.Logf("asked %d times within 100 ms of the refusal, %d times until %v after it",
		origin.askedBetween(1, 100*time.Millisecond), origin.askedBetween(100*time.Millisecond, told), told)
}

// TestFewPollersGetWholeCap: a host all of whose channels one node of three polls is asked
// nearly as often as it takes, and no more but for a request of each node.
func TestFewPollersGetWholeCap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	const gap, channels, measured = 250 * time.Millisecond, 8, 6 * time.Second
	nodes, origin := openThree(t, gap), newMoodyOrigin(t)
	subscribeAll(t, nodes[0], api.Sink{Type: api.SinkSSE}, urlsPolledBy(nodes, 1, "http://"+origin.host+"/", channels)...)
	took := time.Second / gap
	most := int(measured/gap) + 1
	least := most * 3 / 4 // 0.95² of it is planned
	var asked, one int
	for end := time.Now().Add(3 * rigPatience); ; {
		from := time.Now()
		origin.await(t, "a request after the measurement", func() bool { return origin.askedSince(from.Add(measured)) })
		asked, one = origin.busiest(from, measured), origin.busiest(from, time.Second)
		if asked > most || one > int(took)+len(nodes) {
			t.Fatalf("asked %d times within %v, %d within a second; its cap is one each %v", asked, measured, one, gap)
		}
		if asked >= least {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("asked %d times within %v, want %d at least: its cap is %d", asked, measured, least, most)
		}
	}
	t.Logf("asked %d times within %v; its cap is %d", asked, measured, most)
}

// askedSince reports whether the host was asked at a time or later.
func (o *moodyOrigin) askedSince(at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked) > 0 && !o.asked[len(o.asked)-1].Before(at)
}

// busiest returns how often the host was asked at most within a span of time, since a time.
func (o *moodyOrigin) busiest(since time.Time, within time.Duration) (most int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, _ := slices.BinarySearchFunc(o.asked, since, time.Time.Compare)
	for i := first; i < len(o.asked); i++ {
		for o.asked[i].Sub(o.asked[first]) >= within {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
