package feed_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

// checkPlain reads a feed in place and with gofeed: what is plain must come out
// the same. It reports whether it was plain.
func checkPlain(t rapid.TB, text string) bool {
	t.Helper()
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/feed"}
	plain, ok := feed.ReadPlain(text, base, nil)
	if !ok {
		return false
	}
	oracle, err := feed.ParseFeed(text, base)
	if err != nil {
		t.Fatalf("read in place, and not by gofeed: %v\n%.2000q", err, text)
	}
	got, err := plain.Core(nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := oracle.Core(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Text, want.Text) || got.Hints != want.Hints {
		t.Fatalf("of %.2000q\n%+v\n%s\nwant\n%+v\n%s", text, got.Hints, got.Text, want.Hints, want.Text)
	}
	return true
}

// gofeed is the oracle of what is read in place: of a collection of feeds of which
// most are there because they are odd, and of recorded histories.
func TestPlainAgainstOracle(t *testing.T) {
	feeds, plain := 0, 0
	documents.Collection(t, func(name string, body []byte) {
		text, err := extract.Decode(body, "")
		if err != nil {
			return
		}
		kind, root, err := extract.Detect(text, extract.Document{Body: body})
		if err != nil || kind != content.KindFeed || strings.HasPrefix(root, "{") {
			return
		}
		if feeds++; checkPlain(t, root) {
			plain++
		}
	})
	t.Logf("%d of %d are plain", plain, feeds)
	if plain < feeds*9/10 {
		t.Errorf("%d of %d are plain", plain, feeds)
	}
}

func TestPlainHistories(t *testing.T) {
	for _, name := range []string{"bbc-home-uk", "bbc-world-asia", "github-status-atom", "producthunt-daily"} {
		captures, plain := 0, 0
		documents.History(t, name, func(c documents.Capture) {
			captures++
			if captures%10 != 0 {
				return
			}
			_, root, err := extract.Detect(strings.TrimPrefix(c.Body, "\ufeff"), extract.Document{})
			if err != nil {
				t.Fatal(err)
			}
			if checkPlain(t, root) {
				plain++
			}
		})
		if t.Logf("%s: %d of %d", name, plain, captures/10); plain != captures/10 {
			t.Errorf("%s: %d of %d captures are plain", name, plain, captures/10)
		}
	}
}

func TestPlainGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, root, err := extract.Detect(string(documents.AnyFeed().Draw(t, "feed")), extract.Document{})
		if err != nil {
			t.Fatal(err)
		}
		checkPlain(t, root)
	})
}

// What is plain, and what is left to gofeed.
func TestPlain(t *testing.T) {
	rss := func(item string) string {
		return `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:m="https://example.com/m"><channel>
			<title>News</title><link>https://example.com/</link><ttl>5</ttl><!-- a comment --><item>` + item + `</item></channel></rss>`
	}
	atom := func(entry string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">News</title><link href="/"/><entry>` + entry + `</entry></feed>`
	}
	tests := []struct {
		text string
		want bool
	}{
		{rss("<title>A</title>"), true},
		{rss("<title>A &amp; B &#233; &eacute; &lt;b&gt;</title>"), true},
		{rss("<title>\n <![CDATA[A <b> &amp; ]]> and ]] > B </title>"), true},
		{rss("<m:thing a='1'><m:inner>x</m:inner><m:inner/></m:thing><title>A</title>"), true},
		{rss("<dc:title>A</dc:title><dc:date>2026-01-02T03:04:05+01:00</dc:date><content:encoded>&lt;p&gt;x</content:encoded>"), true},
		{rss("<category domain='x'>A &amp;amp; <![CDATA[B]]></category><category> C </category><category/><dc:subject>D</dc:subject><dc:subject>E</dc:subject>"), true},
		{rss("<georss:point> 45.2\n-71 </georss:point><geo:lat>45.2</geo:lat><geo:long>-71</geo:long><georss:elev/>"), true},
		{rss("<geo:Point><geo:lat>45.2</geo:lat></geo:Point>"), false},
		{rss("<g:point xmlns:g='http://www.georss.org/georss'>45.2 -71</g:point>"), true},
		{atom("<category term='a &amp; b' label='x'/><category/><category term='c'>d</category><g:line xmlns:g='http://www.georss.org/georss'>1 2 3 4</g:line>"), true},
		{rss("<guid isPermaLink='true'>https://example.com/1</guid><enclosure url='https://example.com/a?b=1&amp;c=2'/>"), true},
		{rss("<pubDate>Fri, 2 Jan 2026 04:04:05 GMT</pubDate>"), true},
		{rss("<PUBDATE>Fri, 02 Jan 2026 04:04:05 -0800</PUBDATE><TITLE>x</TITLE>"), true},
		{rss("<title>A & B</title>"), true},
		{rss("<title>A &nosuch; B</title>"), true},
		{rss("<title>A <b>bold</b></title>"), true},
		{rss("<title>A ]]> B</title>"), false},
		{rss("<title>A<!-- x --></title>"), true},
		{rss("<title xml:base='/x'>A</title>"), true},
		{rss("<title>A</titel>"), false},
		{rss("<title>A"), false},
		{rss("text<title>A</title>"), true},
		{rss("<?php x ?><title>A</title>"), false},
		{rss("<link href='x'/>"), true},
		{rss("<x:title xmlns:x='http://purl.org/dc/elements/1.1/'>A</x:title>"), true},
		{rss("<itunes:summary>of nobody's</itunes:summary>"), true},
		{rss("<pubDate>Fri, 2 Jan 2026 04:04:05 EST</pubDate>"), true},
		{rss("<pubDate>Fri, 2 Jan 26 04:04:05 -0100</pubDate>"), true},
		{rss("<pubDate>02 Jan 2026 04:04:05 GMT</pubDate>"), true},
		{rss("<pubDate>yesterday</pubDate>"), false},
		{rss("<link xml:base='http://example.org/a' href='b'/>"), true},
		{rss("<media:x xmlns:media='m' xmlns:atom10='http://www.w3.org/2005/Atom'/><atom10:updated xmlns:atom10='http://www.w3.org/2005/Atom'>2026-01-02T03:04:05Z</atom10:updated>"), false},
		{rss("<atom10:updated xmlns:atom10='http://www.w3.org/2005/Atom'>2026-01-02T03:04:05Z</atom10:updated>"), true},
		{rss("<y><x:title xmlns:x='http://purl.org/dc/elements/1.1/'>A</x:title></y>"), true},
		{rss("<title>A</title><x:y xmlns='x'/><site xmlns='s'>1</site>"), true},
		{rss("<title>&#0;</title>"), false},
		{`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title>
			<items><rdf:Seq><rdf:li resource="x"/></rdf:Seq></items></channel><item rdf:about="x"><title>A</title><link> https://example.com/a </link><dc:date>2026-01-02</dc:date></item></rdf:RDF>`, true},
		{rss("<title a=1>A</title>"), false},
		{strings.Replace(rss("<title>A</title>"), "version=", `xmlns="x" version=`, 1), false},
		{atom("<id>1</id><title>A</title><link rel='alternate' href='/1'/><updated>2026-01-02T03:04:05Z</updated><summary type='html'>&lt;p&gt;x</summary>"), true},
		{atom("<content type='html'><![CDATA[<p>x]]></content>"), true},
		{atom("<content type='xhtml'><div>x</div></content>"), true},
		{atom("<content type='xhtml'> <div xmlns='http://www.w3.org/1999/xhtml' hidden='x'><p>One <b>two</b><br/>&lt;three&amp;</p><ul><li>a</li> </ul></div></content>"), true},
		{atom("<content type='xhtml'><div>x</div> y</content>"), true},
		{atom("<content type='xhtml'><p>x</p><p><a href='/y'>y</a></p></content>"), true},
		{atom("<content type='xhtml'><div><table><tr><td>x</td><td><p>y</p></td></tr></table></div></content>"), true},
		{atom("<content type='xhtml'><div><p>x<p>y</p></p></div></content>"), true},
		{atom("<content type='xhtml'><div><b/>x</div></content>"), true},
		{atom("<content type='xhtml'><div><table>x<tr><td>y</td></tr></table></div></content>"), true},
		{atom("<content type='xhtml'><div><script>x</script></div></content>"), true},
		{atom("<title type='html' xml:base='/x/'>&lt;b&gt;A</title>"), true},
		{atom("<link href='c?d#e'/><content type='html' xml:base='http://example.org/a/b'>&lt;p&gt;&lt;a href='c'&gt;c&lt;/a&gt; &lt;a href='#'&gt;d&lt;/a&gt; &lt;a href&gt;e&lt;/a&gt;&lt;/p&gt;</content>"), true},
		{atom("<link xml:base='http://h/a'/>"), true},
		{atom("<link xml:base='http://h/a' href=''/>"), true},
		{atom("<content xml:base='http://h/a' src=''>b</content>"), true},
		{strings.Replace(atom("<id>c</id><link href='c d'/><content src='e'/>"), "<entry>", "<entry xml:base='b/'>", 1), true},
		{atom("<content type='image/png'>aGk=</content>"), false},
		{atom("<issued>2026-01-02T03:04:05Z</issued><modified>2026-01-02</modified>"), true},
		{atom("<content mode='escaped' type='text/html'>&lt;p&gt;x</content>"), true},
		{atom("<content mode='escaped'>&lt;p&gt;x</content>"), false},
		{strings.Replace(atom("<atom:title>A</atom:title>"), "<feed", "<feed xmlns:atom='http://www.w3.org/2005/Atom'", 1), true},
		{strings.Replace(atom(""), "2005/Atom", "2005/Other", 1), false},
		{`<feed xmlnse="a"><entry><content type="text">b</content></entry></feed>`, true},
		{`<feed xmlns:="a"><entry><content type="text">b</content></entry></feed>`, false},
	}
	for _, test := range tests {
		if got := checkPlain(t, test.text); got != test.want {
			t.Errorf("plain is %v, want %v, of %s", got, test.want, test.text)
		}
	}
}

// FuzzPlain: whatever the bytes, what is read in place is what gofeed reads.
func FuzzPlain(f *testing.F) {
	f.Add(string(documents.Stories(2, 1)))
	f.Add(`<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><entry><id>1</id><link href='a&amp;b'/><content type="html"><![CDATA[<p>]]></content></entry></feed>`)
	f.Add(`<rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><skipHours><hour>1</hour></skipHours><item><dc:date>2026-01-02T03:04:05Z</dc:date><x/></item></channel></rss>`)
	f.Add(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>x</title></channel><item rdf:about="x"><title>a&nbsp;&b</title><link>y z</link></item></rdf:RDF>`)
	f.Add(`<feed xmlns="http://purl.org/atom/ns#" xml:base="http://h/a"><entry><id>1 2</id><issued>2026-01-02</issued><content type="text/html" mode="escaped">&lt;p&gt;x&lt;a href="y"&gt;z&lt;/a&gt;</content></entry></feed>`)
	f.Add(`<feed xmlns="http://www.w3.org/2005/Atom"><entry xml:base="b"><link href="c"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a<br/><b>c</b></p><ul><li>d</li></ul></div></content><summary type="html">&lt;table&gt;&lt;tr&gt;&lt;td&gt;e</summary></entry></feed>`)
	f.Add(`<rss xml:base="http://h/"><channel><link href="x"/><item><title>a<b>c</b><!-- d --></title><x:y xmlns:x="z"/><site xmlns="s">1</site><dc:date>2026-01-02T03:04:05Z</dc:date></item></channel></rss>`)
	f.Add(`<rss xmlns:g="http://www.georss.org/georss"><channel><item><category>a&amp;b</category><dc:subject>c</dc:subject><g:point>1 2</g:point><geo:lat>3</geo:lat></item></channel></rss>`)
	f.Add(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><category term="a"/><georss:where><gml:pos>1 2</gml:pos></georss:where></entry></feed>`)
	f.Fuzz(func(t *testing.T, body string) {
		text, err := extract.Decode([]byte(body), "")
		if err != nil {
			return
		}
		if kind, root, err := extract.Detect(text, extract.Document{Kind: content.KindFeed}); err == nil && kind == content.KindFeed && !strings.HasPrefix(root, "{") {
			checkPlain(t, root)
		}
	})
}
