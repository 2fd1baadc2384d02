// Package compare says what differs between the results of two builds beyond chance: for
// each figure an interval from a bootstrap over runs, and a verdict that is corrected for
// the number of figures.
//
// The bootstrap (Efron, 1979) gives the standard error of the difference of means, which is
// expanded by √(n/(n−1)) since few runs vary less than what they are drawn from (Hesterberg,
// "What Teachers Should Know About the Bootstrap", 2015); intervals and p-values are
// Student's with Welch's degrees of freedom. Holm's method (1979) corrects the p-values.
//
// A count that is the same in all runs of a side may vary all the same: a few runs of a rare
// event show 0, 0, 0 or 1, 1, 1. So counts vary by Poisson's law at least.
package compare

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Figure is one figure side by side.
type Figure struct {
	Name       string      `json:"name"`
	A          float64     `json:"a"` // means over runs
	B          float64     `json:"b"`
	Change     float64     `json:"change"`             // B/A − 1; 0 where A is 0
	Interval   *[2]float64 `json:"interval,omitempty"` // of B − A, 95 %; absent where chance is unknown
	P          *float64    `json:"p,omitempty"`        // corrected
	Worse      bool        `json:"worse"`              // in the direction that is worse
	Regression bool        `json:"regression"`         // worse beyond chance, by more than what is tolerated
}

// Comparison is what [Compare] finds.
type Comparison struct {
	RunsA         int      `json:"runs_a"`
	RunsB         int      `json:"runs_b"`
	ChanceUnknown bool     `json:"chance_unknown"` // one run of a side says nothing of chance
	Figures       []Figure `json:"figures"`
}

// Regressed reports whether a figure is a regression.
func (c *Comparison) Regressed() bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Regression })
}

// direction says which way a figure gets worse: 1 when it grows.
type direction struct {
	name  string
	worse float64
	count bool // of events
}

// compared are the figures that have a better and a worse.
var compared = []direction{
	{"updates_missed", 1, true}, {"updates_false", 1, true}, {"deliveries_missing", 1, true},
	{"duplicates", 1, true}, {"out_of_order", 1, true}, {"polls_skipped", 1, true},
	{"floor_violations", 1, true}, {"host_violations", 1, true},
	{"plan_over_bound", 1, false}, {"wait_over_bound", 1, false},
	{"detection_ms.mean", 1, false}, {"detection_ms.p50", 1, false}, {"detection_ms.p99", 1, false},
	{"delivery_ms.mean", 1, false}, {"delivery_ms.p50", 1, false}, {"delivery_ms.p99", 1, false},
	{"lateness_ms.p99", 1, false}, {"not_modified_ratio", -1, false}, {"cpu_us_per_poll", 1, false}, {"rss_max_bytes", 1, false},
}

// significant is the level of a regression, after the correction.
const significant = 0.05

// Compare compares runs of A with runs of B. A regression is tolerated up to a part of A's
// figure.
func Compare(a, b []*result.Result, tolerated float64) *Comparison {
	c := &Comparison{RunsA: len(a), RunsB: len(b), ChanceUnknown: len(a) < 2 || len(b) < 2}
	random := rand.New(rand.NewPCG(1, 2)) // the same results compare the same
	var ps []*float64
	as, bs := read(a), read(b)
	for _, of := range compared {
		x, y := as.values(of.name), bs.values(of.name)
		f := Figure{Name: of.name, A: mean(x), B: mean(y)}
		if f.A != 0 {
			f.Change = f.B/f.A - 1
		}
		f.Worse = (f.B-f.A)*of.worse > 0
		if !c.ChanceUnknown {
			p := f.judge(x, y, of.count, random)
			f.P = &p
			ps = append(ps, f.P)
		}
		c.Figures = append(c.Figures, f)
	}
	holm(ps)
	for i := range c.Figures {
		f := &c.Figures[i]
		f.Regression = f.Worse && f.P != nil && *f.P < significant && math.Abs(f.B-f.A) > tolerated*math.Abs(f.A)
	}
	return c
}

// figures are those of runs, by name.
type figures []map[string]float64

func read(of []*result.Result) (all figures) {
	for _, r := range of {
		all = append(all, r.Figures())
	}
	return all
}

func (f figures) values(name string) (values []float64) {
	for _, run := range f {
		values = append(values, run[name])
	}
	return values
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// judge fills in the interval, and returns the p-value of there being no difference.
func (f *Figure) judge(x, y []float64, count bool, random *rand.Rand) (p float64) {
	difference, ex, ey := f.B-f.A, standardError(x, random), standardError(y, random)
	if count {
		both := (f.A + f.B) / 2
		ex, ey = max(ex, math.Sqrt(both/float64(len(x)))), max(ey, math.Sqrt(both/float64(len(y))))
	}
	e := math.Hypot(ex, ey)
	if e <= 1e-9*max(math.Abs(f.A), math.Abs(f.B)) {
		f.Interval = &[2]float64{difference, difference}
		if math.Abs(difference) <= 1e-9*max(math.Abs(f.A), math.Abs(f.B)) {
			return 1
		}
		return 0
	}
	df := e * e * e * e / (math.Pow(ex, 4)/float64(len(x)-1) + math.Pow(ey, 4)/float64(len(y)-1))
	half := e * quantile(0.975, df)
	f.Interval = &[2]float64{difference - half, difference + half}
	return 2 * (1 - student(math.Abs(difference)/e, df))
}

// resamples is how often runs are drawn.
const resamples = 1000

// standardError returns the standard error of the mean by a bootstrap.
func standardError(values []float64, random *rand.Rand) float64 {
	n := float64(len(values))
	sum, squares, center := 0.0, 0.0, mean(values)
	for range resamples {
		drawn := 0.0
		for range values {
			drawn += (values[random.IntN(len(values))] - center) / n
		}
		sum += drawn
		squares += drawn * drawn
	}
	variance := squares/resamples - math.Pow(sum/resamples, 2)
	return math.Sqrt(max(variance, 0) * n / (n - 1))
}

// holm corrects p-values for their number: the k-th smallest of n counts n−k+1 times, and
// none less than a smaller one.
func holm(ps []*float64) {
	sorted := slices.SortedFunc(slices.Values(ps), func(a, b *float64) int { return cmp.Compare(*a, *b) })
	least := 0.0
	for k, p := range sorted {
		least = max(least, min(*p*float64(len(ps)-k), 1))
		*p = least
	}
}
