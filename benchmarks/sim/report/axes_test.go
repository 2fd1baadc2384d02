package report

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func TestRounding(t *testing.T) {
	for _, test := range []struct{ v, down, up float64 }{
		{1, 1, 1}, {1.5, 1, 2}, {16, 10, 20}, {20, 20, 20}, {49, 20, 50}, {900, 500, 1000}, {1000, 1000, 1000}, {0.3, 0.2, 0.5},
	} {
		if down, up := roundDown(test.v), roundUp(test.v); !near(down, test.down) || !near(up, test.up) {
			t.Errorf("%v is between %v and %v, want %v and %v", test.v, down, up, test.down, test.up)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*b }

// Axes have a few numbers, whatever they span.
func TestTicks(t *testing.T) {
	for _, test := range []struct {
		least, most float64
		ticks       func(least, most float64) []plot.Tick
		want        string
	}{
		{0, 6, linearTicks, "0 1 2 3 4 5 6"},
		{0, 66.4, linearTicks, "0 10 20 30 40 50 60"},
		{0, 100_000, linearTicks, "0 20000 40000 60000 80000 100000"},
		{10, 1000, logTicks, "10 20 50 100 200 500 1000"},
		{20, 50, logTicks, "20 50"},
		{1, 10_000, logTicks, "1 10 100 1000 10000"},
	} {
		var names []string
		for _, tick := range test.ticks(test.least, test.most) {
			if !tick.IsMinor() {
				names = append(names, tick.Label)
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("from %v to %v: %s, want %s", test.least, test.most, got, test.want)
		}
	}
}
