package loadgen

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// item is what the test's own readers find of an entry.
type item struct{ id, title string }

func readItems(t *testing.T, format Format, document []byte) []item {
	t.Helper()
	switch format {
	case RSS:
		var rss struct {
			Items []struct {
				GUID  string `xml:"guid"`
				Title string `xml:"title"`
			} `xml:"channel>item"`
		}
		must(t, xml.Unmarshal(document, &rss), document)
		return collect(rss.Items, func(i struct {
			GUID  string `xml:"guid"`
			Title string `xml:"title"`
		}) item {
			return item{i.GUID, i.Title}
		})
	case Atom:
		var feed struct {
			Entries []struct {
				ID    string `xml:"id"`
				Title string `xml:"title"`
			} `xml:"entry"`
		}
		must(t, xml.Unmarshal(document, &feed), document)
		return collect(feed.Entries, func(e struct {
			ID    string `xml:"id"`
			Title string `xml:"title"`
		}) item {
			return item{e.ID, e.Title}
		})
	case JSONFeed:
		var feed struct{ Items []struct{ ID, Title string } }
		must(t, json.Unmarshal(document, &feed), document)
		return collect(feed.Items, func(i struct{ ID, Title string }) item { return item{i.ID, i.Title} })
	}
	heading := regexp.MustCompile(`<h2><a href="([^"]+)">([^<]+)</a></h2>`)
	return collect(heading.FindAllSubmatch(document, -1), func(m [][]byte) item { return item{string(m[1]), string(m[2])} })
}

func collect[T any](from []T, read func(T) item) []item {
	items := make([]item, 0, len(from))
	for _, each := range from {
		items = append(items, read(each))
	}
	return items
}

func must(t *testing.T, err error, document []byte) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v in\n%.2000s", err, document)
	}
}

// Every revision adds one entry on top of the window; an entry's title changes
// once at most, when the next revision edits it.
func TestRevisionsAddOneEntry(t *testing.T) {
	content := Content{Schedule: Schedule{Seed: 11}}
	seen := make(map[Format]bool)
	edited := 0
	for channel := range 100 {
		format := content.Format(channel)
		seen[format] = true
		before := readItems(t, format, content.AppendDocument(nil, channel, 1))
		if len(before) != content.shape(channel).window {
			t.Fatalf("channel %d (%s): %d entries, want %d", channel, format, len(before), content.shape(channel).window)
		}
		for revision := int64(2); revision < 20; revision++ {
			after := readItems(t, format, content.AppendDocument(nil, channel, revision))
			if slices.ContainsFunc(before, func(i item) bool { return i.id == after[0].id }) {
				t.Fatalf("channel %d revision %d: entry %s is not new", channel, revision, after[0].id)
			}
			kept, was := after[1:], before[:len(before)-1]
			if kept[0].title != was[0].title {
				edited++
				was[0].title = kept[0].title
			}
			if !slices.Equal(kept, was) {
				t.Fatalf("channel %d revision %d: the window is %v, was %v", channel, revision, kept, was)
			}
			before = after
		}
	}
	if len(seen) != int(formats) {
		t.Errorf("formats seen: %v", seen)
	}
	if share := float64(edited) / (100 * 18); share < 0.09 || share > 0.16 {
		t.Errorf("%.3f of the revisions edit a title, want about 1/8", share)
	}
}

func TestSizesAndShares(t *testing.T) {
	content := Content{Schedule: Schedule{Seed: 1}}
	const channels = 4000
	var feeds, pages []int
	count := make(map[Format]int)
	for channel := range channels {
		format := content.Format(channel)
		count[format]++
		if size := len(content.AppendDocument(nil, channel, 1)); format == HTML {
			pages = append(pages, size)
		} else {
			feeds = append(feeds, size)
		}
	}
	for format, want := range map[Format]float64{RSS: 0.65, Atom: 0.20, JSONFeed: 0.05, HTML: 0.10} {
		if got := float64(count[format]) / channels; got < want-0.02 || got > want+0.02 {
			t.Errorf("%s: share %.3f, want %.2f", format, got, want)
		}
	}
	slices.Sort(feeds)
	slices.Sort(pages)
	if median := feeds[len(feeds)/2]; median < 6<<10 || median > 10<<10 {
		t.Errorf("median feed: %d bytes, want about 8 KB", median)
	}
	if low, high := pages[len(pages)/20], pages[len(pages)*19/20]; low < 15<<10 || high > 80<<10 {
		t.Errorf("pages: %d to %d bytes, want 20 to 70 KB", low, high)
	}
}

// Runs are compared across versions of this program: what a seed stands for must
// not change unnoticed.
func TestContentIsAFunctionOfTheSeed(t *testing.T) {
	digest := func(seed uint64) string {
		content, hash := Content{Schedule: Schedule{seed}}, fnv.New64a()
		var document []byte
		for channel := range 50 {
			for revision := int64(1); revision <= 3; revision++ {
				document = content.AppendDocument(document[:0], channel, revision)
				_, _ = hash.Write(document) // never fails
				fmt.Fprint(hash, content.ChangedAt(channel, revision), content.Tag(channel, revision))
			}
		}
		return fmt.Sprintf("%016x", hash.Sum64())
	}
	const golden = "cbd31020c7082926"
	if got := digest(1); got != golden {
		t.Errorf("documents of seed 1 have digest %s, had %s: results before and after do not compare", got, golden)
	}
	if digest(1) == digest(2) {
		t.Error("two seeds, one content")
	}
}

func TestDocumentsNeedNoEscapes(t *testing.T) {
	for _, word := range vocabulary {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("word %q: want lower-case letters alone", word)
		}
	}
}
