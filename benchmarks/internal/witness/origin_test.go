package witness

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func newTestOrigin(t *testing.T, anchored, passing int) (*Origin, *Recorder) {
	t.Helper()
	r := NewRecorder()
	o, err := NewOrigin(listen(t), r, anchored, passing, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o, r
}

// A feed must wait before an entry leaves its window that was not delivered, or
// the rule that each arrives could not be held by any node.
func TestFeedWaitsForDelivery(t *testing.T) {
	o, _ := newTestOrigin(t, 1, 1)
	for now := Instant(0); now < time.Hour; now += time.Second {
		o.advance(now)
	}
	limited, passing := o.mu.feeds[0], o.mu.feeds[1]
	if limited.count != aheadMost {
		t.Errorf("%d entries ahead of what was fetched, want it to stop at %d", limited.count, aheadMost)
	}
	if passing.count <= window {
		t.Errorf("the passing channel has only %d entries", passing.count)
	}
	o.arrived(&api.Update{Channel: limited.record.ID, Entries: deltas.Entries{Added: []deltas.Entry{{Link: entryLink(0, 40)}}}})
	for now := time.Hour; now < 2*time.Hour; now += time.Second {
		o.advance(now)
	}
	if limited.count != 40+aheadMost || len(limited.record.Added) != limited.count {
		t.Errorf("%d entries (%d recorded) after 40 arrived, want %d", limited.count, len(limited.record.Added), 40+aheadMost)
	}
	o.Rest(2 * time.Hour)
	o.observe(loadgen.Poll{Channel: 1, Revision: 7, Status: http.StatusOK})
	o.Rest(passing.sent)
	before := passing.count
	o.advance(3 * time.Hour)
	if passing.count != before {
		t.Error("a feed whose document was on its way changed before the check")
	}
	o.Freeze(true)
	o.Freeze(false)
	o.advance(4 * time.Hour)
	if passing.count == before {
		t.Error("after the check it still rests")
	}
	o.Freeze(true)
	before = passing.count
	o.advance(5 * time.Hour)
	if passing.count != before {
		t.Error("a frozen feed changed")
	}
}

// What the feeds show is what is in the history, by tags or by dates.
func TestOriginServes(t *testing.T) {
	o, r := newTestOrigin(t, 4, 0)
	var serving sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer serving.Wait()
	defer cancel()
	o.Freeze(true)
	serving.Go(func() {
		if err := o.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	get := func(n int, field, value string) *http.Response {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL(n), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(field, value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	o.add(o.mu.feeds[0])
	first := get(0, "Accept", "*/*")
	body, err := io.ReadAll(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	core, err := deltas.Extract(deltas.Document{Body: body, ContentType: first.Header.Get("Content-Type"), URL: o.URL(0)})
	if err != nil || len(core.Entries) != window {
		t.Fatalf("%d entries, want %d; %v", len(core.Entries), window, err)
	}
	for i, entry := range core.Entries {
		if number, ok := entryOf(0, entry); !ok || number != 2-i {
			t.Errorf("entry %d is %q", i, entry.Link)
		}
	}
	if got := get(0, "If-None-Match", first.Header.Get("ETag")).StatusCode; got != http.StatusNotModified {
		t.Errorf("the same tag: %d", got)
	}
	if got := get(3, "Accept", "*/*"); got.Header.Get("ETag") != "" {
		t.Errorf("a feed that is known by dates has ETag %q", got.Header.Get("ETag"))
	}
	r.With(func(h *History) {
		if all := h.Channels[0]; len(all.Added) != 2 || len(all.Answers) != 2 || !strings.Contains(all.Answers[1], "304 at entry 2 to 127.0.0.1") {
			t.Errorf("%+v", all)
		}
	})
}

func TestEqualUpdatesAreOne(t *testing.T) {
	r := NewRecorder()
	first, err := r.update([]byte(`{"version":2,"url":"u"}`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.update([]byte(`{"url":"u", "version":2, "subscription":"s"}`))
	if err != nil || again != first {
		t.Errorf("the same content twice: %p and %p, %v", first, again, err)
	}
	if other, err := r.update([]byte(`{"version":2,"url":"v"}`)); err != nil || other == first {
		t.Errorf("other content is the same update (%v)", err)
	}
}
