package deltas

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// identities are the ways of feeds to identify items.
var identities = map[string]func(*item){
	"IDs":              func(*item) {},
	"links":            func(it *item) { it.guid = "" },
	"titles":           func(it *item) { it.guid, it.link = "", "" },
	"texts":            func(it *item) { it.guid, it.link, it.title = "", "", "" },
	"one ID for all":   func(it *item) { it.guid = "id" },
	"one link for all": func(it *item) { it.guid, it.link = "", "https://example.com/all" },
}

// edits reports the formats where an item with another text is the same item.
var edits = set("IDs", "links", "one ID for all", "one link for all")

// What a publisher's window is after new items and edits, newest first, Merge
// makes of the window before and the new and edited items alone: to the byte.
func TestMergeIsTheWholeDocument(t *testing.T) {
	for name, identify := range identities {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkMerge(t, name, identify) })
		})
	}
}

func checkMerge(t *rapid.T, name string, identify func(*item)) {
	// Two at least: an ID that two items share looks like an edit as long as the
	// window holds but one.
	window := rapid.IntRange(2, 8).Draw(t, "window")
	published := rapid.IntRange(0, window).Draw(t, "new items")
	var fresh, rest []item
	for n := window + published; n > 0; n-- {
		it := story(n)
		identify(&it)
		switch {
		case n > window:
			fresh = append(fresh, it)
		case edits[name] && len(fresh) < window && rapid.Bool().Draw(t, "edited"):
			it.text += " More is known now."
			fresh = append(fresh, it)
		default:
			rest = append(rest, it)
		}
	}
	var before []item
	for n := window; n > 0; n-- {
		it := story(n)
		identify(&it)
		before = append(before, it)
	}
	whole := mustExtract(t, rssFeed("", append(slices.Clone(fresh), rest...)[:window]...))
	got, err := Merge(mustExtract(t, rssFeed("", before...)), mustExtract(t, rssFeed("<ttl>5</ttl>", fresh...)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != whole.Hash || !bytes.Equal(got.Text, whole.Text) {
		t.Fatalf("merged:\n%s\nthe whole document:\n%s", got.Text, whole.Text)
	}
	if got.Hints.TTL != 5*time.Minute {
		t.Fatalf("hints %+v are not those of the answer", got.Hints)
	}
	checkCore(t, got)
}

func TestMerge(t *testing.T) {
	renamed := story(1)
	renamed.title = "Story 1, corrected"
	shared := func(title string) item { return item{guid: "id", title: title} }
	long := story(9)
	long.guid = string(bytes.Repeat([]byte("x"), 1000))
	tests := []struct {
		name          string
		base, partial []item
		want          string // titles
	}{
		{"nothing new", []item{story(2), story(1)}, nil, "Story 2, Story 1"},
		{"another title", []item{story(3), story(2), story(1)}, []item{renamed}, "Story 1, corrected, Story 3, Story 2"},
		{"a base without entries", nil, []item{story(2), story(1)}, "Story 2, Story 1"},
		{"more than the window", []item{story(1)}, []item{story(4), story(3), story(2)}, "Story 4, Story 3, Story 2"},
		{"one of many with its ID", []item{shared("a"), shared("b")}, []item{shared("c")}, "c, a"},
		{"all under one ID", []item{story(2), shared("a")}, []item{shared("c"), shared("b")}, "c, b"},
		{"a long ID", []item{long, story(1)}, []item{long}, "Story 9, Story 1"},
	}
	for _, test := range tests {
		got, err := Merge(mustExtract(t, rssFeed("", test.base...)), mustExtract(t, rssFeed("", test.partial...)))
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
	feed, page := mustExtract(t, stories(1)), mustExtract(t, []byte("<html><p>x"))
	for _, pair := range [...][2]*Core{{feed, page}, {page, feed}, {nil, feed}} {
		if got, err := Merge(pair[0], pair[1]); got != nil || !errors.Is(err, ErrMerge) {
			t.Errorf("Merge(%v, %v) = %v, %v", pair[0], pair[1], got, err)
		}
	}
}

// On recorded histories whose window slides, the answers that a publisher with
// RFC 3229 would have given make the documents that it has published.
func TestMergeHistories(t *testing.T) {
	for name, least := range map[string]float64{"github-status-atom": 0.9, "rust-blog-atom": 0.9, "producthunt-daily": 0.9} {
		t.Run(name, func(t *testing.T) {
			var base *Core
			same, news := 0, 0
			readHistory(t, name, func(c capture) {
				next := mustExtract(t, []byte(c.Body))
				if base != nil && next.Hash != base.Hash {
					news++
					got, err := Merge(base, partialOf(t, base, next))
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
func partialOf(t *testing.T, base, next *Core) *Core {
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
	text := textMagic + "feed\n"
	if next.Title != "" {
		text += titleLabel + next.Title + "\n"
	}
	for _, i := range inContent {
		text += next.Sections()[i]
	}
	text += notesMark
	for _, i := range slices.Sorted(maps.Keys(came)) {
		text += fmt.Sprintf("%d - -\n", slices.Index(inContent, i))
	}
	core, err := ParseCore([]byte(text))
	if err != nil {
		t.Fatal(fmt.Errorf("%w:\n%s", err, text))
	}
	return core
}
