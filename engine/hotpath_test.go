package engine

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// staticFetcher answers 304 at once.
type staticFetcher struct{ resp fetcher.Response }

func (f *staticFetcher) Fetch(context.Context, fetcher.Request) (*fetcher.Response, error) {
	return &f.resp, nil
}

// newStatic returns an engine whose one channel is a 304 each time, and its poll.
func newStatic(t testing.TB) (*Engine, *target) {
	t.Helper()
	e, err := Open(Config{Dir: "cache", fs: vfs.NewMem()}, &staticFetcher{fetcher.Response{Status: 304, WireBytes: 200}}, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.mu.pool.start(context.Background())
	e.Order(*testOrder(1, 1))
	target := e.mu.schedule.targets[channel.IDOf(testURL(1))]
	target.loaded, target.polled = true, true
	target.holding = holding{validators: newValidators("etag", "then", ""), ok: true}
	return e, target
}

// pollOnce is all that the engine does for one poll.
func pollOnce(e *Engine, target *target, inbox chan poll) result {
	e.mu.Lock()
	e.mu.schedule.promote(target.due)
	p, _ := e.mu.schedule.begin(target.due)
	e.mu.Unlock()
	r := e.poll(context.Background(), &p)
	e.finish(&p, &r, inbox)
	e.mu.pool.idle = e.mu.pool.idle[:0]
	return r
}

// Nearly every poll is a 304: it costs no memory, no write and no read.
func TestNotModifiedAllocatesNothing(t *testing.T) {
	e, target := newStatic(t)
	before := e.cache.db.Metrics().WAL.BytesIn
	inbox := make(chan poll, 1)
	if allocs := testing.AllocsPerRun(1000, func() {
		if r := pollOnce(e, target, inbox); r.outcome != notModified {
			t.Fatalf("outcome %v", r.outcome)
		}
	}); allocs > 0 {
		t.Errorf("a 304 allocates %v times", allocs)
	}
	if after := e.cache.db.Metrics().WAL.BytesIn; after != before {
		t.Errorf("1000 304s wrote %d bytes", after-before)
	}
}
