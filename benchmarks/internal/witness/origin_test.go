package witness

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/deltas"
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
	return NewOrigin(listen(t), r, anchored, passing, 1), r
}

func ask(o *Origin, path string, headers ...string) *http.Response {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	o.ServeHTTP(w, request)
	return w.Result()
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
	o.arrived(&api.Update{Channel: limited.record.ID, Entries: deltas.Entries{Added: []deltas.Entry{{Title: entryTitle(0, 40)}}}})
	for now := time.Hour; now < 2*time.Hour; now += time.Second {
		o.advance(now)
	}
	if limited.count != 40+aheadMost || len(limited.record.Added) != limited.count {
		t.Errorf("%d entries (%d recorded) after 40 arrived, want %d", limited.count, len(limited.record.Added), 40+aheadMost)
	}
	o.Rest(2 * time.Hour)
	ask(o, "/c/1")
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

func TestDocumentShowsTheWindow(t *testing.T) {
	core, err := deltas.Extract(deltas.Document{Body: document(3, window+7), ContentType: "application/rss+xml", URL: "http://x/c/3"})
	if err != nil {
		t.Fatal(err)
	}
	if len(core.Entries) != window {
		t.Fatalf("%d entries, want %d", len(core.Entries), window)
	}
	for i, entry := range core.Entries {
		if number, ok := entryOf(3, entry.Title); !ok || number != window+7-i {
			t.Errorf("entry %d is %q", i, entry.Title)
		}
	}
}

func TestOriginConditions(t *testing.T) {
	o, r := newTestOrigin(t, 4, 0)
	etag := ask(o, "/c/0").Header.Get("ETag")
	if got := ask(o, "/c/0", "If-None-Match", etag).StatusCode; got != http.StatusNotModified {
		t.Errorf("the same tag: %d", got)
	}
	o.add(o.mu.feeds[0])
	if got := ask(o, "/c/0", "If-None-Match", etag).StatusCode; got != http.StatusOK {
		t.Errorf("the tag of an entry ago: %d", got)
	}
	dated := o.mu.feeds[3]
	if got := ask(o, "/c/3").Header.Get("Last-Modified"); got != "" {
		t.Errorf("within the second of its change a feed tells the date %s", got)
	}
	dated.changed = dated.changed.Add(-time.Minute)
	date := ask(o, "/c/3").Header.Get("Last-Modified")
	if got := ask(o, "/c/3", "If-Modified-Since", date); got.StatusCode != http.StatusNotModified || got.Header.Get("ETag") != "" {
		t.Errorf("the same date: %d, ETag %q", got.StatusCode, got.Header.Get("ETag"))
	}
	o.add(dated)
	if got := ask(o, "/c/3", "If-Modified-Since", date).StatusCode; got != http.StatusOK {
		t.Errorf("the date of an entry ago: %d", got)
	}
	for _, path := range []string{"/", "/c/4", "/c/-1", "/c/x"} {
		if got := ask(o, path).StatusCode; got != http.StatusNotFound {
			t.Errorf("%s: %d", path, got)
		}
	}
	r.With(func(h *History) {
		if n := len(h.Channels[0].Answers); n != 3 || !strings.Contains(h.Channels[0].Answers[1], "304") {
			t.Errorf("answers of channel 0: %q", h.Channels[0].Answers)
		}
	})
}

func TestStreamReading(t *testing.T) {
	o, r := newTestOrigin(t, 1, 0)
	reader := &streamReader{recorder: r, origin: o, record: &StreamRecord{}}
	text := ": heartbeat\n\nid: start\n\nevent: update\nid: 1\ndata: {\"version\":2,\ndata: \"url\":\"u\"}\n\n" +
		"event:gap\nid:2\ndata:{}\n\nevent: update\nid: 3\ndata: {\"version\":3}\n"
	if err := reader.read(bufio.NewScanner(strings.NewReader(text))); err == nil {
		t.Error("a stream that ended is no error")
	}
	var got []string
	for _, event := range reader.record.Events {
		got = append(got, event.Type+" "+event.ID)
	}
	// The last event lacks its empty line: it was cut.
	if want := []string{"update 1", "gap 2"}; !slices.Equal(got, want) {
		t.Fatalf("events %q, want %q", got, want)
	}
	if update := reader.record.Events[0].Update; update == nil || update.Version != 2 || update.URL != "u" {
		t.Errorf("update %+v", update)
	}
	if reader.last != "2" {
		t.Errorf("resumes from %q, want the last whole event", reader.last)
	}
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
