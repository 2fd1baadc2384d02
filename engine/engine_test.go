package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// serve puts up origins that answer like o, and orders their channels.
func (w *world) serve(rate uint32, o origin, urls ...string) {
	orders := make([]Order, len(urls))
	w.mu.Lock()
	for i, url := range urls {
		own := o
		w.origins[url] = &own
		orders[i] = Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: rate, Intervals: 1}, Width: 1}
	}
	w.mu.Unlock()
	w.engine.Order(orders...)
}

// urls returns n channels on each of the hosts.
func urls(n int, hosts ...string) (all []string) {
	for _, host := range hosts {
		for i := range n {
			all = append(all, fmt.Sprintf("http://%s/%d", host, i))
		}
	}
	return all
}

func numbered(prefix string, n int) (hosts []string) {
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("%s%d.example", prefix, i))
	}
	return hosts
}

// After a start, known channels wait for their slots, which spread over an
// interval; only those without content are asked at once.
func TestRestartWithoutStampede(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 100 * time.Second, Floor: time.Second})
		defer w.close()
		var orders []Order
		for i := range 1000 {
			o := *testOrder(i, 1)
			w.origins[o.URL] = &origin{status: 200, body: "x"}
			orders = append(orders, o)
		}
		w.engine.Order(orders...)
		for second := range 100 {
			before := w.polls()
			w.pass(time.Second)
			if n := w.polls() - before; n > 30 {
				t.Fatalf("%d of 1000 channels were asked in second %d", n, second)
			}
		}
		if n := w.polls(); n != 1000 {
			t.Errorf("%d polls in an interval, want 1000", n)
		}
	})
}

func (w *world) polls() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, asked := range w.asked {
		n += len(asked)
	}
	return n
}

// Memory and cache forget what is not ordered any more, after an interval: what is dropped,
// and what an earlier run left.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		kept, dropped, orphan := "http://a.example/kept", "http://b.example/dropped", "http://c.example/orphan"
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, kept, dropped, orphan)
		w.pass(time.Second)
		w.restart()
		w.engine.Order(w.orderOf(kept), w.orderOf(dropped))
		w.engine.Drop(channel.IDOf(dropped), channel.IDOf("http://never.example/"))
		w.pass(9 * time.Second)
		if got := w.cached(); got != 3 {
			t.Errorf("within an interval %d channels are cached, want 3", got)
		}
		w.pass(12 * time.Second)
		if got := w.cached(); got != 1 {
			t.Errorf("later %d channels are cached, want 1", got)
		}
		cs := w.engine.mu.channels
		if n, counts := cs.index.len(), cs.schedule.Count(wallNow()); n != 1 || counts.Hosts != 1 || counts.Targets != 1 {
			t.Errorf("%d channels, %+v; want one channel, one host, one target", n, counts)
		}
	})
}

// Without the ledger, or with one that lacks rows, it is not known which channels an earlier run
// polled: the cache is looked through for them. Else that would only cost time.
func TestSweepOrphans(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(fs vfs.FS) error
		want int // channels in the cache afterwards
	}{
		{"no ledger", func(fs vfs.FS) error { return fs.Remove("cache/ledger") }, 0},
		{"a row that cannot be read", func(fs vfs.FS) error {
			return writeAt(fs, "cache/ledger", []byte("broken"), store.RowLen+9)
		}, 0},
		{"a free row", func(fs vfs.FS) error { return writeAt(fs, "cache/ledger", make([]byte, store.RowLen), store.RowLen) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
				w.serve(1, origin{status: 200, body: "x", etag: "e"}, "http://c.example/orphan")
				w.pass(time.Second)
				w.close()
				if err := c.lose(w.config.fs); err != nil {
					t.Fatal(err)
				}
				w.open()
				defer w.close()
				w.pass(21 * time.Second)
				if got := w.cached(); got != c.want {
					t.Errorf("%d channels are cached, want %d", got, c.want)
				}
			})
		})
	}
}

// A kill behind a sweep finds the row of each channel that is not forgotten yet: the
// cache is not looked through for others.
func TestKilledSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		over := urls(3, "http://c.example")
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, over...)
		w.pass(5 * time.Second)
		for _, url := range over {
			w.engine.Drop(channel.IDOf(url))
		}
		w.pass(21 * time.Second)
		w.kill()
		defer w.close()
		w.pass(41 * time.Second)
		if got := w.cached(); got != 0 {
			t.Errorf("%d channels are cached, want none", got)
		}
	})
}

// All of the cache but the ledger may be deleted while the node is stopped: hosts that
// asked to be spared are spared all the same.
func TestCacheDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second})
		defer func() { w.close() }()
		url := "http://a.example/a"
		w.serve(1, origin{status: 200, body: "x", etag: "e"}, url)
		w.pass(time.Second)
		w.mu.Lock()
		w.origins[url] = &origin{status: 429, retryAfter: "3600"}
		w.mu.Unlock()
		w.pass(2 * time.Minute)
		w.close()
		files, err := w.config.fs.List("cache")
		for _, name := range files {
			if name != store.LedgerFile {
				err = errors.Join(err, w.config.fs.Remove("cache/"+name))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		w.open()
		before := w.requests(url)
		w.engine.Order(w.orderOf(url))
		w.pass(50 * time.Minute)
		if n := w.requests(url) - before; n > 0 {
			t.Errorf("asked %d times of a host that rests", n)
		}
		w.pass(time.Hour)
		if w.requests(url) == before {
			t.Error("never asked again")
		}
	})
}

// requests returns how often URLs have been asked for.
func (w *world) requests(urls ...string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, url := range urls {
		n += len(w.asked[url])
	}
	return n
}

// writeAt overwrites a part of a file.
func writeAt(fs vfs.FS, name string, data []byte, offset int64) error {
	file, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, offset)
	return errors.Join(err, file.Close())
}

// orderOf returns an order for what the owner has of a channel.
func (w *world) orderOf(url string) Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.own(channel.IDOf(url))
	return Order{Channel: channel.IDOf(url), URL: url, Incarnation: 1, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: o.version, Hash: o.hash()}
}

func (w *world) cached() int {
	seen := map[channel.ID]bool{}
	if err := w.engine.cache.Each(func(id channel.ID) bool {
		seen[id] = true
		return true
	}); err != nil {
		w.t.Error(err)
	}
	return len(seen)
}

// An order that comes while the cache is rid of a channel waits for that, and then
// begins from nothing.
func TestOrderDuringPurge(t *testing.T) {
	s := newChannels(Config{Interval: 10 * time.Second, Floor: time.Second}.withDefaults())
	o := testOrder(1, 3)
	orphan := s.orphan(o.Channel)
	if orphan == nil || s.orphan(o.Channel) != nil {
		t.Fatal("an unknown channel is claimed once")
	}
	s.order(o, 1e18)
	if c := s.schedule.Count(1e18); c.Scheduled != 0 || c.Targets != 1 {
		t.Fatalf("while it is purged: %+v", c)
	}
	s.unclaim(orphan, 1e18)
	if c := orphan.Channel; s.schedule.Count(1e18).Scheduled != 1 || !c.loaded || c.holding.OK || c.version != 3 {
		t.Fatalf("ordered during the purge: %+v", orphan)
	}
}

// What is ordered or recalled while a slot is due that the loop has not begun yet leaves the
// slot as it is.
func TestOrderKeepsDueSlot(t *testing.T) {
	cs := newChannels(Config{Interval: 10 * time.Second, Floor: time.Second}.withDefaults())
	o := testOrder(1, 3)
	cs.order(o, 1e18)
	target := cs.index.get(o.Channel)
	due, _ := target.Due()
	late := due + 5e6
	for name, again := range map[string]func(){
		"ordered":  func() { cs.order(o, late) },
		"repaced":  func() { cs.repace(&Pace{Channel: o.Channel, Incarnation: 1, Rate: o.Rate, Width: 1}, late) },
		"recalled": func() { cs.recall(o.Channel, &store.Record{Incarnation: 1, Version: 3, Hash: o.Hash}, late) },
	} {
		target.Channel.loaded = false
		again()
		if at, _ := target.Due(); at != due {
			t.Errorf("%s 5 ms after its slot: polled %v later", name, time.Duration(at-due))
		}
	}
}

// The owner may send orders from within a report: the one that a commit causes
// comes before the answer, and does not undo it.
func TestOrderFromReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		w.owner = func(r Report) (Answer, error) {
			answer, err := w.judge(r)
			w.engine.Order(w.orderOf(url))
			return answer, err
		}
		w.serve(1, origin{status: 200, body: "one", etag: "e1"}, url)
		w.pass(10 * time.Second)
		var asks []string
		for _, e := range w.drain() {
			asks = append(asks, e.text)
		}
		want := []string{"ask", "report base=0 shows one: version 1", "ask if-none-match=e1"}
		if !slices.Equal(asks, want) {
			t.Errorf("have %q, want %q", asks, want)
		}
	})
}

// That a candidate waits does not keep a poll from being judged with the version that another
// poller found first.
func TestHeldByANewerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		w.serve(1, origin{status: 200, body: "one", etag: "e1"}, url)
		w.pass(10 * time.Second)
		two := coreOf(t, "two")
		var bases []uint64
		w.owner = func(r Report) (Answer, error) {
			bases = append(bases, r.BaseVersion)
			if r.BaseVersion < 2 {
				return Answer{Version: 2, Hash: two.Hash, Held: true, Current: two}, nil
			}
			return Answer{Version: 3, Hash: r.Core.Hash}, nil
		}
		w.mu.Lock()
		w.origins[url] = &origin{status: 200, body: "three", etag: "e3"}
		w.mu.Unlock()
		w.pass(10 * time.Second)
		if want := []uint64{1, 2}; !slices.Equal(bases, want) {
			t.Errorf("reports on the versions %v, want %v", bases, want)
		}
	})
}

// An order of a newer version than the answer stands: two commits were made.
func TestNewerOrderThanAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		w.serve(1, origin{status: 200, body: "one", etag: "e1"}, url)
		w.pass(10 * time.Second)
		w.owner = func(r Report) (Answer, error) {
			answer, err := w.judge(r)
			o := w.orderOf(url)
			o.Version, o.Hash = o.Version+1, coreOf(t, "three").Hash
			w.engine.Order(o)
			return answer, err
		}
		w.mu.Lock()
		w.origins[url].body, w.origins[url].etag = "two", "e2"
		w.mu.Unlock()
		w.pass(10 * time.Second)
		target := w.engine.mu.channels.index.get(channel.IDOf(url)).Channel
		if target.version != 3 || target.holding.OK || target.hash != coreOf(t, "three").Hash {
			t.Errorf("after a newer order: %+v", target)
		}
	})
}

// A poll that began before its poller knew the current version says so in its report: the
// owner cannot tell by clocks whether it shows what was before.
func TestReportOfPollBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		var late []bool
		w.owner = func(r Report) (Answer, error) {
			late = append(late, r.Late)
			return w.judge(r)
		}
		w.serve(1, origin{status: 200, body: "one"}, url)
		w.pass(10 * time.Second)
		w.mu.Lock()
		o := w.own(channel.IDOf(url))
		o.version, o.core = 2, coreOf(t, "two") // by another poller
		w.origins[url].body = "three"
		w.mu.Unlock()
		w.pass(10 * time.Second)
		w.mu.Lock()
		w.origins[url].body = "four"
		w.mu.Unlock()
		w.pass(10 * time.Second)
		if want := []bool{false, false, true, false}; !slices.Equal(late, want) {
			t.Errorf("reports are late: %v, want %v", late, want)
		}
	})
}

// A base that is stale each time ends the poll, not the engine.
func TestOwnerNeverSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		version := uint64(0)
		w.owner = func(Report) (Answer, error) {
			version++
			return Answer{Version: version, Hash: deltas.Hash{byte(version)}, Current: coreOf(t, "not that hash")}, nil
		}
		w.serve(1, origin{status: 200, body: "one"}, "http://a.example/a")
		w.pass(time.Second)
		if version != maxReports {
			t.Errorf("%d reports, want %d", version, maxReports)
		}
		stats, _ := w.engine.Stats(channel.IDOf("http://a.example/a"))
		if stats.LastError == "" || stats.Failures != 0 || stats.NextPoll.IsZero() {
			t.Errorf("afterwards %+v", stats)
		}
	})
}

// A channel says since when its origin fails: from the first failure in a row on,
// until a poll succeeds.
func TestFailingSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: 10 * time.Second, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		since := func() failureView {
			stats, _ := w.engine.Stats(channel.IDOf(url))
			return failureView{stats.Failures, stats.FailingSince}
		}
		answer := func(status int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.origins[url].status = status
		}
		w.serve(1, origin{status: 500, body: "one"}, url)
		w.pass(time.Second)
		first := since()
		if first.failures != 1 || first.failing.IsZero() {
			t.Fatalf("after the first failure %+v", first)
		}
		w.pass(5 * time.Minute)
		if later := since(); later.failures < 2 || !later.failing.Equal(first.failing) {
			t.Errorf("later %+v, first %+v", later, first)
		}
		answer(200)
		w.pass(time.Hour)
		if well := since(); well != (failureView{}) {
			t.Errorf("after a success %+v", well)
		}
		answer(500)
		w.pass(time.Hour)
		if again := since(); again.failures == 0 || again.failing.Sub(first.failing) < time.Hour {
			t.Errorf("failing again %+v", again)
		}
	})
}

// failureView is what a channel says of its failures.
type failureView struct {
	failures int
	failing  time.Time
}

// heldFetcher lets no fetch end but by its context.
type heldFetcher struct{ begun chan string }

func (f heldFetcher) Reserve(context.Context, string, int64, bool) (fetcher.Room, error) {
	return fetcher.Room{}, nil
}

func (f heldFetcher) Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
	f.begun <- req.URL
	<-ctx.Done()
	return nil, &fetcher.Error{Class: fetcher.Canceled, URL: req.URL, Err: ctx.Err()}
}

// Close ends polls under way and leaves no goroutine.
func TestCloseInFlight(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := heldFetcher{make(chan string, 20)}
	e, err := Open(Config{Dir: "cache", fs: vfs.NewMem()}, f, deafOwner{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		e.Order(*testOrder(i, 0))
	}
	ran := make(chan error, 1)
	go func() { ran <- e.Run(t.Context()) }()
	for range 10 { // one of each host
		<-f.begun
	}
	e.Drop(channel.IDOf(testURL(3)))
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-ran; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := e.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e, err := Open(Config{Dir: "cache", fs: vfs.NewMem()}, heldFetcher{make(chan string, 1)}, deafOwner{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := e.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a second Run: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	good := Config{Dir: "d"}.withDefaults()
	if err := good.Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	if c := (Config{Dir: "d", Interval: time.Second}).withDefaults(); c.Floor != time.Second {
		t.Errorf("the floor of a short interval is %v", c.Floor)
	}
	bad := map[string]func(*Config){
		"Dir": func(c *Config) { c.Dir = "" }, "Interval": func(c *Config) { c.Interval = -1 },
		"Floor": func(c *Config) { c.Floor = c.Interval + 1 }, "Workers": func(c *Config) { c.Workers = 3 },
		"HostParallel": func(c *Config) { c.HostParallel = -1 }, "HostGap": func(c *Config) { c.HostGap = -1 },
		"PrivateHostGap": func(c *Config) { c.PrivateHostGap = -1 }, "ReportTimeout": func(c *Config) { c.ReportTimeout = -1 },
		"CacheMemory": func(c *Config) { c.CacheMemory = -1 },
	}
	for field, spoil := range bad {
		c := good
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("bad %s: %v", field, err)
		}
	}
}
