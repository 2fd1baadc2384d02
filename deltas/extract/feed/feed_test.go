package feed_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

func TestExtractFeedFormats(t *testing.T) {
	want := content.Entry{ID: "u:1", Title: "First & only", Link: "https://example.com/1", Published: "2026-01-02T03:04:05Z", Summary: "Some text."}
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
		core := extracted.OfDocument(t, extract.Document{Body: []byte(test.body), URL: "https://example.com/feed"})
		if core.Kind != content.KindFeed || core.Title != "News" || len(core.Entries) != 1 {
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
	core := extracted.Of(t, []byte(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
		<channel rdf:about="https://example.com/"><title>Old</title><link>https://example.com/</link></channel>
		<item rdf:about="https://example.com/a"><title>A</title><link>https://example.com/a</link><dc:date>2026-01-02</dc:date></item></rdf:RDF>`))
	if len(core.Entries) != 1 || core.Entries[0].ID != "https://example.com/a" || core.Entries[0].Title != "A" {
		t.Errorf("entries %+v", core.Entries)
	}
}

// Row 29: another order, other dates, another build stamp are no other content.
func TestFeedHashIgnoresOrderAndDates(t *testing.T) {
	base := extracted.Of(t, documents.Stories(3, 2, 1))
	late := documents.Story(2)
	late.Date = "Wed, 31 Dec 2031 00:00:00 GMT"
	same := map[string][]byte{
		"reordered":    documents.Stories(1, 3, 2),
		"another date": documents.RSS("", documents.Story(3), late, documents.Story(1)),
		"channel":      documents.RSS("<lastBuildDate>Sat, 06 Mar 2021 03:54:18 GMT</lastBuildDate><ttl>7</ttl><generator>g 2</generator><pubDate>x</pubDate>", documents.Story(3), documents.Story(2), documents.Story(1)),
		"white space":  []byte(strings.ReplaceAll(string(documents.Stories(3, 2, 1)), "><", ">\n\t<")),
	}
	for name, body := range same {
		if core := extracted.Of(t, body); core.Hash != base.Hash || judge.Germane(base, core) {
			t.Errorf("%s: other content:\n%s", name, core.Content())
		}
	}
	if core := extracted.Of(t, documents.Stories(1, 3, 2)); extracted.IDs(core.Entries) != "id-1 id-3 id-2" {
		t.Errorf("entries stand as %s, want the document's order", extracted.IDs(core.Entries))
	}
}

// Row 28: duplicate, empty and shared IDs give stable, different identities.
func TestIdentify(t *testing.T) {
	tests := []struct {
		name  string
		items []documents.Item
		want  int // entries
	}{
		{"IDs", []documents.Item{{GUID: "1", Title: "a"}, {GUID: "2", Title: "a"}}, 2},
		{"the same item twice", []documents.Item{documents.Story(1), documents.Story(1)}, 1},
		{"one ID and title, other text", []documents.Item{{GUID: "1", Title: "a", Text: "x"}, {GUID: "1", Title: "a", Text: "y"}}, 1},
		{"one ID for all", []documents.Item{{GUID: "1", Title: "a"}, {GUID: "1", Title: "b"}, {GUID: "1", Title: "c"}}, 3},
		{"one link for all", []documents.Item{{Link: "https://example.com/", Title: "a"}, {Link: "https://example.com/", Title: "b"}}, 2},
		{"links", []documents.Item{{Link: "https://example.com/a"}, {Link: "https://example.com/b"}}, 2},
		{"titles alone", []documents.Item{{Title: "a"}, {Title: "b"}}, 2},
		{"one title for all", []documents.Item{{Title: "a", Text: "x"}, {Title: "a", Text: "y"}}, 2},
		{"nothing but text", []documents.Item{{Text: "x"}, {Text: "y"}}, 2},
		{"nothing at all", []documents.Item{{}, {}}, 1},
		{"http and https", []documents.Item{{GUID: "http://example.com/a", Title: "a"}, {GUID: "https://example.com/a", Title: "a"}}, 1},
		{"an ID of 10 kB", []documents.Item{{GUID: strings.Repeat("x", 10_000) + "1"}, {GUID: strings.Repeat("x", 10_000) + "2"}}, 2},
	}
	for _, test := range tests {
		core := extracted.Of(t, documents.RSS("", test.items...))
		if len(core.Entries) != test.want {
			t.Errorf("%s: %d entries, want %d\n%s", test.name, len(core.Entries), test.want, core.Text)
		}
		slices.Reverse(test.items)
		if again := extracted.Of(t, documents.RSS("", test.items...)); again.Hash != core.Hash {
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
	whole := string(documents.Stories(1))
	tests := []struct{ name, body, reason string }{
		{"row 24: nested tags", item(strings.Repeat("<a>", 200_000)), "nested too deep"},
		{"row 24: attributes", item("<title " + strings.Repeat("a='b' ", 200_000) + ">x</title>"), "too many attributes"},
		{"row 24: elements", item(strings.Repeat("<a/>", feed.MaxElements)), "too many elements"},
		{"row 24: namespaces", item("<a b=odd/>" + strings.Repeat("<a xmlns:b='c'/>", feed.MaxNamespaces+1)), "too many elements"},
		{"row 24: deep, with ends of items", "<rss>" + strings.Repeat("<a>", 400_000) + strings.Repeat("</item>", 5000), "nested too deep"},
		{"row 24: as deep as is mended", "<rss>" + strings.Repeat("<a>", content.MaxEntries-1) + strings.Repeat("</item>", content.MaxEntries), "nested too deep"},
		{"row 25: cut in an item", whole[:len(whole)/2], "EOF"},
		{"row 25: cut before the end of the first", whole[:strings.Index(whole, "</item>")+3], "EOF"},
		{"row 25: cut in a section", item("<title><![CDATA[x"), "EOF"},
	}
	for _, test := range tests {
		var core *content.Core
		var err error
		cost.CheckBounds(t, test.name, func() { core, err = extract.Content(extract.Document{Body: []byte(test.body)}) })
		var parse *content.ParseError
		if !errors.As(err, &parse) || parse.Kind != content.KindFeed || !strings.Contains(parse.Reason, test.reason) {
			t.Errorf("%s: %v, %v; want an error with %q", test.name, core, err, test.reason)
		}
	}
}

// Row 24: formatting elements that are not closed, which a tree opens again in each
// paragraph, make no tree that is larger than the feed; neither here nor in gofeed.
func TestExtractFeedFormatting(t *testing.T) {
	var fonts strings.Builder
	for n := range 400 {
		fmt.Fprintf(&fonts, "<font a='%d'/>", n)
	}
	markup := "<p>" + fonts.String() + "</p>" + strings.Repeat("<p>x</p>", 5000)
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(markup)
	atom := func(attributes, text, more string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>` + more + `<entry><id>1</id><title>a title</title><content ` + attributes + ">" + text + "</content></entry></feed>"
	}
	const base, odd = ` xml:base="https://example.org/"`, "<odd a=b></odd>"
	for name, body := range map[string]string{
		"XHTML":               atom("type='xhtml'", markup, ""),
		"XHTML with base":     atom("type='xhtml'"+base, markup, ""),
		"XHTML in a div":      atom("type='xhtml'", "<div>"+markup+"</div>", ""),
		"section with base":   atom("type='html'"+base, "<![CDATA["+markup+"]]>", ""),
		"escaped with base":   atom("type='html'"+base, escaped, ""),
		"gofeed: XHTML":       atom("type='xhtml'", markup, odd),
		"gofeed: HTML":        atom("type='html'", markup, odd),
		"gofeed: section":     atom("type='html'"+base, "<![CDATA["+markup+"]]>", odd),
		"gofeed: escaped":     atom("type='html'"+base, escaped, odd),
		"gofeed: entities":    atom("type='html'"+base, strings.ReplaceAll(escaped, "&lt;f", "&#60;&#102;"), odd),
		"gofeed: nested type": atom("type='xhtml'", "<p type='xhtml'>"+markup+"</p>", odd),
		"gofeed: within":      strings.Replace(strings.Replace(atom("type='xhtml'", markup, odd), "<entry>", "<x:y type='html'>&lt;!--<entry>", 1), "</entry>", "</entry></x:y>", 1),
	} {
		if _, plain := feed.ReadPlain(body, nil, nil); plain == strings.HasPrefix(name, "gofeed") {
			t.Errorf("%s: plain is %v", name, plain)
		}
		cost.CheckBounds(t, name, func() {
			core, err := extract.Content(extract.Document{Body: []byte(body)})
			if err != nil || name != "gofeed: within" && (len(core.Entries) != 1 || core.Entries[0].Title != "a title") {
				t.Errorf("%s: %v, %v", name, core, err)
			}
		})
	}
}

// Row 23: entities that a document declares are not expanded, and nothing is opened.
func TestExtractFeedEntities(t *testing.T) {
	core := extracted.Of(t, []byte(`<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
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
	core := extracted.Of(t, []byte(b.String()))
	if len(core.Entries) != content.MaxEntries || core.Entries[content.MaxEntries-1].ID != fmt.Sprint(content.MaxEntries-1) {
		t.Errorf("%d entries, want the first %d", len(core.Entries), content.MaxEntries)
	}
}

// Row 31: null and other wrong items are passed over.
func TestExtractJSONFeedNulls(t *testing.T) {
	core := extracted.Of(t, []byte(`{"version":"https://jsonfeed.org/version/1","title":null,"authors":[null],
		"items":[null,1,"x",[],{"id":null},{"id":7,"title":"seven","authors":[null],"tags":null}]}`))
	if len(core.Entries) != 2 || core.Entries[1].ID != "7" {
		t.Errorf("entries %+v", core.Entries)
	}
}

// Row 34: scripts and markup in content do not reach what is shown; what looks
// like markup in plain text stays text, to be escaped where it is shown.
func TestFeedContentIsPlain(t *testing.T) {
	core := extracted.Of(t, documents.RSS("", documents.Item{GUID: "1", Title: "<b onclick='x()'>Bold</b> ]]> <script>alert(1)</script>",
		Text: "<p onmouseover='x()'>One</p><script>alert(2)</script><img src=x onerror=alert(3) alt='A picture'><a href='javascript:x()'>Two</a>"}))
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
	core := extracted.Of(t, documents.RSS("", documents.Item{GUID: "1", Title: strings.Repeat("t", 3000), Text: strings.Repeat("ä ö", 2000)}))
	e := core.Entries[0]
	if n := len([]rune(e.Summary)); n > lines.MaxSummary || n < lines.MaxSummary-2 || !strings.HasSuffix(e.Summary, "…") {
		t.Errorf("summary of %d runes", n)
	}
	if n := len([]rune(e.Title)); n != lines.MaxTitle {
		t.Errorf("title of %d runes", n)
	}
}

// Every document of the collection gives core content that reads back, or an
// error that says why not; each within the processor time and memory that a poll
// may take.
func TestExtractCollection(t *testing.T) {
	var read, failed int
	documents.Collection(t, func(name string, body []byte) {
		var core *content.Core
		var err error
		cost.CheckBounds(t, name, func() { core, err = extract.Content(extract.Document{Body: body, URL: "https://example.com/feed"}) })
		var parse *content.ParseError
		switch {
		case err == nil:
			read++
			extracted.Check(t, core)
		case errors.As(err, &parse), errors.Is(err, content.ErrEmpty):
			failed++
		default:
			t.Errorf("%s: %v", name, err)
		}
	})
	if read < 303 || failed > 8 {
		t.Errorf("%d documents read, %d not", read, failed)
	}
}
