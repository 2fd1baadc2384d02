package deltas

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What is found eight bytes at a time is found a byte at a time too.
func TestScan(t *testing.T) {
	pieces := []string{"plain", " ", "  ", "a", "1", "Last ", "uPDATed ", "generatED", "reFresheD", "st", "\n", "\t", "\"", "\\", "é", "\u00a0", "。", ".", "!", "\x7f", "\u2028", "\u0085", "\ufeff", "\uffff", "，"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "") + rapid.String().Draw(t, "text")
		index := func(f func(r rune) bool) int {
			if at := strings.IndexFunc(s, f); at >= 0 {
				return at
			}
			return len(s)
		}
		for name, found := range map[string][2]int{
			"JSON":     {plainJSON(s), index(func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })},
			"junk":     {junkAt(s), index(isJunk)},
			"digit":    {digitAt(s), index(func(r rune) bool { return '0' <= r && r <= '9' })},
			"sentence": {nextEnd(s, 0), index(func(r rune) bool { return strings.ContainsRune(".!?", r) || r >= 0x3000 && r < 0x4000 })},
		} {
			if found[0] != found[1] {
				t.Fatalf("%s in %q: at %d, want %d", name, s, found[0], found[1])
			}
		}
		run := s[:plainRun(s)]
		if strings.Join(strings.Fields(run), " ") != run || strings.ContainsFunc(run, func(r rune) bool { return isInvisible(r) || unicode.IsSpace(r) && r != ' ' }) {
			t.Fatalf("plain run %q of %q", run, s)
		}
	})
}
