package deltas

import (
	"bytes"
	"strings"
	"unicode"

	"pgregory.net/rapid"
)

func mustExtract(t rapid.TB, body []byte) *Core {
	t.Helper()
	return mustExtractDocument(t, Document{Body: body})
}

func mustExtractDocument(t rapid.TB, doc Document) *Core {
	t.Helper()
	core, err := Extract(doc)
	if err != nil {
		t.Fatalf("Extract(%.200q): %v", doc.Body, err)
	}
	return core
}

func entryIDs(entries []Entry) string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return strings.Join(ids, " ")
}

// checkCore holds what is true of all core content: it reads back from its text,
// and its lines are lines.
func checkCore(t rapid.TB, core *Core) {
	t.Helper()
	again, err := ParseCore(core.Text)
	if err != nil {
		t.Fatalf("ParseCore of\n%s: %v", core.Text, err)
	}
	if again.Kind != core.Kind || again.Title != core.Title || again.FeedURL != core.FeedURL || again.Hash != core.Hash ||
		entryIDs(again.Entries) != entryIDs(core.Entries) {
		t.Fatalf("ParseCore of\n%s\ngives %+v", core.Text, again)
	}
	for i, e := range core.Entries {
		if e.ID == "" || len(e.ID) > 2*maxID || again.Entries[i].Summary != e.Summary || again.Entries[i].Published != e.Published {
			t.Fatalf("entry %d: %+v, read back %+v", i, e, again.Entries[i])
		}
	}
	said := core.Content()
	if !bytes.HasSuffix(said, []byte("\n")) || !bytes.HasPrefix(core.Text[len(said):], []byte(notesMark)) {
		t.Fatalf("content ends in the middle of\n%q", core.Text)
	}
	if i := bytes.IndexFunc(said, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); i >= 0 {
		t.Fatalf("content holds %q:\n%s", said[i], said)
	}
}
