// Package extracted gives tests the content of documents that must be read.
package extracted

import (
	"bytes"
	"strings"
	"unicode"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
)

// Of returns the content of a document of these bytes.
func Of(t rapid.TB, body []byte) *content.Core {
	t.Helper()
	return OfDocument(t, extract.Document{Body: body})
}

// OfDocument is [extract.Content], but that an error ends the test.
func OfDocument(t rapid.TB, doc extract.Document) *content.Core {
	t.Helper()
	core, err := extract.Content(doc)
	if err != nil {
		t.Fatalf("Extract(%.200q): %v", doc.Body, err)
	}
	return core
}

// IDs returns the entries' IDs with a space between them.
func IDs(entries []content.Entry) string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return strings.Join(ids, " ")
}

// Check holds what is true of all core content: it reads back from its text,
// and its lines are lines.
func Check(t rapid.TB, core *content.Core) {
	t.Helper()
	again, err := content.ParseCore(core.Text)
	if err != nil {
		t.Fatalf("ParseCore of\n%s: %v", core.Text, err)
	}
	if again.Kind != core.Kind || again.Title != core.Title || again.FeedURL != core.FeedURL || again.Hash != core.Hash ||
		IDs(again.Entries) != IDs(core.Entries) {
		t.Fatalf("ParseCore of\n%s\ngives %+v", core.Text, again)
	}
	for i, e := range core.Entries {
		if e.ID == "" || len(e.ID) > 2*content.MaxID || again.Entries[i].Summary != e.Summary || again.Entries[i].Published != e.Published {
			t.Fatalf("entry %d: %+v, read back %+v", i, e, again.Entries[i])
		}
	}
	said := core.Content()
	if !bytes.HasSuffix(said, []byte("\n")) || !bytes.HasPrefix(core.Text[len(said):], []byte(content.NotesMark)) {
		t.Fatalf("content ends in the middle of\n%q", core.Text)
	}
	if i := bytes.IndexFunc(said, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); i >= 0 {
		t.Fatalf("content holds %q:\n%s", said[i], said)
	}
}
