package run

import (
	"math"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// The mean of plans is by the time for which each holds; the first one also holds before it
// was made.
func TestPlansMean(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	p := new(plans)
	for _, of := range []struct{ from, polls float64 }{{5, 10}, {20, 40}, {30, 20}} {
		p.all = append(p.all, planned{at(of.from), &truth.Plan{PollsPerS: of.polls, Budget: 10 * of.polls}})
	}
	for _, test := range []struct{ from, to, want float64 }{
		{0, 10, 10}, {10, 20, 10}, {10, 30, 25}, {20, 30, 40}, {25, 35, 30}, {0, 40, (20*10 + 10*40 + 10*20) / 40.0}, {31, 40, 20},
	} {
		polls, budget := p.mean(at(test.from), at(test.to), 10*time.Second)
		if math.Abs(polls-test.want) > 1e-9 || math.Abs(budget-test.want) > 1e-9 {
			t.Errorf("from %g to %g s: %g polls/s of %g, want %g", test.from, test.to, polls, budget, test.want)
		}
	}
}
