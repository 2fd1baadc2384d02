package deltas

import (
	"errors"
	"strings"
	"testing"
	"time"
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
		core := mustExtractDocument(t, Document{Body: []byte("<html>" + test.body), URL: "https://example.com/page/"})
		if got := strings.TrimSuffix(core.body, "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestHTMLHead(t *testing.T) {
	core := mustExtractDocument(t, Document{URL: "https://example.com/news/", Body: []byte(`<!doctype html><head><title> The
		&amp; Title </title><link rel="stylesheet" href="x.css"><link rel="alternate" type="application/rss+xml" href="feed.xml">
		<link rel=alternate type=application/atom+xml href=/other><meta name=csrf content=1></head><body><svg><title>icon</title></svg><p>x`)})
	if core.Title != "The & Title" || core.FeedURL != "https://example.com/news/feed.xml" || core.body != "x\n" {
		t.Errorf("title %q, feed %q, body %q", core.Title, core.FeedURL, core.body)
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
	a, b := mustExtract(t, page("1a2b", "Mon Mar 1 10:00:00 2026 (UTC)")), mustExtract(t, page("9f8e", "Tue Mar 2 11:30:21 2026 (UTC)"))
	if Germane(a, b) {
		t.Errorf("noise is content:\n%s\n%s", a.Content(), b.Content())
	}
	if !strings.Contains(a.body, "The news.\nMore ⟨/item?id=1⟩") {
		t.Errorf("content is gone:\n%s", a.body)
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
		withinBounds(t, name, func() {
			core, err := Extract(Document{Body: body, URL: "https://example.com/"})
			if !errors.Is(err, ErrTooLarge) && (err != nil || !strings.Contains(string(core.Content()), "x")) {
				t.Errorf("%s: error %v", name, err)
			}
		})
	}
}

// withinBounds fails the test if f takes longer, or more memory, than reading a
// document of a sane size may. The race detector, and a machine with other work, may
// take some more.
func withinBounds(t *testing.T, name string, f func()) {
	t.Helper()
	const longest, most = 100 * time.Millisecond, 64 << 20
	slack := time.Duration(1)
	if raceDetector {
		slack = 10
	}
	took, taken := cost(f)
	if took > slack*longest {
		took, taken = cost(f)
	}
	if took > slack*longest || taken > most {
		t.Errorf("%s took %v and %d bytes", name, took, taken)
	}
}

func TestMaskTimes(t *testing.T) {
	tests := []struct{ line, want string }{
		{"Posted 3 hours ago by x", "Posted … ago by x"},
		{"an hour ago, 12 mins ago", "… ago, … ago"},
		{"long ago", "long ago"},
		{"2 hours, 5 minutes ago | 1h 5m ago | a day and 3 hours ago", "… ago | … ago | … ago"},
		{"About an hour ago; less than a minute ago; moments ago", "… ago; … ago; … ago"},
		{"Just now. It was just now", "… ago. It was … ago"},
		{"Closed for 2 weeks, or 3 days; terrace 5 days; Favor 2 days", "Closed for 2 weeks, or 3 days; terrace 5 days; Favor 2 days"},
		{"3 agonies", "3 agonies"},
		{"ten days ago", "ten days ago"},
	}
	for _, test := range tests {
		if got := maskTimes(test.line); got != test.want {
			t.Errorf("maskTimes(%q) = %q, want %q", test.line, got, test.want)
		}
	}
}

func TestSentences(t *testing.T) {
	long := strings.Repeat("Words of a sentence that is long enough. ", 8)
	tests := []struct {
		name, line string
		want       int // lines
	}{
		{"a short line stays", "One. Two. Three.", 1},
		{"a long one is broken", strings.TrimSpace(long), 8},
		{"not behind titles and initials", "By Mr. Smith and J. K. Rowling" + strings.Repeat(" and others", 30), 1},
		{"Japanese", strings.Repeat("これは文です。", 20), 20},
		{"no sentence at all", strings.Repeat("x", 3*maxLine), 3},
		{"no UTF-8", strings.Repeat("\x89", 3*maxLine), 3},
	}
	for _, test := range tests {
		lines := appendSentences(nil, test.line)
		if len(lines) != test.want {
			t.Errorf("%s: %d lines, want %d: %.60q", test.name, len(lines), test.want, lines)
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(test.line, " ", "") {
			t.Errorf("%s: text was lost", test.name)
		}
	}
	// An edit moves no other sentence's end.
	if a, b := appendSentences(nil, long), appendSentences(nil, "A new one. "+long); len(b) != len(a)+1 || b[1] != a[0] {
		t.Errorf("%q\n%q", a, b)
	}
}
