package html

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// token is what is read at once: text, or a tag with what of its attributes matters.
type token struct {
	text, name string
	end        bool
	attrs      [attributeCount]string
	had        uint16
}

// oracle calls f with the tokens that x/net finds, but for the content of elements
// that hold no markup and whose content is not read.
func oracle(text string, f func(token)) {
	z := html.NewTokenizer(strings.NewReader(text))
	unseen := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if !unseen {
				f(token{text: string(z.Text())})
			}
			unseen = false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			t := token{name: string(name)}
			unseen = unseenContent[t.name]
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if at := slices.Index(attributeNames[:], string(key)); at >= 0 {
					t.attrs[at], t.had = string(value), t.had|1<<at
				}
			}
			f(t)
		case html.EndTagToken:
			name, _ := z.TagName()
			unseen = false
			f(token{name: string(name), end: true})
		case html.CommentToken, html.DoctypeToken:
			unseen = false
		}
	}
}

var unseenContent = scan.Set("iframe", "noembed", "noframes", "noscript", "script", "style", "textarea")

// shown are tokens, as a person compares them; texts that follow each other are one.
type shown struct{ strings.Builder }

func (s *shown) add(t token) {
	if t.name == "" {
		s.WriteString(t.text)
		return
	}
	fmt.Fprintf(s, "\n<%v %q %q %b>\n", t.end, t.name, t.attrs, t.had)
}

// read reads HTML token by token.
func (s *shown) read(text string) {
	r := reader{rest: text}
	for r.next() {
		t := token{name: r.name, end: r.end}
		switch {
		case r.raw != "":
			t = token{text: unixLines(r.raw)}
			if !r.literal {
				t.text = decoded(t.text)
			}
		case !r.end:
			t.had = r.attrs.had
			for i := range t.attrs {
				t.attrs[i] = r.attrs.value(attribute(i))
			}
		}
		s.add(t)
	}
}

func decoded(s string) string {
	var b strings.Builder
	eachDecoded(s, false, func(piece string) { b.WriteString(piece) })
	return b.String()
}

// tokenized is what readHTML's page is by the tokens of x/net.
func tokenized(text string, options page) *page {
	p := new(page)
	*p = options
	oracle(text, func(t token) {
		switch {
		case t.name == "":
			p.text(html.EscapeString(t.text), false)
		case t.end:
			p.end(elementNamed(t.name))
		default:
			attrs := attributes{had: t.had}
			for i, value := range t.attrs {
				attrs.values[i] = html.EscapeString(value)
			}
			p.start(elementNamed(t.name), &attrs)
		}
	})
	p.finish()
	return p
}

// readAlike compares reading in place with its oracle.
func readAlike(t interface{ Fatalf(string, ...any) }, text string) {
	var got, want shown
	got.read(text)
	oracle(text, want.add)
	if got.String() != want.String() {
		t.Fatalf("%q is read as\n%s\nby the tokenizer\n%s", text, got.String(), want.String())
	}
	for _, options := range []page{{}, {base: &url.URL{Scheme: "https", Host: "www.example.com", Path: "/a/b"}, hiding: true, targets: true}} {
		got := new(page)
		*got = options
		got.tokens(text)
		want := tokenized(text, options)
		show := func(p *page) string {
			return fmt.Sprintf("%q %q %q %+v", p.title.Lines, p.body.Lines, p.feedURL, p.hidden)
		}
		if show(got) != show(want) {
			t.Fatalf("%q is read as\n%s, by the tokenizer\n%s", text, show(got), show(want))
		}
	}
}

var htmlPieces = []string{
	"<!-->", "<!--->", "<!----!>x-->", "<!-- a -- b --->", "<!-- <p> -->", "<!x", "<![CDATA[x]]>", "<script>1<2</p></script x>", "<SCRIPT/>x</script>", "<style>p</stylex></style>", "<iframe src=x>", "</iframe>",
	"<noscript><p>x</noscript>", "<script><!--<script></script>--></script>", "<a href=/x/>", "<a href=?a=1&amp;b=2 class=x>", "<a href= x>", "<a href=\"x\"y=z>", "<p a='b", "<p a=b",
	"<p>", "</p>", "<P class=x>", "<br/>", "<br />", "<img alt='a &amp; b' src=x>", `<img alt="1 &lt 2&copy;3&copy=4&copy5&x=6&#65;&#x41&">`, "<a href=\"/x?a=1&b=2\">", `<a href='?a=1&amp;b=2' title="x>y">`,
	"</a>", "<a\thref = /z>", "<a href=\"/w\"\rhidden>", "<div hidden>", "<div hidden/>", "</div >", "<div style=\"display: none\" x=1>", "<title>", "</title>", "<script>", "</script>", "<!-- c -->", "<!DOCTYPE html>", "<?x?>",
	"</>", "</3>", "<3", "< p>", "<", "<pre>\r\none\rtwo\n", "</pre>", "text ", "a&b &amp; &nbsp;&copy &#0; ", "One. Two! ", "\r\n", "<link rel=alternate type='application/rss+xml' href='/f'>",
	"<link rel=\"Alternate\" type=\"application/rss+xml\" href=\"/f\"/>", "<td>", "<tr>", "<x:y z.w=\"1\">", "<p a b>", "<p a =\"b\">", "<p a=\"b\"c>", "<p \"x\">", "<p/ >", "<textarea>", "<a href href=/v>", "<p hidden=until-found hidden>", "\f", "<a href=\"x", "<li", "é⟨",
	"<p =\"a\"==b>", "<p/a/=b hidden/=c>", "<p a\x00b>", "<P\x00 HIDDEN=\x00>", "<title>a\x00&amp;<b></TITLE/>", "<xmp>&amp;<p></xmp>", "<plaintext>", "<textarea><p></textarea>",
	"<script><!--", "<SCRIPT>", "<script x", "</script/", "<!--<script >", "--->", "--!>", "<!--", "&notit; &notin; &semi;", "<a href='&notit;&notin;&semi;&amp=&amp;=&#65x;&#x;&#;&'>", "</", "</p", "<p a='x", "<!doctype", "<!-",
}

func TestHTMLIsReadAsByTheTokenizer(t *testing.T) {
	for _, piece := range htmlPieces {
		readAlike(t, piece)
		readAlike(t, "a "+piece+"b <p>c")
	}
	rapid.Check(t, func(t *rapid.T) {
		readAlike(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(htmlPieces), 0, 12).Draw(t, "pieces"), ""))
	})
}

func FuzzHTMLRead(f *testing.F) {
	for _, piece := range htmlPieces {
		f.Add(piece + " x <p>y")
	}
	f.Fuzz(func(t *testing.T, text string) { readAlike(t, text) })
}
