package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Known values of Student's t: the 97.5th percentiles of tables.
func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.706, 2: 4.303, 4: 2.776, 10: 2.228, 30: 2.042} {
		if got := quantile(0.975, df); math.Abs(got-want) > 1e-3 {
			t.Errorf("df %g: %g, want %g", df, got, want)
		}
	}
	if got := student(-2.228, 10); math.Abs(got-0.025) > 1e-4 {
		t.Errorf("student(-2.228, 10) = %g", got)
	}
}

func TestHolm(t *testing.T) {
	ps := []float64{0.04, 0.01, 0.03, 0.5}
	holm([]*float64{&ps[0], &ps[1], &ps[2], &ps[3]})
	if got := fmt.Sprintf("%.2f", ps); got != "[0.09 0.04 0.09 0.50]" {
		t.Errorf("corrected: %s", got)
	}
}

// runs are results whose deliveries take some time, give or take a twentieth.
func runs(n int, random *rand.Rand, delivery float64) (all []*result.Result) {
	noisy := func(v float64) float64 { return v * (1 + 0.05*random.NormFloat64()) }
	for range n {
		r := &result.Result{CPUPerPollUs: noisy(30), NotModifiedRatio: noisy(0.9), RSSMax: int64(noisy(1e8))}
		r.Delivery = result.Spread{Mean: noisy(delivery), P50: noisy(delivery), P99: noisy(3 * delivery)}
		r.Detection.Mean, r.Detection.P99, r.Lateness.P99 = noisy(900), noisy(2300), noisy(20)
		all = append(all, r)
	}
	return all
}

// Runs of one build seldom differ beyond chance, whatever their noise is; those of a build
// that delivers 20 ms later do.
func TestCompare(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const tries = 60
	wrong, found := 0, 0
	for range tries {
		if Compare(runs(3, random, 20), runs(3, random, 20), 0).Regressed() {
			wrong++
		}
		c := Compare(runs(3, random, 20), runs(3, random, 40), 0.05)
		for _, f := range c.Figures {
			if f.Name == "delivery_ms.mean" && f.Regression {
				found++
			}
		}
	}
	if wrong > tries/20 {
		t.Errorf("%d of %d comparisons of one build with itself find a regression", wrong, tries)
	}
	if found < tries/2 {
		t.Errorf("a delivery that takes twice as long was found in %d of %d comparisons of three runs", found, tries)
	}
}

func TestOneRunEach(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	c := Compare(runs(1, random, 20), runs(3, random, 80), 0)
	if !c.ChanceUnknown || c.Regressed() || c.Figures[0].P != nil {
		t.Errorf("%+v", c)
	}
}

func TestTolerated(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := runs(6, random, 20), runs(6, random, 40)
	for tolerated, want := range map[float64]bool{0: true, 0.5: true, 2: false} {
		if got := Compare(a, b, tolerated).Regressed(); got != want {
			t.Errorf("tolerated %g: regressed %t", tolerated, got)
		}
	}
}
