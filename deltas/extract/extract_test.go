package extract_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// Row 26: a feed in UTF-16 is the feed that it is in UTF-8.
func TestExtractUTF16Feed(t *testing.T) {
	body := documents.Stories(2, 1)
	wide := []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(string(body))) {
		wide = append(wide, byte(unit>>8), byte(unit))
	}
	if got, want := extracted.Of(t, wide), extracted.Of(t, body); got.Hash != want.Hash {
		t.Errorf("UTF-16 gives\n%s\nUTF-8 gives\n%s", got.Content(), want.Content())
	}
}

// Row 27: what a person would not see does not keep a feed from being read.
func TestExtractRepairsFeed(t *testing.T) {
	clean := extracted.Of(t, documents.RSS("", documents.Item{GUID: "1", Title: "A “quoted” title"}))
	dirty := extracted.Of(t, []byte(strings.NewReplacer("“", "\x93", "”", "\x94", "title", "ti\x00tle\x0b").Replace(
		string(documents.RSS("", documents.Item{GUID: "1", Title: "A “quoted” title"})))))
	if dirty.Hash != clean.Hash {
		t.Errorf("repaired feed gives\n%s\nwant\n%s", dirty.Content(), clean.Content())
	}
}
