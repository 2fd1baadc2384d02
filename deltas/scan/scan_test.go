package scan

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
			"junk":     {JunkAt(s), index(isJunk)},
			"digit":    {DigitAt(s), index(func(r rune) bool { return '0' <= r && r <= '9' })},
			"sentence": {NextEnd(s, 0), index(func(r rune) bool { return strings.ContainsRune(".!?", r) || r >= 0x3000 && r < 0x4000 })},
		} {
			if found[0] != found[1] {
				t.Fatalf("%s in %q: at %d, want %d", name, s, found[0], found[1])
			}
		}
		run := s[:PlainRun(s)]
		if strings.Join(strings.Fields(run), " ") != run || strings.ContainsFunc(run, func(r rune) bool { return IsInvisible(r) || unicode.IsSpace(r) && r != ' ' }) {
			t.Fatalf("plain run %q of %q", run, s)
		}
	})
}

// Junk is found where a look at each character finds it.
func TestJunkAt(t *testing.T) {
	pieces := []string{"plain text ", "a", "\n", "\u00a0", "\u0085", "é", "—", "。", "，", "\ufeff", "\uffff", "\ufffd", "\U0001f600", "\U0001fffe", "\x7f", "\x01"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "") + rapid.String().Draw(t, "text")
		want := strings.IndexFunc(s, isJunk)
		if want < 0 {
			want = len(s)
		}
		if at := JunkAt(s); at != want {
			t.Fatalf("junk of %q at %d, want %d", s, at, want)
		}
	})
}
