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

// noise draws a figure around its mean.
type noise func(random *rand.Rand, mean float64) float64

func normal(random *rand.Rand, mean float64) float64 { return mean * (1 + 0.05*random.NormFloat64()) }

// skewed has a long tail, as p99 and the largest memory have.
func skewed(random *rand.Rand, mean float64) float64 {
	return mean * math.Exp(0.5*random.NormFloat64()-0.125)
}

// poisson counts rare events (Knuth's method).
func poisson(random *rand.Rand, mean float64) (n int64) {
	for p := random.Float64(); p > math.Exp(-mean); n++ {
		p *= random.Float64()
	}
	return n
}

// runs are results whose deliveries take some time, more or less.
func runs(n int, random *rand.Rand, of noise, delivery float64) (all []*result.Result) {
	noisy := func(v float64) float64 { return of(random, v) }
	for range n {
		r := &result.Result{CPUPerPollUs: noisy(30), NotModifiedRatio: noisy(0.9), RSSMax: int64(noisy(1e8)), PlanOverBound: 1}
		r.PollsSkipped, r.Duplicates, r.FloorViolations = poisson(random, 0.5), poisson(random, 3), poisson(random, 0.05)
		r.Delivery = result.Spread{Mean: noisy(delivery), P50: noisy(delivery), P99: noisy(3 * delivery)}
		r.Detection.Mean, r.Detection.P99, r.Lateness.P99 = noisy(900), noisy(2300), noisy(20)
		all = append(all, r)
	}
	return all
}

// Runs of one build differ beyond chance in one of twenty comparisons at most, whatever the
// noise is and however few they are.
func TestFalseAlarms(t *testing.T) {
	const tries = 100
	most := tries/20 + int(2*math.Sqrt(tries*0.05*0.95)) // two standard deviations above the mean
	for name, of := range map[string]noise{"normal": normal, "skewed": skewed} {
		for _, n := range []int{2, 3, 6} {
			wrong, random := 0, rand.New(rand.NewPCG(5, uint64(n)))
			for range tries {
				if Compare(runs(n, random, of, 20), runs(n, random, of, 20), 0).Regressed() {
					wrong++
				}
			}
			if wrong > most {
				t.Errorf("%s noise, %d runs: %d of %d comparisons of one build with itself find a regression", name, n, wrong, tries)
			}
		}
	}
}

// A figure that is worse is found and named, and none of the others are.
func TestFound(t *testing.T) {
	slower := func(r *result.Result) { r.Delivery.Mean, r.Delivery.P50 = 2*r.Delivery.Mean, 2*r.Delivery.P50 }
	tests := []struct {
		figure string
		plant  func(*result.Result)
	}{
		{"delivery_ms.mean", slower},
		{"cpu_us_per_poll", func(r *result.Result) { r.CPUPerPollUs *= 1.3 }},
		{"not_modified_ratio", func(r *result.Result) { r.NotModifiedRatio *= 0.7 }},
		{"plan_over_bound", func(r *result.Result) { r.PlanOverBound = 1.08 }},
		{"updates_missed", func(r *result.Result) { r.UpdatesMissed = 40 }},
		{"polls_skipped", func(r *result.Result) { r.PollsSkipped += 60 }},
	}
	for _, test := range tests {
		const tries = 10
		found, others, random := 0, 0, rand.New(rand.NewPCG(7, 8))
		for range tries {
			a, b := runs(6, random, normal, 20), runs(6, random, normal, 20)
			for _, r := range b {
				test.plant(r)
			}
			for _, f := range Compare(a, b, 0.05).Figures {
				switch {
				case f.Regression && f.Name == test.figure:
					found++
				case f.Regression && f.Name != "delivery_ms.p50":
					others++
				}
			}
		}
		if found < tries*9/10 || others > tries/4 {
			t.Errorf("%s was found in %d of %d comparisons, other figures %d times", test.figure, found, tries, others)
		}
	}
}

func TestOneRunEach(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	c := Compare(runs(1, random, normal, 20), runs(3, random, normal, 80), 0)
	if !c.ChanceUnknown || c.Regressed() || c.Figures[0].P != nil {
		t.Errorf("%+v", c)
	}
}

func TestTolerated(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := runs(6, random, normal, 20), runs(6, random, normal, 40)
	for tolerated, want := range map[float64]bool{0: true, 0.5: true, 2: false} {
		if got := Compare(a, b, tolerated).Regressed(); got != want {
			t.Errorf("tolerated %g: regressed %t", tolerated, got)
		}
	}
}
