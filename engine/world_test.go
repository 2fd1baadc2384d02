package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// world is an engine with origins and owner of the test's making, in virtual
// time: it runs inside a synctest bubble. It notes what happens.
type world struct {
	t        *testing.T
	config   Config
	engine   *Engine
	registry *prometheus.Registry // of engine
	ran      chan error
	start    time.Time

	mu      sync.Mutex
	origins map[string]*origin // by URL
	owned   map[channel.ID]*owned
	owner   func(Report) (Answer, error) // instead of judge, when set
	reserve func(ctx context.Context, url string, bytes int64, whole bool) (fetcher.Room, error)
	events  []event
	asked   map[string][]time.Time // when each URL was asked
	served  map[string]int         // requests under way, by host
	crowd   map[string]int         // the most that there were
	sizes   map[channel.ID][]int64 // as the owner was told
	lapsed  bool                   // the lease on all channels
}

type event struct {
	at   time.Duration
	name string
	text string
}

// origin answers for one URL.
type origin struct {
	status      int
	body        string
	etag        string
	modified    string
	retryAfter  string
	to          string // the name of the channel that it redirects to
	via         int    // with this status; 0: 302
	class       fetcher.Class
	fails       bool
	unasked     bool // 304 whatever was asked
	after       time.Duration
	contentType string
	feed        string        // titles, with commas: the body is an RSS feed of them
	hints       string        // elements of its channel
	delta       string        // titles of new entries: sent to clients that accept those alone
	maxAge      time.Duration // Cache-Control
	expires     time.Duration // Expires, that much after Date
	age         time.Duration // that a cache on the way says
}

// document returns what the origin shows.
func (o *origin) document() []byte {
	if o.feed == "" {
		return []byte(o.body)
	}
	body := `<?xml version="1.0"?><rss version="2.0"><channel><title>feed</title>` + o.hints
	for title := range strings.SplitSeq(o.feed, ",") {
		body += "<item><guid>" + title + "</guid><title>" + title + "</title></item>"
	}
	return []byte(body + "</channel></rss>")
}

func (o *origin) freshness() fetcher.Freshness {
	switch {
	case o.maxAge > 0:
		return fetcher.Freshness{Lifetime: o.maxAge, Remaining: max(0, o.maxAge-o.age), Source: fetcher.SourceMaxAge}
	case o.expires > 0:
		return fetcher.Freshness{Lifetime: o.expires, Remaining: max(0, o.expires-o.age), Source: fetcher.SourceExpires}
	}
	return fetcher.Freshness{}
}

func newWorld(t *testing.T, config Config) *world {
	t.Helper()
	if config.fs == nil {
		config.fs = vfs.NewCrashableMem()
	}
	config.Dir = "cache"
	w := &world{
		t: t, config: config, start: time.Now(),
		origins: map[string]*origin{}, owned: map[channel.ID]*owned{},
		asked: map[string][]time.Time{}, served: map[string]int{}, crowd: map[string]int{}, sizes: map[channel.ID][]int64{},
	}
	w.open()
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	w.registry = prometheus.NewRegistry()
	if w.engine, err = Open(w.config, w, w, w.registry); err != nil {
		w.t.Fatal(err)
	}
	engine := w.engine
	w.ran = make(chan error, 1)
	ran := w.ran
	go func() { ran <- engine.Run(context.Background()) }()
	synctest.Wait()
}

func (w *world) close() {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Errorf("Close: %v", err)
	}
	if err := <-w.ran; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

// restart ends the engine in good order and starts it again.
func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
}

// crash loses every write that was not synced, and starts again on what is left.
func (w *world) crash() { w.stop(vfs.CrashCloneCfg{}) }

// kill ends the engine as SIGKILL does, in the middle of what it does: what was
// written stays.
func (w *world) kill() {
	w.stop(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
}

func (w *world) stop(left vfs.CrashCloneCfg) {
	w.t.Helper()
	fs := w.config.fs.(*vfs.MemFS).CrashClone(left)
	w.close()
	w.config.fs = fs
	w.open()
}

// pass lets virtual time pass, and what is due in it happen.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) note(name, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, event{time.Since(w.start), name, fmt.Sprintf(format, args...)})
}

// drain returns what has happened since the last call, in order; what happened at
// the same instant, by name.
func (w *world) drain() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	w.events = nil
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.name, b.name))
	})
	return events
}

// Fetch implements [Fetcher].
func (w *world) Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error) {
	if !req.Permit.Stands(req.Permit.Channel) {
		return nil, &fetcher.Error{Class: fetcher.Canceled, URL: req.URL, Err: errLease}
	}
	started := time.Now()
	w.arrive(req, started)
	defer w.leave(req.URL)
	w.mu.Lock()
	o := origin{status: 404}
	if known := w.origins[req.URL]; known != nil {
		o = *known
	}
	w.mu.Unlock()
	if o.after > 0 {
		select {
		case <-time.After(o.after):
		case <-ctx.Done():
			return nil, &fetcher.Error{Class: fetcher.Canceled, URL: req.URL, Err: ctx.Err()}
		}
	}
	if o.fails {
		return nil, &fetcher.Error{Class: o.class, URL: req.URL, Err: errors.New("as the test wants it")}
	}
	return o.response(req, started), nil
}

// Reserve implements [Fetcher].
func (w *world) Reserve(ctx context.Context, url string, bytes int64, whole bool) (fetcher.Room, error) {
	if w.reserve == nil {
		return fetcher.Room{}, nil
	}
	return w.reserve(ctx, url, bytes, whole)
}

func (o *origin) response(req fetcher.Request, started time.Time) *fetcher.Response {
	resp := &fetcher.Response{
		Status: o.status, ContentType: cmp.Or(o.contentType, "text/plain"), ETag: o.etag, LastModified: o.modified,
		RetryAfter: wait(o.retryAfter), Started: started, Finished: time.Now(), WireBytes: 100,
	}
	if o.to != "" {
		resp.Status, resp.Location = cmp.Or(o.via, 302), urlOf(o.to)
		return resp
	}
	matches := o.etag != "" && req.ETag == o.etag || o.etag == "" && o.modified != "" && req.LastModified == o.modified
	resp.Fresh = o.freshness()
	if o.unasked || o.status == 200 && matches {
		resp.Status = 304
		return resp
	}
	if o.delta != "" && req.Delta {
		resp.Status, resp.Delta = 226, true
		resp.Body = (&origin{feed: o.delta, hints: o.hints}).document()
		return resp
	}
	if o.status == 200 {
		resp.Body = o.document()
		resp.WireBytes += int64(len(resp.Body))
	}
	return resp
}

func (w *world) arrive(req fetcher.Request, now time.Time) {
	conditions := ""
	if req.ValidatorURL == "" || req.ValidatorURL == req.URL {
		conditions = conditionsOf(req)
	}
	w.note(nameOf(req.URL), "ask%s", conditions)
	w.mu.Lock()
	defer w.mu.Unlock()
	host := channel.Host(req.URL)
	w.asked[req.URL] = append(w.asked[req.URL], now)
	w.served[host]++
	w.crowd[host] = max(w.crowd[host], w.served[host])
}

func conditionsOf(req fetcher.Request) (conditions string) {
	if req.ETag != "" {
		conditions += " if-none-match=" + req.ETag
	}
	if req.LastModified != "" {
		conditions += " if-modified-since=" + req.LastModified
	}
	if req.Delta {
		conditions += " a-im=feed"
	}
	if req.Subscribers > 0 {
		conditions += fmt.Sprintf(" subscribers=%d", req.Subscribers)
	}
	return conditions
}

func (w *world) leave(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served[channel.Host(url)]--
}

// nameOf returns the last part of a URL's path: what tests call a channel.
func nameOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

func (w *world) nameOfID(id channel.ID) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for url := range w.origins {
		if channel.IDOf(url) == id {
			return nameOf(url)
		}
	}
	return id.String()
}

// coreOf extracts what a plain text says.
func coreOf(t *testing.T, body string) *deltas.Core {
	t.Helper()
	core, err := deltas.Extract(deltas.Document{Body: []byte(body), ContentType: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// wait is a Retry-After of seconds, as the fetcher reads it; what is no number is
// not given.
func wait(seconds string) fetcher.RetryAfter {
	n, err := strconv.ParseUint(seconds, 10, 64)
	if err != nil {
		return fetcher.RetryAfter{}
	}
	return fetcher.RetryAfter{After: time.Duration(min(n, 9e9)) * time.Second, Given: true}
}

// lastHash is the highest of all.
var lastHash = deltas.Hash(bytes.Repeat([]byte{0xff}, len(deltas.Hash{})))

const halfHour = 30 * time.Minute

// testURL spreads channels over ten hosts.
func testURL(i int) string { return fmt.Sprintf("http://host%d.example/%d", i%10, i) }

// testOrder is an order for channel i, with so much content.
func testOrder(i int, version uint64) *Order {
	url := testURL(i)
	return &Order{Channel: channel.IDOf(url), URL: url, Rate: overlay.Rate{Polls: 1, Intervals: 1}, Width: 1, Version: version, Incarnation: 1}
}
