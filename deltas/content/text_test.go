package content_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestCoreReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]content.Kind{0, 0, 0, content.KindText, content.KindHTML}).Draw(t, "kind")
		core, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "body"), Kind: kind, URL: "https://example.com/"})
		if err == nil {
			extracted.Check(t, core)
		}
	})
}

// Core text is stored: what it looks like changes only with its version.
func TestCoreTextGolden(t *testing.T) {
	tests := []struct {
		doc  extract.Document
		want string
	}{
		{extract.Document{Body: documents.RSS("", documents.Story(2), documents.Item{GUID: "id-1", Title: "No link", Text: "<p>One.</p><p>Two.</p>"})},
			"corona-core 1 feed\ntitle: News\nentry: id-1\ntitle: No link\n  One.\n  Two.\n" +
				"entry: id-2\ntitle: Story 2\nlink: https://example.com/2\n  What happened in story 2.\n" +
				"\x1enotes 1\n1 2026-01-01T02:00:00Z -\n0 - -\n"},
		{extract.Document{Body: []byte(`<html><title>T</title><link rel=alternate type=application/rss+xml href=/f><p>One<p>Two`), URL: "https://example.com/"},
			"corona-core 1 html\ntitle: T\n\nOne\nTwo\n\x1enotes 1\nfeed: https://example.com/f\n"},
		{extract.Document{Body: []byte(`{"n":1,"items":[{"id":"a","title":"A"}]}`)},
			"corona-core 1 json\n  {\n    \"n\": 1\n  }\nentry: a\n  \"id\": \"a\"\n  \"title\": \"A\"\n\x1enotes 1\n0 - -\n"},
		{extract.Document{Body: []byte("one  \n\n\ttwo\r\n")}, "corona-core 1 text\n\none\n\ttwo\n\x1enotes 1\n"},
	}
	for _, test := range tests {
		if got := string(extracted.OfDocument(t, test.doc).Text); got != test.want {
			t.Errorf("%q\nwant\n%q", got, test.want)
		}
	}
}

func TestParseCoreErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"empty", "", content.ErrCorrupt},
		{"no notes", "corona-core 1 text\n\nx\n", content.ErrCorrupt},
		{"no content", content.NotesMark, content.ErrCorrupt},
		{"a NUL", "corona-core 1 text\n\na\x00\n" + content.NotesMark, content.ErrCorrupt},
		{"not core text", "hello\n" + content.NotesMark, content.ErrCorrupt},
		{"a later version", "corona-core 2 text\n\n" + content.NotesMark, content.ErrVersion},
		{"no such kind", "corona-core 1 image\n\n" + content.NotesMark, content.ErrCorrupt},
		{"no end of the head", "corona-core 1 html\nx\n" + content.NotesMark, content.ErrCorrupt},
		{"a line before the entries", "corona-core 1 feed\nx\n" + content.NotesMark, content.ErrCorrupt},
		{"a line in an entry", "corona-core 1 feed\nentry: 1\nx\n" + content.NotesMark, content.ErrCorrupt},
		{"a note of no entry", "corona-core 1 feed\nentry: 1\n" + content.NotesMark + "1 - -\n", content.ErrCorrupt},
		{"two notes of an entry", "corona-core 1 feed\nentry: 1\n" + content.NotesMark + "0 - -\n0 - -\n", content.ErrCorrupt},
		{"a note that is none", "corona-core 1 feed\nentry: 1\n" + content.NotesMark + "x\n", content.ErrCorrupt},
		{"too many entries", "corona-core 1 feed\n" + strings.Repeat("entry: 1\n", content.MaxEntries+1) + content.NotesMark, content.ErrCorrupt},
	}
	for _, test := range tests {
		if core, err := content.ParseCore([]byte(test.text)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, core, err, test.want)
		}
	}
}

// FuzzExtract: whatever the bytes, a typed error or content that reads back.
func FuzzExtract(f *testing.F) {
	f.Add([]byte(documents.Stories(2, 1)), "application/rss+xml", uint8(0))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[null,{"id":1}]}`), "", uint8(0))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><content type="xhtml"><div>x</div></content></entry></feed>`), "", uint8(4))
	f.Add([]byte("<html><table><tr><td hidden>a<td>b</table><pre>c\nd"), "text/html; charset=koi8-r", uint8(2))
	f.Add([]byte(`[{"id":1,"a":[{}]}]`), "", uint8(3))
	f.Add([]byte("\xff\xfe<\x00r\x00"), "", uint8(0))
	for _, list := range documents.Lists {
		f.Add([]byte(list), "application/json", uint8(0))
	}
	for _, doc := range placed {
		f.Add([]byte(strings.ReplaceAll(doc.body, "PLACE", "45")), "", uint8(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string, kind uint8) {
		core, err := extract.Content(extract.Document{Body: body, ContentType: contentType, URL: "https://example.com/x", Kind: content.Kind(kind % 5)})
		var parse *content.ParseError
		switch {
		case err == nil:
			extracted.Check(t, core)
		case core != nil:
			t.Fatal("a result and an error")
		case !errors.As(err, &parse) && !errors.Is(err, content.ErrEmpty) && !errors.Is(err, content.ErrTooLarge):
			t.Fatalf("untyped error %v", err)
		}
	})
}

// FuzzParseCore: whatever is stored, a typed error or content whose text and
// hash it is.
func FuzzParseCore(f *testing.F) {
	f.Add(extracted.Of(f, documents.Stories(2, 1)).Text)
	f.Add(extracted.Of(f, []byte(`[{"id":1,"title":"a","description":"<p>b"}]`)).Text)
	f.Add(extracted.Of(f, []byte("<html><p>x")).Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		core, err := content.ParseCore(text)
		if err != nil {
			if !errors.Is(err, content.ErrCorrupt) && !errors.Is(err, content.ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if !bytes.Equal(core.Text, text) || core.Hash != content.HashOf(core.Content()) || len(core.Entries) != len(core.Identities()) {
			t.Fatalf("%+v of %q", core, text)
		}
	})
}
