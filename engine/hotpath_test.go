package engine

import (
	"bytes"
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// staticFetcher gives the same answer at once.
type staticFetcher struct{ resp *fetcher.Response }

func (f *staticFetcher) Reserve(context.Context, string, int64, bool) (fetcher.Room, error) {
	return fetcher.Room{}, nil
}

func (f *staticFetcher) Fetch(context.Context, fetcher.Request) (*fetcher.Response, error) {
	return f.resp, nil
}

// deafOwner ignores what it is told. It is not asked.
type deafOwner struct{ Owner }

func (deafOwner) Bound(channel.ID, uint64, time.Duration) {}
func (deafOwner) Sized(channel.ID, uint64, int64)         {}
func (deafOwner) Leased(channel.ID) bool                  { return true }

// newStatic returns an engine whose one channel answers the same each time, and that
// channel, of which a body is held already.
func newStatic(t testing.TB, answer *fetcher.Response) (*Engine, *target) {
	t.Helper()
	e, err := Open(Config{Dir: "cache", fs: vfs.NewMem()}, &staticFetcher{answer}, deafOwner{}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.mu.pool.start(context.Background())
	e.Order(*testOrder(1, 1))
	target := e.mu.channels.index.get(channel.IDOf(testURL(1)))
	target.Channel.loaded, target.Channel.polled = true, true
	target.Channel.holding = store.Holding{Texts: store.NewTexts("etag", "then", "", ""), OK: true, RawHash: deltas.RawHash(answer.Body)}
	return e, target
}

// pollOnce is all that the engine does for one poll.
func pollOnce(e *Engine, target *target, inbox chan poll) result {
	e.mu.Lock()
	due, _ := target.Due()
	e.mu.channels.schedule.Promote(true, due)
	p, _ := e.mu.channels.begin(due)
	e.mu.Unlock()
	r := e.asker.poll(context.Background(), &p)
	e.finish(&p, &r, inbox)
	e.mu.pool.idle = e.mu.pool.idle[:0]
	return r
}

// Nearly every poll is a 304, or brings the same body again where publishers know no
// validators: it costs no memory, no write and no read.
func TestUnchangedAllocatesNothing(t *testing.T) {
	for _, test := range []struct {
		answer *fetcher.Response
		want   outcome
	}{
		{notModifiedAnswer(), notModified},
		{sameBody(), unchanged},
	} {
		e, target := newStatic(t, test.answer)
		before := e.cache.DB().Metrics().WAL.BytesIn
		inbox := make(chan poll, 1)
		if allocs := testing.AllocsPerRun(1000, func() {
			if r := pollOnce(e, target, inbox); r.outcome != test.want {
				t.Fatalf("outcome %v", r.outcome)
			}
		}); allocs > 0 {
			t.Errorf("%d: a poll allocates %v times", test.answer.Status, allocs)
		}
		if after := e.cache.DB().Metrics().WAL.BytesIn; after != before {
			t.Errorf("%d: 1000 polls wrote %d bytes", test.answer.Status, after-before)
		}
	}
}

func notModifiedAnswer() *fetcher.Response { return &fetcher.Response{Status: 304, WireBytes: 200} }

func sameBody() *fetcher.Response {
	body := bytes.Repeat([]byte("a line of some length\n"), 4000)
	return &fetcher.Response{Status: 200, WireBytes: int64(len(body)), Body: body, ETag: "etag", LastModified: "then"}
}

// How many bytes a second of bodies that are the current version's does the engine
// pass over, a whole poll but for the network? B/s counts.
//
//	go test ./engine -run - -bench SameBody
func BenchmarkSameBody(b *testing.B) {
	answer := sameBody()
	e, target := newStatic(b, answer)
	inbox := make(chan poll, 1)
	b.SetBytes(int64(len(answer.Body)))
	b.ReportAllocs()
	for b.Loop() {
		pollOnce(e, target, inbox)
	}
}

// A channel is one allocation of 224 bytes, one of Go's size classes: the next is 240,
// which a million channels would take 16 MB for.
func TestTargetSize(t *testing.T) {
	if size := unsafe.Sizeof(target{}); size > 224 {
		t.Errorf("%d bytes", size)
	}
}
