package content_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// identities are the ways of feeds to identify items.
var identities = map[string]func(*documents.Item){
	"IDs":              func(*documents.Item) {},
	"links":            func(it *documents.Item) { it.GUID = "" },
	"titles":           func(it *documents.Item) { it.GUID, it.Link = "", "" },
	"texts":            func(it *documents.Item) { it.GUID, it.Link, it.Title = "", "", "" },
	"one ID for all":   func(it *documents.Item) { it.GUID = "id" },
	"one link for all": func(it *documents.Item) { it.GUID, it.Link = "", "https://example.com/all" },
}

// edits reports the formats where an item with another text is the same item.
var edits = scan.Set("IDs", "links", "one ID for all", "one link for all")

// What a publisher's window is after new items and edits, newest first, Merge
// makes of the window before and the new and edited items alone: to the byte.
func TestMergeIsTheWholeDocument(t *testing.T) {
	for name, identify := range identities {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkMerge(t, name, identify) })
		})
	}
}

func checkMerge(t *rapid.T, name string, identify func(*documents.Item)) {
	// Two at least: an ID that two items share looks like an edit as long as the
	// window holds but one.
	window := rapid.IntRange(2, 8).Draw(t, "window")
	published := rapid.IntRange(0, window).Draw(t, "new items")
	var fresh, rest []documents.Item
	for n := window + published; n > 0; n-- {
		it := documents.Story(n)
		identify(&it)
		switch {
		case n > window:
			fresh = append(fresh, it)
		case edits[name] && len(fresh) < window && rapid.Bool().Draw(t, "edited"):
			it.Text += " More is known now."
			fresh = append(fresh, it)
		default:
			rest = append(rest, it)
		}
	}
	var before []documents.Item
	for n := window; n > 0; n-- {
		it := documents.Story(n)
		identify(&it)
		before = append(before, it)
	}
	whole := extracted.Of(t, documents.RSS("", append(slices.Clone(fresh), rest...)[:window]...))
	got, err := content.Merge(extracted.Of(t, documents.RSS("", before...)), extracted.Of(t, documents.RSS("<ttl>5</ttl>", fresh...)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != whole.Hash || !bytes.Equal(got.Text, whole.Text) {
		t.Fatalf("merged:\n%s\nthe whole document:\n%s", got.Text, whole.Text)
	}
	if got.Hints.TTL != 5*time.Minute {
		t.Fatalf("hints %+v are not those of the answer", got.Hints)
	}
	extracted.Check(t, got)
}

func TestMerge(t *testing.T) {
	renamed := documents.Story(1)
	renamed.Title = "Story 1, corrected"
	shared := func(title string) documents.Item { return documents.Item{GUID: "id", Title: title} }
	long := documents.Story(9)
	long.GUID = string(bytes.Repeat([]byte("x"), 1000))
	tests := []struct {
		name          string
		base, partial []documents.Item
		want          string // titles
	}{
		{"nothing new", []documents.Item{documents.Story(2), documents.Story(1)}, nil, "Story 2, Story 1"},
		{"another title", []documents.Item{documents.Story(3), documents.Story(2), documents.Story(1)}, []documents.Item{renamed}, "Story 1, corrected, Story 3, Story 2"},
		{"a base without entries", nil, []documents.Item{documents.Story(2), documents.Story(1)}, "Story 2, Story 1"},
		{"more than the window", []documents.Item{documents.Story(1)}, []documents.Item{documents.Story(4), documents.Story(3), documents.Story(2)}, "Story 4, Story 3, Story 2"},
		{"one of many with its ID", []documents.Item{shared("a"), shared("b")}, []documents.Item{shared("c")}, "c, a"},
		{"all under one ID", []documents.Item{documents.Story(2), shared("a")}, []documents.Item{shared("c"), shared("b")}, "c, b"},
		{"a long ID", []documents.Item{long, documents.Story(1)}, []documents.Item{long}, "Story 9, Story 1"},
	}
	for _, test := range tests {
		got, err := content.Merge(extracted.Of(t, documents.RSS("", test.base...)), extracted.Of(t, documents.RSS("", test.partial...)))
		if err != nil {
			t.Fatal(err)
		}
		titles := ""
		for i, e := range got.Entries {
			if i > 0 {
				titles += ", "
			}
			titles += e.Title
		}
		if titles != test.want || got.Title != "News" {
			t.Errorf("%s: %s, want %s\n%s", test.name, titles, test.want, got.Text)
		}
	}
}

func TestMergeOnlyFeeds(t *testing.T) {
	feed, page := extracted.Of(t, documents.Stories(1)), extracted.Of(t, []byte("<html><p>x"))
	for _, pair := range [...][2]*content.Core{{feed, page}, {page, feed}, {nil, feed}} {
		if got, err := content.Merge(pair[0], pair[1]); got != nil || !errors.Is(err, content.ErrMerge) {
			t.Errorf("Merge(%v, %v) = %v, %v", pair[0], pair[1], got, err)
		}
	}
}

// On recorded histories whose window slides, the answers that a publisher with
// RFC 3229 would have given make the documents that it has published.
func TestMergeHistories(t *testing.T) {
	for name, least := range map[string]float64{"github-status-atom": 0.9, "rust-blog-atom": 0.9, "producthunt-daily": 0.9} {
		t.Run(name, func(t *testing.T) {
			var base *content.Core
			same, news := 0, 0
			documents.History(t, name, func(c documents.Capture) {
				next := extracted.Of(t, []byte(c.Body))
				if base != nil && next.Hash != base.Hash {
					news++
					got, err := content.Merge(base, partialOf(t, base, next))
					if err != nil {
						t.Fatal(err)
					}
					if got.Hash == next.Hash {
						same++
					}
				}
				base = next
			})
			t.Logf("%d of %d", same, news)
			if share := float64(same) / float64(news); share < least {
				t.Errorf("%d of %d documents are made again, %.2f; want %.2f", same, news, share, least)
			}
		})
	}
}

// partialOf returns the answer of next's entries that base has not or has otherwise.
func partialOf(t *testing.T, base, next *content.Core) *content.Core {
	t.Helper()
	sections := make(map[uint64]string)
	for i, id := range base.Identities() {
		sections[id] = base.Sections()[i]
	}
	came := make(map[int]int) // of an entry: its place in the content
	for i, id := range next.Identities() {
		if sections[id] != next.Sections()[i] {
			came[i] = next.Places()[i]
		}
	}
	inContent := slices.SortedFunc(maps.Keys(came), func(a, b int) int { return came[a] - came[b] })
	text := content.TextMagic + "feed\n"
	if next.Title != "" {
		text += content.TitleLabel + next.Title + "\n"
	}
	for _, i := range inContent {
		text += next.Sections()[i]
	}
	text += content.NotesMark
	for _, i := range slices.Sorted(maps.Keys(came)) {
		text += fmt.Sprintf("%d - -\n", slices.Index(inContent, i))
	}
	core, err := content.ParseCore([]byte(text))
	if err != nil {
		t.Fatal(fmt.Errorf("%w:\n%s", err, text))
	}
	return core
}

// Many entries of one ID are merged in time that grows with their number.
func TestMergeIsNotQuadratic(t *testing.T) {
	shared := func(what string) *content.Core {
		items := make([]documents.Item, content.MaxEntries)
		for n := range items {
			items[n] = documents.Item{GUID: "id", Text: fmt.Sprintf("%s, number %d", what, n)}
		}
		return extracted.Of(t, documents.RSS("", items...))
	}
	base, partial := shared("old"), shared("new")
	cost.CheckBounds(t, "one ID", func() {
		if got, err := content.Merge(base, partial); err != nil || got.Hash != partial.Hash {
			t.Errorf("%v, %v", got, err)
		}
	})
}
