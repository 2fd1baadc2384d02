package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
)

// sinks stands in for the network: it answers webhooks by URL and keeps what came.
type sinks struct {
	mu      sync.Mutex
	answers map[string]answer
	came    map[string][]arrival // by subscription
	busy    map[string]int       // requests under way
	busiest map[string]int
	failing map[string]time.Time // since when nothing was acknowledged that ends a streak, after a failure
	waits   map[string]time.Time // end of a Retry-After
	lost    map[string]bool      // said 410, or failed through the whole schedule
}

// answer is how an endpoint behaves: after a delay it answers with a status, or not
// at all.
type answer struct {
	delay  time.Duration
	status int    // 0: 200
	after  string // Retry-After, if any
	err    error  // instead of a status
	cut    bool   // 200, and the connection ends before the answer does
}

// arrival is a message that an endpoint took (2xx, or a 200 that was cut).
type arrival struct {
	url, id string
	at      time.Time
	acked   bool
	message received
}

type received struct {
	Type string `json:"type"`
	Data struct {
		Subscription string `json:"subscription"`
		Version      uint64 `json:"version"`
		From         uint64 `json:"from"`
		To           uint64 `json:"to"`
		Reason       string `json:"reason"`
	} `json:"data"`
}

func newSinks() *sinks {
	return &sinks{
		answers: make(map[string]answer), came: make(map[string][]arrival), busy: make(map[string]int), busiest: make(map[string]int),
		failing: make(map[string]time.Time), waits: make(map[string]time.Time), lost: make(map[string]bool),
	}
}

func (s *sinks) set(url string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[url] = a
}

func (s *sinks) RoundTrip(request *http.Request) (*http.Response, error) {
	url := request.URL.String()
	s.mu.Lock()
	a := s.answers[url]
	s.busy[url]++
	s.busiest[url] = max(s.busiest[url], s.busy[url])
	s.mu.Unlock()
	response, err := s.respond(request, url, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[url]--
	s.judge(url, response, a)
	return response, err
}

// judge keeps count of how long an endpoint has been failing. What it takes in the wait
// that it asked for was sent before, and ends no streak.
func (s *sinks) judge(url string, response *http.Response, a answer) {
	if response != nil && response.StatusCode < 300 && !a.cut {
		if !time.Now().Before(s.waits[url]) {
			delete(s.failing, url)
		}
		return
	}
	if wait, err := time.ParseDuration(a.after + "s"); err == nil && response != nil {
		s.waits[url] = time.Now().Add(wait)
	}
	since, known := s.failing[url]
	if !known {
		s.failing[url] = time.Now()
	} else if time.Since(since) > 75*time.Hour {
		s.lost[url] = true
	}
	s.lost[url] = s.lost[url] || a.status == http.StatusGone
}

func (s *sinks) respond(request *http.Request, url string, a answer) (*http.Response, error) {
	if a.delay > 0 {
		timer := time.NewTimer(a.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return s.answer(request, url, a)
}

func (s *sinks) answer(request *http.Request, url string, a answer) (*http.Response, error) {
	if request.Context().Err() != nil {
		return nil, request.Context().Err()
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	if a.err != nil {
		return nil, a.err
	}
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	if status < 300 {
		got := arrival{url: url, id: request.Header.Get("webhook-id"), at: time.Now(), acked: !a.cut}
		if err := json.Unmarshal(body, &got.message); err != nil {
			return nil, err
		}
		s.mu.Lock()
		to := got.message.Data.Subscription
		s.came[to] = append(s.came[to], got)
		s.mu.Unlock()
	}
	var content io.Reader = strings.NewReader("thanks")
	if a.cut {
		content = brokenReader{}
	}
	header := http.Header{}
	if a.after != "" {
		header.Set("Retry-After", a.after)
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(content), Header: header, Request: request}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// arrivals returns what came to a subscription, in order.
func (s *sinks) arrivals(sub channel.Subscription) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.came[sub.ID])
}

func (s *sinks) count() (sum int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, came := range s.came {
		sum += len(came)
	}
	return sum
}

// versions returns the versions of updates that came to a subscription, in order.
func (s *sinks) versions(sub channel.Subscription) []uint64 {
	var out []uint64
	for _, a := range s.arrivals(sub) {
		if a.message.Type == api.MessageUpdated {
			out = append(out, a.message.Data.Version)
		}
	}
	return out
}

// node is a deliverer under test, which can be stopped, crashed and started again on
// the same store.
type node struct {
	t     rapid.TB
	store *memstore.Store
	sinks *sinks
	tune  func(*Deliverer)

	deliverer *Deliverer
	registry  *prometheus.Registry
	cancel    context.CancelFunc
	done      chan struct{}
}

func newNode(t rapid.TB) *node {
	return &node{t: t, store: memstore.New(), sinks: newSinks(), tune: func(*Deliverer) {}}
}

func (n *node) start() {
	n.t.Helper()
	n.registry = prometheus.NewRegistry()
	d := New(Config{}.WithDefaults(), n.store, slog.New(slog.DiscardHandler), metric.New(n.registry))
	d.dispatcher.caller.transport = n.sinks
	n.tune(d)
	ctx, cancel := context.WithCancel(context.Background())
	n.deliverer, n.cancel, n.done = d, cancel, make(chan struct{})
	n.store.Connect(d)
	d.RangeGained(memstore.Everything, 1)
	go func() {
		defer close(n.done)
		d.Run(ctx)
	}()
}

// value returns a metric, summed over its labels.
func (n *node) value(name string) (sum float64) {
	families, err := n.registry.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != metric.Prefix+name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// stop ends the node in order.
func (n *node) stop() {
	n.cancel()
	<-n.done
	n.deliverer = nil
	n.store.Connect(nil)
}

// crash ends the node without a chance to save anything more.
func (n *node) crash() {
	n.store.Fail(memstore.ErrDown, false)
	n.stop()
	n.store.Fail(nil, false)
}

// virtual runs a test in virtual time with a running node.
func virtual(t *testing.T, test func(t *testing.T, n *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.start()
		defer func() {
			if n.deliverer != nil {
				n.stop()
			}
		}()
		test(t, n)
	})
}

// elapse lets virtual time pass.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var errNetwork = errors.New("connection refused")
