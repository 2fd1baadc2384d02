package judge

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// The lines that only one of two texts has are what counting lines finds.
func TestDiffering(t *testing.T) {
	counts := func(lines []someLine) map[string]int {
		n := make(map[string]int)
		for _, line := range lines {
			n[line.text]++
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "b", "", "long enough for eight", "long enough for nine"}), 0, 12),
			func(lines []string) string { return strings.Join(append(lines, ""), "\n") })
		was, is := text.Draw(t, "was"), text.Draw(t, "is")
		surplus := make(map[string]int)
		for line := range strings.Lines(was) {
			surplus[strings.TrimSuffix(line, "\n")]++
		}
		for line := range strings.Lines(is) {
			surplus[strings.TrimSuffix(line, "\n")]--
		}
		gone, come := make(map[string]int), make(map[string]int)
		for line, n := range surplus {
			if n > 0 {
				gone[line] = n
			} else if n < 0 {
				come[line] = -n
			}
		}
		var tick ticks
		if g, c := tick.differing(was, is); !maps.Equal(counts(g), gone) || !maps.Equal(counts(c), come) {
			t.Fatalf("gone %v, come %v; want %v, %v", g, c, gone, come)
		}
	})
}

// Lines of one shape are compared with each other in their order.
func TestPairsOfOneShape(t *testing.T) {
	base, next := extracted.Of(t, []byte(pageOf("Views 1", "Stars 5", "Views 7"))), extracted.Of(t, []byte(pageOf("Stars 5", "Views 2", "Views 7")))
	slots := compareSlots(base, next).slots
	if len(slots) != 1 || slots[newKey(slotNumber, "Views \x00")] != 1 {
		t.Errorf("slots %v, want that of the first count alone", slots)
	}
}
