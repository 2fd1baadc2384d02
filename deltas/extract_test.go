package deltas

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// Row 26: a feed in UTF-16 is the feed that it is in UTF-8.
func TestExtractUTF16Feed(t *testing.T) {
	body := stories(2, 1)
	wide := []byte{0xfe, 0xff}
	for _, unit := range utf16.Encode([]rune(string(body))) {
		wide = append(wide, byte(unit>>8), byte(unit))
	}
	if got, want := mustExtract(t, wide), mustExtract(t, body); got.Hash != want.Hash {
		t.Errorf("UTF-16 gives\n%s\nUTF-8 gives\n%s", got.Content(), want.Content())
	}
}

// Row 27: what a person would not see does not keep a feed from being read.
func TestExtractRepairsFeed(t *testing.T) {
	clean := mustExtract(t, rssFeed("", item{guid: "1", title: "A “quoted” title"}))
	dirty := mustExtract(t, []byte(strings.NewReplacer("“", "\x93", "”", "\x94", "title", "ti\x00tle\x0b").Replace(
		string(rssFeed("", item{guid: "1", title: "A “quoted” title"})))))
	if dirty.Hash != clean.Hash {
		t.Errorf("repaired feed gives\n%s\nwant\n%s", dirty.Content(), clean.Content())
	}
}
