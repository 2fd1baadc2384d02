package deltas

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestExtractFeedFormats(t *testing.T) {
	want := Entry{ID: "u:1", Title: "First & only", Link: "https://example.com/1", Published: "2026-01-02T03:04:05Z", Summary: "Some text."}
	tests := []struct{ name, body string }{
		{"RSS 2.0", `<rss version="2.0"><channel><title>News</title><item><guid isPermaLink="false">u:1</guid><title>First &amp;amp; only</title>
			<link>https://example.com/1?utm_source=rss</link><pubDate>Fri, 02 Jan 2026 04:04:05 +0100</pubDate><description>&lt;p&gt;Some text.</description></item></channel></rss>`},
		{"Atom 1.0", `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><updated>2026-05-05T00:00:00Z</updated><entry><id>u:1</id><title>First &amp; only</title>
			<link rel="alternate" href="/1"/><published>2026-01-02T03:04:05Z</published><content type="html">&lt;p&gt;Some text.</content></entry></feed>`},
		{"Atom 0.3", `<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>News</title><entry><id>u:1</id><title>First &amp; only</title>
			<link rel="alternate" href="https://example.com/1"/><issued>2026-01-02T03:04:05Z</issued><summary>Some text.</summary></entry></feed>`},
		{"JSON Feed", `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":[{"id":"u:1","title":"First & only","url":"https://example.com/1",
			"date_published":"2026-01-02T03:04:05Z","content_html":"<p>Some text."}]}`},
	}
	for _, test := range tests {
		core := mustExtractDocument(t, Document{Body: []byte(test.body), URL: "https://example.com/feed"})
		if core.Kind != KindFeed || core.Title != "News" || len(core.Entries) != 1 {
			t.Errorf("%s: %v %q, %d entries\n%s", test.name, core.Kind, core.Title, len(core.Entries), core.Text)
			continue
		}
		if got := core.Entries[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v\nwant %+v", test.name, got, want)
		}
	}
}

// RSS 1.0 has neither GUID nor pubDate: the link identifies, dc:date dates.
func TestExtractRDF(t *testing.T) {
	core := mustExtract(t, []byte(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
		<channel rdf:about="https://example.com/"><title>Old</title><link>https://example.com/</link></channel>
		<item rdf:about="https://example.com/a"><title>A</title><link>https://example.com/a</link><dc:date>2026-01-02</dc:date></item></rdf:RDF>`))
	if len(core.Entries) != 1 || core.Entries[0].ID != "https://example.com/a" || core.Entries[0].Title != "A" {
		t.Errorf("entries %+v", core.Entries)
	}
}

// Row 29: another order, other dates, another build stamp are no other content.
func TestFeedHashIgnoresOrderAndDates(t *testing.T) {
	base := mustExtract(t, stories(3, 2, 1))
	late := story(2)
	late.date = "Wed, 31 Dec 2031 00:00:00 GMT"
	same := map[string][]byte{
		"reordered":    stories(1, 3, 2),
		"another date": rssFeed("", story(3), late, story(1)),
		"channel":      rssFeed("<lastBuildDate>Sat, 06 Mar 2021 03:54:18 GMT</lastBuildDate><ttl>7</ttl><generator>g 2</generator><pubDate>x</pubDate>", story(3), story(2), story(1)),
		"white space":  []byte(strings.ReplaceAll(string(stories(3, 2, 1)), "><", ">\n\t<")),
	}
	for name, body := range same {
		if core := mustExtract(t, body); core.Hash != base.Hash || Germane(base, core) {
			t.Errorf("%s: other content:\n%s", name, core.Content())
		}
	}
	if core := mustExtract(t, stories(1, 3, 2)); entryIDs(core.Entries) != "id-1 id-3 id-2" {
		t.Errorf("entries stand as %s, want the document's order", entryIDs(core.Entries))
	}
}

// Row 28: duplicate, empty and shared IDs give stable, different identities.
func TestIdentify(t *testing.T) {
	tests := []struct {
		name  string
		items []item
		want  int // entries
	}{
		{"IDs", []item{{guid: "1", title: "a"}, {guid: "2", title: "a"}}, 2},
		{"the same item twice", []item{story(1), story(1)}, 1},
		{"one ID and title, other text", []item{{guid: "1", title: "a", text: "x"}, {guid: "1", title: "a", text: "y"}}, 1},
		{"one ID for all", []item{{guid: "1", title: "a"}, {guid: "1", title: "b"}, {guid: "1", title: "c"}}, 3},
		{"one link for all", []item{{link: "https://example.com/", title: "a"}, {link: "https://example.com/", title: "b"}}, 2},
		{"links", []item{{link: "https://example.com/a"}, {link: "https://example.com/b"}}, 2},
		{"titles alone", []item{{title: "a"}, {title: "b"}}, 2},
		{"one title for all", []item{{title: "a", text: "x"}, {title: "a", text: "y"}}, 2},
		{"nothing but text", []item{{text: "x"}, {text: "y"}}, 2},
		{"nothing at all", []item{{}, {}}, 1},
		{"http and https", []item{{guid: "http://example.com/a", title: "a"}, {guid: "https://example.com/a", title: "a"}}, 1},
		{"an ID of 10 kB", []item{{guid: strings.Repeat("x", 10_000) + "1"}, {guid: strings.Repeat("x", 10_000) + "2"}}, 2},
	}
	for _, test := range tests {
		core := mustExtract(t, rssFeed("", test.items...))
		if len(core.Entries) != test.want {
			t.Errorf("%s: %d entries, want %d\n%s", test.name, len(core.Entries), test.want, core.Text)
		}
		slices.Reverse(test.items)
		if again := mustExtract(t, rssFeed("", test.items...)); again.Hash != core.Hash {
			t.Errorf("%s: the order decides:\n%s\n%s", test.name, core.Content(), again.Content())
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(core.Identities())))
		if len(distinct) != len(core.Entries) {
			t.Errorf("%s: %d identities of %d entries", test.name, len(distinct), len(core.Entries))
		}
	}
}

// Rows 23 to 25: no expansion, caps, and an error where nothing whole is left.
func TestExtractFeedHostile(t *testing.T) {
	item := func(inner string) string {
		return `<rss version="2.0"><channel><title>t</title><item><guid>1</guid>` + inner + `</item></channel></rss>`
	}
	whole := string(stories(1))
	tests := []struct{ name, body, reason string }{
		{"row 24: nested tags", item(strings.Repeat("<a>", 200_000)), "nested too deep"},
		{"row 24: attributes", item("<title " + strings.Repeat("a='b' ", 200_000) + ">x</title>"), "too many attributes"},
		{"row 24: elements", item(strings.Repeat("<a/>", MaxElements)), "too many elements"},
		{"row 24: namespaces", item("<a b=odd/>" + strings.Repeat("<a xmlns:b='c'/>", MaxNamespaces+1)), "too many elements"},
		{"row 25: cut in an item", whole[:len(whole)/2], "EOF"},
		{"row 25: cut before the end of the first", whole[:strings.Index(whole, "</item>")+3], "EOF"},
		{"row 25: cut in a section", item("<title><![CDATA[x"), "EOF"},
	}
	for _, test := range tests {
		core, err := Extract(Document{Body: []byte(test.body)})
		var parse *ParseError
		if !errors.As(err, &parse) || parse.Kind != KindFeed || !strings.Contains(parse.Reason, test.reason) {
			t.Errorf("%s: %v, %v; want an error with %q", test.name, core, err, test.reason)
		}
	}
}

// Row 23: entities that a document declares are not expanded, and nothing is opened.
func TestExtractFeedEntities(t *testing.T) {
	core := mustExtract(t, []byte(`<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
		<rss version="2.0"><channel><title>t</title><item><guid>1</guid><title>&b; &f; &lt;&eacute;</title></item></channel></rss>`))
	if got, want := core.Entries[0].Title, "&b; &f; <é"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}

// Row 24: of very many items the first are read.
func TestExtractFeedManyItems(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>t</title>`)
	for n := range 200_000 {
		fmt.Fprintf(&b, "<item><guid>%d</guid></item>", n)
	}
	b.WriteString("</channel></rss>")
	core := mustExtract(t, []byte(b.String()))
	if len(core.Entries) != MaxEntries || core.Entries[MaxEntries-1].ID != fmt.Sprint(MaxEntries-1) {
		t.Errorf("%d entries, want the first %d", len(core.Entries), MaxEntries)
	}
}

// Row 31: null and other wrong items are passed over.
func TestExtractJSONFeedNulls(t *testing.T) {
	core := mustExtract(t, []byte(`{"version":"https://jsonfeed.org/version/1","title":null,"authors":[null],
		"items":[null,1,"x",[],{"id":null},{"id":7,"title":"seven","authors":[null],"tags":null}]}`))
	if len(core.Entries) != 2 || core.Entries[1].ID != "7" {
		t.Errorf("entries %+v", core.Entries)
	}
}

// Row 34: scripts and markup in content do not reach what is shown; what looks
// like markup in plain text stays text, to be escaped where it is shown.
func TestFeedContentIsPlain(t *testing.T) {
	core := mustExtract(t, rssFeed("", item{guid: "1", title: "<b onclick='x()'>Bold</b> ]]> <script>alert(1)</script>",
		text: "<p onmouseover='x()'>One</p><script>alert(2)</script><img src=x onerror=alert(3) alt='A picture'><a href='javascript:x()'>Two</a>"}))
	e := core.Entries[0]
	if e.Title != "Bold ]]>" || e.Summary != "One [A picture]Two" {
		t.Errorf("title %q, summary %q", e.Title, e.Summary)
	}
	for _, bad := range []string{"alert", "onclick", "onerror", "javascript"} {
		if strings.Contains(string(core.Text), bad) {
			t.Errorf("core text holds %q:\n%s", bad, core.Text)
		}
	}
}

func TestSummaryIsCapped(t *testing.T) {
	core := mustExtract(t, rssFeed("", item{guid: "1", title: strings.Repeat("t", 3000), text: strings.Repeat("ä ö", 2000)}))
	e := core.Entries[0]
	if n := len([]rune(e.Summary)); n > maxSummary || n < maxSummary-2 || !strings.HasSuffix(e.Summary, "…") {
		t.Errorf("summary of %d runes", n)
	}
	if n := len([]rune(e.Title)); n != maxTitle {
		t.Errorf("title of %d runes", n)
	}
}

// Every document of the collection gives core content that reads back, or an
// error that says why not; each within the processor time and memory that a poll
// may take. The race detector, and a machine with other work, may take some more.
func TestExtractCollection(t *testing.T) {
	const longest, most = 100 * time.Millisecond, 64 << 20
	slack := time.Duration(1)
	if raceDetector {
		slack = 10
	}
	var read, failed int
	readFeeds(t, func(name string, body []byte) {
		var core *Core
		var err error
		took, taken := cost(func() { core, err = Extract(Document{Body: body, URL: "https://example.com/feed"}) })
		if took > slack*longest {
			took, taken = cost(func() { Extract(Document{Body: body, URL: "https://example.com/feed"}) })
		}
		if took > slack*longest || taken > most {
			t.Errorf("%s took %v and %d bytes", name, took, taken)
		}
		var parse *ParseError
		switch {
		case err == nil:
			read++
			checkCore(t, core)
		case errors.As(err, &parse), errors.Is(err, ErrEmpty):
			failed++
		default:
			t.Errorf("%s: %v", name, err)
		}
	})
	if read < 303 || failed > 8 {
		t.Errorf("%d documents read, %d not", read, failed)
	}
}
