package content_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// checkBase reads a document with and without what it was before: both must say
// the same, in all that a Core holds. It returns what it says.
func checkBase(t rapid.TB, base *content.Core, doc extract.Document) *content.Core {
	t.Helper()
	doc.Base = nil
	want, wantErr := extract.Content(doc)
	doc.Base = base
	got, err := extract.Content(doc)
	if err != nil || wantErr != nil {
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("with a base: %v, without: %v\n%.2000q", err, wantErr, doc.Body)
		}
		return base
	}
	if !slices.Equal(got.Sections(), want.Sections()) || string(got.Text) != string(want.Text) {
		t.Fatalf("with a base\n%s\nwithout\n%s\nof %.2000q", got.Text, want.Text, doc.Body)
	}
	bare := func(c *content.Core) any {
		return []any{c.Kind, c.Title, c.FeedURL, c.Entries, c.Hash, c.Cut, c.Hints, c.Identities(), c.Places(), c.Body(), c.AppendSources(nil)}
	}
	if !reflect.DeepEqual(bare(got), bare(want)) {
		t.Fatalf("with a base\n%+v\nwithout\n%+v\nof %.2000q", bare(got), bare(want), doc.Body)
	}
	return got
}

func TestBaseChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var base *content.Core
		bodies := rapid.OneOf(documents.AnyFeed(), documents.AnyJSON(), rapid.Map(documents.AnyFeed(), func(feed []byte) []byte {
			return bytes.ReplaceAll(feed, []byte("bold"), []byte("Last updated 12:30"))
		}))
		for _, body := range rapid.SliceOfN(bodies, 2, 5).Draw(t, "bodies") {
			base = checkBase(t, base, extract.Document{Body: body, URL: "http://x/"})
		}
	})
}

func TestBaseOfHistories(t *testing.T) {
	for _, name := range [...]string{"bbc-home-uk", "bbc-world-asia", "github-status-atom", "hn-front-json", "producthunt-daily", "rust-blog-atom"} {
		t.Run(name, func(t *testing.T) {
			var base *content.Core
			n := 0
			documents.History(t, name, func(c documents.Capture) {
				if n++; n%4 == 0 {
					base = checkBase(t, base, extract.Document{Body: []byte(c.Body), URL: "https://example.com/feed"})
				}
			})
		})
	}
}

// What entries say depends on what stands around them: then they are read again.
func TestBaseInAnotherContext(t *testing.T) {
	rss := func(root, channel string, items ...string) string {
		return "<rss" + root + "><channel><title>News</title>" + channel + strings.Join(items, "") + "</channel></rss>"
	}
	one := "<item><title>One</title><link>http://x/1</link><description>&lt;a href='y'>Yes&lt;/a></description></item>"
	two := "<item><title>Two</title><link>http://x/2</link></item>"
	twin := "<item><title>Twin</title><link>http://x/1</link></item>"
	hidden := "<item><title>Hidden</title><description><![CDATA[</item>]]></description></item>"
	atom := func(base string) string {
		return `<feed xmlns="http://www.w3.org/2005/Atom"` + base + `><title>News</title><entry><id>1</id><title>One</title><link href="1"/></entry></feed>`
	}
	tests := []struct {
		name, before, after string
		taken               bool // what was taken stays
	}{
		{"the same", rss("", "", one, two), rss("", "<ttl>5</ttl>", two, one), true},
		{"a new one", rss("", "", one), rss("", "", two, one), true},
		{"the link of an item becomes the feed's", rss("", "", one, two), rss("", "<link>http://x/1</link>", one, two), false},
		{"the base of an RSS feed", rss("", "", one), rss(` xml:base="http://y/z/"`, "", one), false},
		{"a namespace", rss("", "", one), rss(` xmlns="http://backend.userland.com/rss2"`, "", one), false},
		{"the base of an Atom feed", atom(""), atom(` xml:base="http://y/"`), false},
		{"a twin comes", rss("", "", one), rss("", "", one, twin), false},
		{"a twin goes", rss("", "", one, twin), rss("", "", one), false},
		{"an end that is text", rss("", "", one, hidden, two), rss("", "", one, two, hidden), true},
		{"an end tag with a space", rss("", "", one, strings.Replace(two, "</item>", "</item >", 1)), rss("", "", two, one), true},
		{"cut short", rss("", "", one, two), strings.TrimSuffix(rss("", "", one, two, hidden), "]]></description></item></channel></rss>"), true},
		{"another vocabulary", rss("", "", one), atom(""), false},
		{"JSON", `[{"id":1,"url":"u","votes":3},{"id":2,"url":"v"}]`, `[{"id":2,"url":"v"},{"id":1,"url":"u","votes":4}]`, true},
		{"another name for the identity", `[{"id":1,"url":"u"},{"id":2,"url":"v"}]`, `[{"id":1,"url":"u"},{"url":"w"}]`, false},
		{"JSON that becomes a feed", `{"items":[{"id":"1"}]}`, `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"}]}`, false},
		{"JSON Feed", `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","url":"u","content_html":"<p>a"}]}`,
			`{"version":"https://jsonfeed.org/version/1","items":[{"id":"2"},{"id":"1","url":"u","content_html":"<p>a"}]}`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc := extract.Document{Body: []byte(test.before), URL: "http://x/feed"}
			base := extracted.OfDocument(t, doc)
			doc.Body = []byte(test.after)
			next := checkBase(t, base, doc)
			was, is := sourcesOf(t, base), sourcesOf(t, next)
			taken := slices.ContainsFunc(is.entries, func(source uint64) bool {
				return source != 0 && slices.Contains(was.entries, source) && is.context == was.context
			})
			if taken != test.taken {
				t.Errorf("taken: %v, want %v: %+v, then %+v", taken, test.taken, was, is)
			}
		})
	}
}

type sourced struct {
	context uint64
	entries []uint64
}

// sourcesOf reads what Core.AppendSources writes.
func sourcesOf(t *testing.T, c *content.Core) (s sourced) {
	t.Helper()
	b := c.AppendSources(nil)
	n, size := binary.Uvarint(b)
	if b = b[size:]; n > 0 {
		s.context, b = binary.BigEndian.Uint64(b), b[8:]
	}
	for range n {
		s.entries, b = append(s.entries, binary.BigEndian.Uint64(b)), b[8:]
	}
	if len(b) > 0 {
		t.Fatalf("sources of %d entries, then %d bytes", n, len(b))
	}
	return s
}
