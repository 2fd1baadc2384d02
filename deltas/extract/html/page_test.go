package html_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

func TestHTMLLines(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"blocks make lines", "<div>One<p>Two <b>words</b></div>Three<br>Four", "One\nTwo words\nThree\nFour"},
		{"white space", "<p> a\n\t b&nbsp;c &#8203;d\u00ad </p>", "a b c d"},
		{"scripts and styles", "<p>a</p><script>var x='<p>b'</script><style>p{}</style><noscript>c</noscript><template><p>d</p></template>", "a"},
		{"comments", "<p>a<!-- b --></p><!DOCTYPE x>", "a"},
		{"hidden", "<div hidden>a<div>b</div>c</div><p style='color:red; display: none'>d</p><p>e", "e"},
		{"hidden without an end tag", "<ul><li hidden>a<li>b</ul>", "b"},
		{"hidden that never ends", "<div hidden>a<p>b", "a\nb"},
		{"form tokens", `<form><input name="csrf" value="12345"><select><option>x</select><button>Send</button></form>`, "Send"},
		{"table", "<table><tr><th>County<th>Cases</tr><tr><td><p>Bucks</p><td>5</td></tr></table>", "County | Cases\nBucks | 5"},
		{"cell of two paragraphs", "<table><tr><td>a<br>b</td><td><div>c</div></td></table>", "a b | c"},
		{"layout table", "<table><tr><td><h1>Title</h1><p>Text</p></td><td>More</td></tr></table>", "Title\nText\nMore"},
		{"pre", "<pre>one\n  two\n</pre>", "one\ntwo"},
		{"images", `<p><img src="/logo.3f2a.png" alt="A logo"> text <img alt=""></p>`, "[A logo] text"},
		{"link", `<a href="https://other.example/x">Elsewhere</a>`, "Elsewhere ⟨other.example/x⟩"},
		{"link on the same host", `<a href="https://www.example.com/a?b=1#c">Here</a> and <a href="../d">there</a>`, "Here ⟨/a?b=1⟩ and there ⟨/d⟩"},
		{"http and https", `<a href="http://other.example/x">Elsewhere</a>`, "Elsewhere ⟨other.example/x⟩"},
		{"link around blocks", `<a href="/x"><div>Head</div><p>Text</p></a>`, "Head ⟨/x⟩\nText"},
		{"link that says where it goes", `<a href="https://other.example/x">https://other.example/x</a>`, "https://other.example/x"},
		{"tracking", `<a href="/x?utm_source=a&id=7&fbclid=b&PHPSESSID=c">x</a>`, "x ⟨/x?id=7⟩"},
		{"mail protection", `<a href="/cdn-cgi/l/email-protection#5a3b">[email&#160;protected]</a>`, "[email protected]"},
		{"no content", `<a href="#top">Up</a><a href="javascript:void(0)">x</a><a href="mailto:a@b.example">y</a><a href="/app.3f2a.js">z</a>`, "Upxyz"},
		{"broken markup", "<p>a</b></div></p><<b>c", "a\n<c"},
	}
	for _, test := range tests {
		core := extracted.OfDocument(t, extract.Document{Body: []byte("<html>" + test.body), URL: "https://example.com/page/"})
		if got := strings.TrimSuffix(core.Body(), "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestHTMLHead(t *testing.T) {
	core := extracted.OfDocument(t, extract.Document{URL: "https://example.com/news/", Body: []byte(`<!doctype html><head><title> The
		&amp; Title </title><link rel="stylesheet" href="x.css"><link rel="alternate" type="application/rss+xml" href="feed.xml">
		<link rel=alternate type=application/atom+xml href=/other><meta name=csrf content=1></head><body><svg><title>icon</title></svg><p>x`)})
	if core.Title != "The & Title" || core.FeedURL != "https://example.com/news/feed.xml" || core.Body() != "x\n" {
		t.Errorf("title %q, feed %q, body %q", core.Title, core.FeedURL, core.Body())
	}
}

// What changes at every fetch of a page whose text stands.
func TestHTMLNoise(t *testing.T) {
	page := func(nonce, stamp string) []byte {
		return []byte(`<html><head><script nonce="` + nonce + `">1</script><link href="/assets/app-` + nonce + `.css"></head><body class="` + nonce + `">
			<p id="` + nonce + `">The news.</p><a href="/item?id=1&amp;_=` + nonce + `">More</a><input type=hidden value="` + nonce + `">
			<img src="/i-` + nonce + `.png"><a href="/cdn-cgi/l/email-protection#` + nonce + `">mail</a>
			<p>Posted ` + nonce[:1] + ` minutes ago</p></body>`)
	}
	a, b := extracted.Of(t, page("1a2b", "Mon Mar 1 10:00:00 2026 (UTC)")), extracted.Of(t, page("9f8e", "Tue Mar 2 11:30:21 2026 (UTC)"))
	if judge.Germane(a, b) {
		t.Errorf("noise is content:\n%s\n%s", a.Content(), b.Content())
	}
	if !strings.Contains(a.Body(), "The news.\nMore ⟨/item?id=1⟩") {
		t.Errorf("content is gone:\n%s", a.Body())
	}
}

// Row 24, of pages: whatever the markup, reading it takes the time and memory that
// a poll may take, since both grow with its length alone.
func TestHTMLHostile(t *testing.T) {
	const size = 512 << 10
	for name, test := range map[string]struct{ begin, repeated string }{
		"nested":            {"", "<div><b><table>"},
		"attributes":        {"<p ", "a=b "},
		"other attributes":  {"<p ", "a='b'hidden='until-found'style"},
		"odd attributes":    {"<p ", "==/"},
		"hidden":            {"", "<div hidden>"},
		"styles":            {"", "<p style='display:non'>"},
		"open value":        {"x<p a='", "<p>"},
		"open links":        {"", "<a href=/y>"},
		"links":             {"", "<a href='https://a.example/../b?c=d&e=f'>x"},
		"open comment":      {"<p>x<!--", "<!-- --!-"},
		"comments":          {"<p>x", "<!----!>"},
		"declarations":      {"<p>x", "<!></>"},
		"open script":       {"<p>x<script>", "</script"},
		"script in comment": {"<p>x<script><!--", "<script>--></script >"},
		"scripts":           {"<p>x", "<script></script>"},
		"open title":        {"<title>x", "</titl"},
		"titles":            {"<p>x", "<title>x</title>"},
		"no tags":           {"x", "<"},
		"ends":              {"x", "</x"},
		"entities":          {"x", "&notit;&#x41;&"},
		"long entity":       {"x&", "a"},
		"long number":       {"x&#", "0"},
		"names":             {"x<", "A"},
		"upper case":        {"x", "<B></B>"},
		"lines":             {"<pre>", "x\n"},
		"sentences":         {"x", "A. B "},
		"ago":               {"x", "1 s ago "},
	} {
		body := []byte("<html>" + test.begin + strings.Repeat(test.repeated, size/len(test.repeated)) + ">x")
		cost.CheckBounds(t, name, func() {
			core, err := extract.Content(extract.Document{Body: body, URL: "https://example.com/"})
			if !errors.Is(err, content.ErrTooLarge) && (err != nil || !strings.Contains(string(core.Content()), "x")) {
				t.Errorf("%s: error %v", name, err)
			}
		})
	}
}
