package deltas

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

// replayed is what became of a history.
type replayed struct {
	captures, germane, failed, added, patchErrors int
	documentBytes, deltaBytes                     int
}

// replay runs a history; perCapture, if set, sees each capture.
func replay(t *testing.T, name string, perCapture func(body []byte, step Step)) replayed {
	var got replayed
	var r Replay
	documents.History(t, name, func(c documents.Capture) {
		body := []byte(c.Body)
		step := r.Capture(Document{Body: body}, time.Unix(c.T, 0))
		got.captures++
		if step.Err != nil {
			got.failed++
		}
		if step.Patch != nil {
			got.patchErrors++
			t.Errorf("%s, capture at %d: %v", name, c.T, step.Patch)
		}
		if u := step.Update; u != nil {
			got.germane++
			got.added += len(u.Entries.Added)
			got.documentBytes += len(body)
			got.deltaBytes += u.DeltaBytes
		}
		if perCapture != nil {
			perCapture(body, step)
		}
	})
	return got
}

// TestReplay holds what is measured on recorded histories: how much of them is
// news, and what deltas cost. The bounds are near what a person counts. Of feeds,
// every entry is reported once, in the capture that first shows it.
func TestReplay(t *testing.T) {
	tests := []struct {
		name        string
		least, most int     // germane captures
		percent     float64 // most delta bytes of document bytes
		failed      int     // captures that cannot be read
		feed        bool    // whose entries another parser counts
	}{
		{"bbc-home-uk", 360, 375, 1.3, 0, true}, // of which 368 have other text: 287 new entries, 74 edits, 7 both edits and removals
		{"bbc-world-asia", 80, 82, 1.5, 0, true},
		{"covid-pa-clean", 38, 46, 0.6, 0, false},
		{"covid-pa-extract", 30, 38, 0.5, 0, false},
		{"covid-pa-raw", 40, 46, 0.3, 0, false},
		{"github-status-atom", 250, 256, 1, 0, true},
		{"github-tos-html", 2, 3, 0.5, 0, false},
		{"hn-front-json", 515, 530, 8, 1, false}, // 73 captures less than bytes of other counters would make
		{"nyt-battleground-html", 117, 122, 0.3, 0, false},
		{"producthunt-daily", 599, 599, 2, 0, true},
		{"rust-blog-atom", 165, 185, 1.5, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var check func([]byte, Step)
			if test.feed {
				check = reportsOnce(t)
			}
			got := replay(t, test.name, check)
			percent := 100 * float64(got.deltaBytes) / float64(got.documentBytes)
			t.Logf("%d captures, %d germane, %d added, delta %.2f %%", got.captures, got.germane, got.added, percent)
			if got.germane < test.least || got.germane > test.most || percent > test.percent || got.failed != test.failed {
				t.Errorf("%d germane of %d (want %d to %d), delta %.2f %% (want at most %.1f), %d failed",
					got.germane, got.captures, test.least, test.most, percent, test.percent, got.failed)
			}
		})
	}
}

// The archive of one page kept its own extract of what mattered. Where the raw
// page's updates and the extract's changes, http and https in links being the
// same, are compared, nine of ten on either side meet. The first captures are
// for learning.
func TestReplayAgainstExtract(t *testing.T) {
	mattered := make(map[int64]bool)
	last := ""
	documents.History(t, "covid-pa-extract", func(c documents.Capture) {
		body := strings.ReplaceAll(c.Body, "https://", "http://")
		mattered[c.T] = last != "" && body != last
		last = body
	})
	const learning = 28
	var r Replay
	captures, updates, both, wanted := 0, 0, 0, 0
	documents.History(t, "covid-pa-raw", func(c documents.Capture) {
		step := r.Capture(Document{Body: []byte(c.Body)}, time.Unix(c.T, 0))
		if captures++; captures <= learning {
			return
		}
		if mattered[c.T] {
			wanted++
		}
		if step.Update != nil {
			updates++
			if mattered[c.T] {
				both++
			}
		}
	})
	precision, recall := float64(both)/float64(updates), float64(both)/float64(wanted)
	t.Logf("%d updates, %d mattered, both %d: precision %.3f, recall %.3f", updates, wanted, both, precision, recall)
	if precision < 0.9 || recall < 0.9 {
		t.Errorf("precision %.3f, recall %.3f; want 0.9 of both", precision, recall)
	}
}

// reportsOnce returns a check of each capture of a feed: as many entries are
// reported as there are that no capture has shown.
func reportsOnce(t *testing.T) func(body []byte, step Step) {
	seen := make(map[string]bool)
	n := 0
	return func(body []byte, step Step) {
		fresh, added := 0, 0
		for _, id := range feedIDs(t, body) {
			if !seen[id] {
				seen[id] = true
				fresh++
			}
		}
		if step.Update != nil {
			added = len(step.Update.Entries.Added)
		}
		if n > 0 && added != fresh {
			t.Errorf("capture %d: %d reported, %d never seen before", n, added, fresh)
		}
		n++
	}
}

// feedIDs returns the guid, id or link of each item of an RSS 2.0 or Atom feed.
func feedIDs(t *testing.T, body []byte) []string {
	t.Helper()
	type element struct {
		GUID string `xml:"guid"`
		ID   string `xml:"id"`
		Link string `xml:"link"`
	}
	var feed struct {
		Items   []element `xml:"channel>item"`
		Entries []element `xml:"entry"`
	}
	if err := xml.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), &feed); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range append(feed.Items, feed.Entries...) {
		ids = append(ids, cmp.Or(e.GUID, e.ID, e.Link))
	}
	return ids
}

// Row 9's kin: a capture that cannot be read, or holds nothing, changes nothing.
func TestReplayUnreadableCapture(t *testing.T) {
	var r Replay
	for n, test := range []struct {
		body       string
		err, added int
	}{
		{string(documents.Stories(2, 1)), 0, 0},
		{"", 1, 0},
		{string(documents.Stories(2, 1))[:200], 1, 0},
		{string(documents.Stories(2, 1)), 0, 0},
		{string(documents.Stories(3, 2, 1)), 0, 1},
	} {
		step := r.Capture(Document{Body: []byte(test.body)}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n)*time.Hour))
		added := 0
		if step.Update != nil {
			added = len(step.Update.Entries.Added)
		}
		if (step.Err != nil) != (test.err == 1) || added != test.added {
			t.Errorf("capture %d: %+v", n, step)
		}
	}
}

// FuzzCompare: a delta and an update of any two documents work.
func FuzzCompare(f *testing.F) {
	f.Add(documents.Stories(2, 1), documents.Stories(3, 2))
	f.Add([]byte("<html><p>a<p>b"), []byte("<html><p>b<p>c"))
	f.Add([]byte(`[{"id":1,"a":1}]`), []byte(`[{"id":1,"a":2},{"id":2}]`))
	f.Add([]byte("a\nb\nc"), []byte("c\nb\na"))
	for i, list := range documents.Lists {
		f.Add([]byte(list), []byte(documents.Lists[(i+1)%len(documents.Lists)]))
	}
	f.Add([]byte(`[{"level":"high","region":"N"},{"level":"low","region":"S"}]`), []byte(`[{"level":"mid","region":"N"},{"level":"low","region":"S"}]`))
	f.Fuzz(func(t *testing.T, old, is []byte) {
		base, err := Extract(Document{Body: old})
		if err != nil {
			return
		}
		next, err := Extract(Document{Body: is})
		if err != nil {
			return
		}
		u := Compare(base, next)
		if err := verify(base, next, u); err != nil {
			t.Fatal(err)
		}
		if (u.Diff == "") != (base.Hash == next.Hash) {
			t.Fatalf("diff %q of %v and %v", u.Diff, base.Hash, next.Hash)
		}
	})
}
