package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestExplain(t *testing.T) {
	const control = `<a href="#" onclick="off()">Turn off animations</a>`
	entries := func(n int) string {
		return feedOf(5, func(i int) string { return fmt.Sprint("Pulls: ", 100*i+n, " so far") })
	}
	front := func(n int) string {
		return string(documents.Stories(n+9, n+8, n+1, n, 2, 1)) // the third of six leaves, not the last
	}
	tests := []struct {
		name   string
		bodies []string
		want   string
	}{
		{"nothing", []string{pageOf("a", "b 5")}, ""},
		{"a counter", bodies(8, func(n int) string { return pageOf("News.", fmt.Sprint("Visitors: ", 7000+13*n, " today")) }),
			`number "Visitors: … today": it changed at two looks in a row, at least 6 times; calm for 4.5 h` + "\n"},
		{"a counter of entries", bodies(8, entries), `number "Pulls: … so" (5 lines): it changed in half of the entries or more at two changes of the document in a row, at least 6 times; it counts again when the document has changed 13 times without that` + "\n"},
		{"a young counter", bodies(4, func(n int) string { return pageOf("News.", fmt.Sprint("Visitors: ", 7000+13*n, " today")) }),
			`number "Visitors: … today": it changed at two looks in a row, at least 2 times; what stands there for a few looks is told all the same; calm for 0.5 h` + "\n"},
		{"a control", []string{pageOf(control)}, `control "Turn off animations ⟨#⟩": a link or a button that does nothing without a script` + "\n"},
		{"a line that comes and goes", bodies(24, func(n int) string {
			return pageOf("News.", "Weather: fine", []string{"Tip: drink water", "Tip: eat fruit", "Tip: go to bed"}[n%3])
		}), `region "Tip: go to bed": what stands here changed at two looks in a row, at least 6 times; all of it has stood here before; calm for 4.5 h` + "\n"},
		{"lines in any order", bodies(8, func(n int) string { return pageOf([]string{"Anna", "Ben", "Cleo", "Anna", "Ben"}[n%3 : n%3+3]...) }),
			""},
		{"a front page", bodies(8, front), "window: when entries came, others than the oldest left, at least 7 times; so none that leaves counts as withdrawn\n"},
	}
	for _, test := range tests {
		var o owner
		looks(t, &o, 0, test.bodies...)
		var got strings.Builder
		for _, m := range o.state.Noise.Explain(o.base) {
			got.WriteString(m.String())
			if m.Calm > 0 {
				fmt.Fprintf(&got, "; calm for %v h", m.Calm.Hours())
			}
			got.WriteByte('\n')
		}
		if got.String() != test.want {
			t.Errorf("%s:\n%swant\n%s", test.name, got.String(), test.want)
		}
	}
}

// What is explained of a content is what its view lacks, and nothing else: over
// any history, there is something to explain just when the view differs.
func TestExplainIsTheView(t *testing.T) {
	counts := bodies(12, func(n int) string {
		return pageOf("News.", fmt.Sprint("Visitors: ", n), fmt.Sprint("Last build: ", n+1), strings.Repeat("Tip: drink water", n%2))
	})
	var o owner
	for n, body := range counts {
		looks(t, &o, n, body)
		core, shown := extracted.Of(t, []byte(body)), 0
		for _, m := range o.state.Noise.Explain(core) {
			shown += m.Lines
		}
		was := strings.Split(string(core.Content()), "\n")
		view := string(o.state.Noise.view(core).Content())
		hidden := 0
		for _, line := range was {
			if !strings.Contains(view, line) {
				hidden++
			}
		}
		if shown != hidden {
			t.Errorf("look %d: %d lines explained, %d hidden:\n%s", n, shown, hidden, view)
		}
	}
}
