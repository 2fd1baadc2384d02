package deltas

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// change is a document and what it was before.
type change struct {
	doc  Document
	base *Core
}

// changeOf makes a change of a document by a word put in where a person reads it;
// false if none changes its content.
func changeOf(body []byte) (change, bool) {
	doc := Document{Body: body, URL: "https://example.com/feed"}
	next, err := Extract(doc)
	if err != nil {
		return change{}, false
	}
	for _, mark := range []string{"<title>", "<p>", "<![CDATA[", "&gt;", `"title": "`, `"title":"`, ">"} {
		at := bytes.LastIndex(body, []byte(mark)) + len(mark)
		if at < len(mark) {
			continue
		}
		was := doc
		was.Body = slices.Concat(body[:at], []byte("Before "), body[at:])
		if base, err := Extract(was); err == nil && base.Hash != next.Hash && base.Kind == next.Kind {
			return change{doc, base}, true
		}
	}
	return change{}, false
}

// verdict does with a body what a poll that found something new does: hash it,
// read it with what is known of it, and judge it. With delta, also what makes a
// version of it.
func (c change) verdict(known *Core, delta bool) {
	RawHash(c.doc.Body)
	doc := c.doc
	doc.Base = known
	next, err := Extract(doc)
	if err != nil {
		panic(err)
	}
	begun := time.Unix(1e9, 0)
	state := State{Extractor: ExtractorVersion, Current: c.base.Hash, Face: c.base.Hash, Shown: begun, Looked: begun}
	d := Judge(state, c.base.Identities(), c.base, Observation{Begun: begun.Add(time.Hour), Core: next})
	if delta {
		d.Noise.Compare(c.base, next).Append(nil)
	}
}

// How many bytes of changed documents a second go from body to verdict on one
// core? All bytes over all processor time, GC included, count; beside it the
// same of each document's best time, which a busy machine disturbs least, that
// of the median document, that without knowing what the document was before, and
// all with what only a new version costs: update and delta. Documents of 8 kB and
// more with one edit, of the collection and made ones, and recorded changes.
//
//	go test ./deltas -run - -bench Verdict
func BenchmarkVerdict(b *testing.B) {
	kinds := madeChanges(b)
	for _, name := range [...]string{"bbc-home-uk", "covid-pa-raw", "github-status-atom", "hn-front-json",
		"nyt-battleground-html", "producthunt-daily", "rust-blog-atom"} {
		kinds["recorded-"+name] = recordedChanges(b, name)
	}
	documents.Collection(b, func(name string, body []byte) {
		if c, ok := changeOf(body); ok && len(body) >= 8<<10 {
			kinds[formatOf(body)] = append(kinds[formatOf(body)], c)
		}
	})
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		b.Run(kind, func(b *testing.B) { benchmarkVerdict(b, kinds[kind]) })
	}
}

func benchmarkVerdict(b *testing.B, changes []change) {
	if len(changes) == 0 {
		b.Skip("no change of this kind is known here")
	}
	size := 0
	for _, c := range changes {
		size += len(c.doc.Body)
	}
	best, bestFirst := make([]time.Duration, len(changes)), make([]time.Duration, len(changes))
	var total, whole time.Duration
	for b.Loop() {
		for i, c := range changes {
			took := cost.CPUTime(func() { c.verdict(c.base, false) })
			total += took
			keepBest(&best[i], took)
			keepBest(&bestFirst[i], cost.CPUTime(func() { c.verdict(nil, false) }))
		}
		whole += cost.CPUTime(func() {
			for _, c := range changes {
				c.verdict(c.base, true)
			}
		})
	}
	speeds := make([]float64, len(changes))
	var quickest, quickestFirst time.Duration
	for i, took := range best {
		quickest += took
		quickestFirst += bestFirst[i]
		speeds[i] = megabytes(len(changes[i].doc.Body), took)
	}
	slices.Sort(speeds)
	b.ReportMetric(float64(len(changes)), "docs")
	b.ReportMetric(megabytes(size*b.N, total), "MB/s-all")
	b.ReportMetric(megabytes(size, quickest), "MB/s-best")
	b.ReportMetric(speeds[len(speeds)/2], "MB/s-median")
	b.ReportMetric(megabytes(size, quickestFirst), "MB/s-first")
	b.ReportMetric(megabytes(size*b.N, whole), "MB/s-delta")
	b.ReportMetric(0, "ns/op")
}

func keepBest(best *time.Duration, took time.Duration) {
	if *best == 0 || took < *best {
		*best = took
	}
}

func megabytes(size int, took time.Duration) float64 {
	return float64(size) / 1e6 / max(took, 1).Seconds()
}

// formatOf names what a document is, as far as reading it differs.
func formatOf(body []byte) string {
	text := string(body[:min(len(body), 4<<10)])
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("jsonfeed.org"):
		return "json-feed"
	case has("<rdf:RDF"):
		return "rss-1.0"
	case has("<rss") && has("xml:base="):
		return "rss-base"
	case has("<rss"):
		return "rss"
	case has("http://purl.org/atom/ns#"):
		return "atom-0.3"
	case has("<feed") && bytes.Contains(body, []byte("xml:base=")):
		return "atom-base"
	case has("<feed") && bytes.Contains(body, []byte(`type="xhtml"`)):
		return "atom-xhtml"
	case has("<feed"):
		return "atom"
	case text[0] == '{' || text[0] == '[':
		return "json"
	}
	return "html"
}

// madeChanges are changes of documents that every machine has, a few of each format.
func madeChanges(t testing.TB) map[string][]change {
	kinds := make(map[string][]change)
	for name, body := range map[string]string{
		"rss":        string(documents.LongFeed(100)),
		"atom":       documents.Atom(`<content type="html">`, "&lt;p&gt;%s&lt;/p&gt;", "</content>", ""),
		"atom-xhtml": documents.Atom(`<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">`, "<p>%s</p>", "</div></content>", ""),
		"atom-base":  documents.Atom(`<content type="html">`, "&lt;p&gt;%s&lt;/p&gt;", "</content>", ` xml:base="https://example.com/"`),
		"json-feed":  `{"version":"https://jsonfeed.org/version/1.1","title":"News","items":` + madeJSON("content_html") + "}",
		"json":       madeJSON("body"),
		"html":       madePage(),
	} {
		c, ok := changeOf([]byte(body))
		if !ok {
			t.Fatalf("no change of %s", name)
		}
		kinds["made-"+name] = []change{c}
	}
	return kinds
}

// recordedChanges are 20 changes of a recorded history, from all over it.
func recordedChanges(t testing.TB, name string) []change {
	var all []documents.Capture
	documents.History(t, name, func(c documents.Capture) { all = append(all, c) })
	var changes []change
	for i := 1; i < len(all) && len(changes) < 20; i++ {
		if i%max(1, len(all)/30) != 0 {
			continue
		}
		doc := Document{Body: []byte(all[i-1].Body), URL: "https://example.com/feed"}
		base, err := Extract(doc)
		if err != nil {
			continue
		}
		doc.Body = []byte(all[i].Body)
		if next, err := Extract(doc); err == nil && next.Hash != base.Hash && next.Kind == base.Kind {
			changes = append(changes, change{doc, base})
		}
	}
	return changes
}

func madeJSON(text string) string {
	var b strings.Builder
	for n := range 100 {
		fmt.Fprintf(&b, `,{"id":%d,"title":"Story %d","url":"https://example.com/%d","date_published":"2026-01-02T03:04:05Z","%s":"<p>A sentence of story %d.<\/p>\n<p class=\"x\">And another one, for those who like them longer.<\/p>","tags":["a","b"],"votes":%d}`,
			n, n, n, text, n, n)
	}
	return "[" + b.String()[1:] + "]"
}

func madePage() string {
	var b strings.Builder
	b.WriteString("<html><title>Page</title>")
	for i := range 500 {
		fmt.Fprintf(&b, `<div class="row"><h2><a href="/%d?utm_source=x">Title %d</a></h2><p>Some words about it, and <b>more</b>.</p></div>`, i, i)
	}
	return b.String()
}

// What is read does not change with the body, which its owner may use again.
func TestExtractKeepsNoBody(t *testing.T) {
	for name, changes := range madeChanges(t) {
		for _, c := range changes {
			doc := c.doc
			doc.Body = bytes.Clone(doc.Body)
			core := extracted.Of(t, doc.Body)
			want := fmt.Sprintf("%s%+v%v", core.Text, core.Entries, core.Sections())
			clear(doc.Body)
			if got := fmt.Sprintf("%s%+v%v", core.Text, core.Entries, core.Sections()); got != want {
				t.Errorf("%s: with another body\n%.2000s\nwas\n%.2000s", name, got, want)
			}
		}
	}
}
