package deltas

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCoreReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{0, 0, 0, KindText, KindHTML}).Draw(t, "kind")
		core, err := Extract(Document{Body: anyDocument().Draw(t, "body"), Kind: kind, URL: "https://example.com/"})
		if err == nil {
			checkCore(t, core)
		}
	})
}

// Core text is stored: what it looks like changes only with its version.
func TestCoreTextGolden(t *testing.T) {
	tests := []struct {
		doc  Document
		want string
	}{
		{Document{Body: rssFeed("", story(2), item{guid: "id-1", title: "No link", text: "<p>One.</p><p>Two.</p>"})},
			"corona-core 1 feed\ntitle: News\nentry: id-1\ntitle: No link\n  One.\n  Two.\n" +
				"entry: id-2\ntitle: Story 2\nlink: https://example.com/2\n  What happened in story 2.\n" +
				"\x1enotes 1\n1 2026-01-01T02:00:00Z -\n0 - -\n"},
		{Document{Body: []byte(`<html><title>T</title><link rel=alternate type=application/rss+xml href=/f><p>One<p>Two`), URL: "https://example.com/"},
			"corona-core 1 html\ntitle: T\n\nOne\nTwo\n\x1enotes 1\nfeed: https://example.com/f\n"},
		{Document{Body: []byte(`{"n":1,"items":[{"id":"a","title":"A"}]}`)},
			"corona-core 1 json\n  {\n    \"n\": 1\n  }\nentry: a\n  \"id\": \"a\"\n  \"title\": \"A\"\n\x1enotes 1\n0 - -\n"},
		{Document{Body: []byte("one  \n\n\ttwo\r\n")}, "corona-core 1 text\n\none\n\ttwo\n\x1enotes 1\n"},
	}
	for _, test := range tests {
		if got := string(mustExtractDocument(t, test.doc).Text); got != test.want {
			t.Errorf("%q\nwant\n%q", got, test.want)
		}
	}
}

func TestParseCoreErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"empty", "", ErrCorrupt},
		{"no notes", "corona-core 1 text\n\nx\n", ErrCorrupt},
		{"no content", notesMark, ErrCorrupt},
		{"a NUL", "corona-core 1 text\n\na\x00\n" + notesMark, ErrCorrupt},
		{"not core text", "hello\n" + notesMark, ErrCorrupt},
		{"a later version", "corona-core 2 text\n\n" + notesMark, ErrVersion},
		{"no such kind", "corona-core 1 image\n\n" + notesMark, ErrCorrupt},
		{"no end of the head", "corona-core 1 html\nx\n" + notesMark, ErrCorrupt},
		{"a line before the entries", "corona-core 1 feed\nx\n" + notesMark, ErrCorrupt},
		{"a line in an entry", "corona-core 1 feed\nentry: 1\nx\n" + notesMark, ErrCorrupt},
		{"a note of no entry", "corona-core 1 feed\nentry: 1\n" + notesMark + "1 - -\n", ErrCorrupt},
		{"two notes of an entry", "corona-core 1 feed\nentry: 1\n" + notesMark + "0 - -\n0 - -\n", ErrCorrupt},
		{"a note that is none", "corona-core 1 feed\nentry: 1\n" + notesMark + "x\n", ErrCorrupt},
		{"too many entries", "corona-core 1 feed\n" + strings.Repeat("entry: 1\n", MaxEntries+1) + notesMark, ErrCorrupt},
	}
	for _, test := range tests {
		if core, err := ParseCore([]byte(test.text)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, core, err, test.want)
		}
	}
}

// FuzzExtract: whatever the bytes, a typed error or content that reads back.
func FuzzExtract(f *testing.F) {
	f.Add([]byte(stories(2, 1)), "application/rss+xml", uint8(0))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[null,{"id":1}]}`), "", uint8(0))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><content type="xhtml"><div>x</div></content></entry></feed>`), "", uint8(4))
	f.Add([]byte("<html><table><tr><td hidden>a<td>b</table><pre>c\nd"), "text/html; charset=koi8-r", uint8(2))
	f.Add([]byte(`[{"id":1,"a":[{}]}]`), "", uint8(3))
	f.Add([]byte("\xff\xfe<\x00r\x00"), "", uint8(0))
	for _, list := range listSeeds {
		f.Add([]byte(list), "application/json", uint8(0))
	}
	for _, doc := range placed {
		f.Add([]byte(strings.ReplaceAll(doc.body, "PLACE", "45")), "", uint8(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string, kind uint8) {
		core, err := Extract(Document{Body: body, ContentType: contentType, URL: "https://example.com/x", Kind: Kind(kind % 5)})
		var parse *ParseError
		switch {
		case err == nil:
			checkCore(t, core)
		case core != nil:
			t.Fatal("a result and an error")
		case !errors.As(err, &parse) && !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrTooLarge):
			t.Fatalf("untyped error %v", err)
		}
	})
}

// FuzzParseCore: whatever is stored, a typed error or content whose text and
// hash it is.
func FuzzParseCore(f *testing.F) {
	f.Add(mustExtract(f, stories(2, 1)).Text)
	f.Add(mustExtract(f, []byte(`[{"id":1,"title":"a","description":"<p>b"}]`)).Text)
	f.Add(mustExtract(f, []byte("<html><p>x")).Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		core, err := ParseCore(text)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if !bytes.Equal(core.Text, text) || core.Hash != hashOf(core.Content()) || len(core.Entries) != len(core.Identities()) {
			t.Fatalf("%+v of %q", core, text)
		}
	})
}
