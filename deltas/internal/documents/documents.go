// Package documents makes documents for tests, and finds recorded ones.
package documents

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// Item is an entry of a feed that a test makes.
type Item struct {
	GUID, Link, Title, Text, Date string
}

// RSS returns an RSS 2.0 document. head stands among the channel's elements.
func RSS(head string, items ...Item) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>` + head)
	for _, it := range items {
		b.WriteString("<item>")
		for _, f := range [...]struct{ name, value string }{
			{"guid", it.GUID}, {"link", it.Link}, {"title", it.Title}, {"description", it.Text}, {"pubDate", it.Date},
		} {
			if f.value != "" {
				b.WriteString("<" + f.name + ">")
				if err := xml.EscapeText(&b, []byte(f.value)); err != nil {
					panic(err)
				}
				b.WriteString("</" + f.name + ">")
			}
		}
		b.WriteString("</item>")
	}
	b.WriteString("</channel></rss>")
	return []byte(b.String())
}

// Story returns item number n, published n hours into 2026.
func Story(n int) Item {
	return Item{
		GUID: fmt.Sprintf("id-%d", n), Link: fmt.Sprintf("https://example.com/%d", n), Title: fmt.Sprintf("Story %d", n),
		Text: fmt.Sprintf("What happened in story %d.", n),
		Date: time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC).Format(time.RFC1123Z),
	}
}

// Stories returns a feed of the stories numbered, in that order.
func Stories(numbers ...int) []byte {
	items := make([]Item, len(numbers))
	for i, n := range numbers {
		items[i] = Story(n)
	}
	return RSS("", items...)
}

// Any generates documents of every kind, most of them well-formed.
func Any() *rapid.Generator[[]byte] {
	return rapid.OneOf(AnyFeed(), anyHTML(), AnyJSON(), rapid.SliceOfN(rapid.Byte(), 1, 200))
}

// AnyFeed generates RSS documents, most of them odd.
func AnyFeed() *rapid.Generator[[]byte] {
	word := rapid.SampledFrom([]string{"", "a", "b", "title", "entry: x", "  deep", "<b>bold</b>", "line\nend", "\x1enotes 1\n", "é漢", "http://x/1", "https://x/1", "&amp;"})
	one := rapid.Custom(func(t *rapid.T) Item {
		return Item{word.Draw(t, "guid"), word.Draw(t, "link"), word.Draw(t, "title"), word.Draw(t, "text"),
			rapid.SampledFrom([]string{"", "Thu, 01 Jan 2026 00:00:00 GMT", "never", "Mon, 01 Jan 0000 00:00:00 GMT"}).Draw(t, "date")}
	})
	return rapid.Custom(func(t *rapid.T) []byte {
		return RSS("", rapid.SliceOfN(one, 0, 6).Draw(t, "items")...)
	})
}

func anyHTML() *rapid.Generator[[]byte] {
	piece := rapid.SampledFrom([]string{"<p>", "</p>", "<div hidden>", "</div>", "<li>", "<a href='/x?utm_source=y'>", "</a>", "<table><tr><td>", "</td></tr>",
		"<script>x</script>", "<pre>\n", "text ", "More. ", "&nbsp;", "<br>", "<title>T</title>", "⟨", "corona-core 1 feed"})
	return rapid.Custom(func(t *rapid.T) []byte {
		return []byte("<html>" + strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "pieces"), ""))
	})
}

// AnyJSON generates JSON documents with lists.
func AnyJSON() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		type object map[string]any
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](1.5), rapid.Map(rapid.String(), func(s string) any { return s }))
		objects := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) object {
			return object{"id": rapid.IntRange(0, 5).Draw(t, "id"), "title": value.Draw(t, "title"), rapid.String().Draw(t, "name"): value.Draw(t, "value")}
		}), 0, 5).Draw(t, "objects")
		body, err := json.Marshal(object{"items": objects, "more": value.Draw(t, "more"), "data": object{"list": AnyList().Draw(t, "list"), "other": AnyList().Draw(t, "other")}})
		if err != nil {
			t.Fatal(err)
		}
		return body
	})
}

// AnyList generates lists of objects or rows, most of them without IDs.
func AnyList() *rapid.Generator[[]any] {
	text := rapid.SampledFrom([]string{"", "a", "b", "c", "7 May", "https://x/1", "https://x/2", "content:[a=b]", "line\nend"})
	row := rapid.Map(rapid.SliceOfN(text, 2, 3), func(cells []string) any { return cells })
	one := rapid.Custom(func(t *rapid.T) any {
		item := map[string]any{"v": rapid.IntRange(0, 9).Draw(t, "v"), "in": map[string]string{"code": text.Draw(t, "code")}}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"name", "url", "day", "text", "published"}), 0, 4).Draw(t, "names") {
			item[name] = text.Draw(t, name)
		}
		return item
	})
	return rapid.OneOf(rapid.SliceOfN(one, 0, 5), rapid.SliceOfN(row, 0, 4))
}

// sharedData returns the folder of recorded data, which stands beside the module's.
func sharedData() string {
	dir := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return filepath.Join(dir, "..", "shared", "data")
}

// Capture is one line of a recorded history.
type Capture struct {
	T    int64  `json:"t"`
	Body string `json:"body"`
}

// History calls f with each capture of a history; without the histories it
// skips the test.
func History(t testing.TB, name string, f func(Capture)) {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded histories take minutes on a busy machine")
	}
	lines := bufio.NewScanner(openZstd(t, filepath.Join(sharedData(), "traces", name, "trace.jsonl.zst")))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c Capture
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		f(c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// Collection calls f with each document of the collection; without it, it skips
// the test.
func Collection(t testing.TB, f func(name string, body []byte)) {
	t.Helper()
	archive := tar.NewReader(openZstd(t, filepath.Join(sharedData(), "feeds", "feeds.tar.zst")))
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			f(header.Name, body)
		}
	}
}

func openZstd(t testing.TB, path string) io.Reader {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("recorded data is not here: %v", err)
	}
	t.Cleanup(func() { file.Close() })
	decoder, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(decoder.Close)
	return decoder
}

// LongFeed returns a feed of 40 stories of 20 sentences each, numbered down from newest.
func LongFeed(newest int) []byte {
	items := make([]Item, 40)
	for i := range items {
		items[i] = Story(newest - i)
		items[i].Text = strings.Repeat(fmt.Sprintf("A sentence of story %d. ", newest-i), 20)
	}
	return RSS("", items...)
}

// Atom returns an Atom document of 40 entries whose content is five paragraphs between
// open and end. attributes stand in the root's tag.
func Atom(open, paragraph, end, attributes string) string {
	var b strings.Builder
	b.WriteString(`<feed xmlns="http://www.w3.org/2005/Atom"` + attributes + `><title>News</title>`)
	for n := range 40 {
		fmt.Fprintf(&b, `<entry><id>tag:example.com,2026:%d</id><title>Story %d</title><link href="https://example.com/%d"/><updated>2026-01-02T03:04:05Z</updated>%s`, n, n, n, open)
		for i := range 5 {
			fmt.Fprintf(&b, paragraph, fmt.Sprintf("A sentence of story %d, paragraph %d, which says that it says nothing. And another one, for those who like them longer than that.", n, i))
		}
		b.WriteString(end + "</entry>")
	}
	return b.String() + "</feed>"
}

// Lists are lists without IDs.
var Lists = []string{
	`[{"name":"A","page":"https://example.com/a?utm_source=x"},{"name":"B","page":"https://example.com/b"}]`,
	`{"a":{"trains":[{"state":"late","line":"U1"},{"state":"late","line":"U2"}]},"b":[]}`,
	`[{"title":"Meeting","day":"1 May"},{"title":"Meeting","day":"2 May"},null,{"title":"Lunch","day":"1 May"},{"title":"Lunch","day":"2 May"}]`,
	`{"features":[{"geometry":{"coordinates":[1,2]},"properties":{"name":"A"}},{"geometry":null,"properties":{"name":"B"}}]}`,
	`[["county","cases"],["Adams",5],["Berks",7]]`,
	`{"cold":[{"name":"A"},{"name":"A"}],"warm":[{"name":"A"}]}`,
}

// AnyHistory generates a feed's life: each step adds, edits, withdraws, empties
// or reorders, over a window of at most eight entries, which may count something.
func AnyHistory(t *rapid.T) [][]byte {
	counts := rapid.Bool().Draw(t, "counts")
	next := 1
	var window []Item
	history := make([][]byte, 0, 20)
	for range rapid.IntRange(1, 20).Draw(t, "steps") {
		shown := window
		switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
		case step < 5 || len(window) == 0:
			for range rapid.IntRange(1, 3).Draw(t, "added") {
				window = append([]Item{Story(next)}, window...)
				next++
			}
			window = window[:min(len(window), 8)]
			shown = window
		case step == 5:
			window[rapid.IntRange(0, len(window)-1).Draw(t, "edited")].Text += " Edited."
		case step == 6:
			i := rapid.IntRange(0, len(window)-1).Draw(t, "withdrawn")
			window = slices.Delete(slices.Clone(window), i, i+1)
			shown = window
		case step == 7:
			shown = nil
		case step == 8:
			shown = slices.Clone(window)
			slices.Reverse(shown)
		}
		if counts {
			shown = slices.Clone(shown)
			for i := range shown {
				shown[i].Text += fmt.Sprint(" Pulls: ", len(history))
			}
		}
		history = append(history, RSS("", shown...))
	}
	return history
}
