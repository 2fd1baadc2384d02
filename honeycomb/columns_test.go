package honeycomb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// manyColumns are some blocks of channels on a ladder, with ranges of rungs of their own
// and costs, or all alike.
func manyColumns(t *testing.T, ladder Ladder, bounds bool) *columns {
	t.Helper()
	rungs, err := Config{Nodes: 30, Interval: time.Hour, Ladder: ladder}.rungs()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const n = 2*block + 77
	c := &columns{rungs: rungs, key: column(r, n, 1, 1, 2, 3.5, 90, 0.01), ceiling: rungs.top}
	c.weight = c.key
	if bounds {
		c.cost, c.weight = column(r, n, 1, 2, 9), make([]float64, n)
		c.lo, c.hi = make([]int32, n), make([]int32, n)
		for i := range n {
			c.weight[i] = c.key[i] * c.cost[i]
			c.lo[i] = rungs.bottom + r.Int32N(rungs.top-rungs.bottom+1)
			c.hi[i] = c.lo[i] + r.Int32N(rungs.top-c.lo[i]+1)
		}
	}
	return c
}

// worthOf returns a channel's rung when it takes all steps worth a multiplier.
func (c *columns) worthOf(i int, lambda float64) int32 {
	n, hi := c.bounds(i)
	for n < hi && c.key[i]/c.rungs.between(n) >= lambda {
		n++
	}
	return n
}

// At a multiplier, and at one that a step is worth to the last bit, every channel takes
// the steps that are worth it.
func TestExactly(t *testing.T) {
	for _, ladder := range []Ladder{Any(), Prefix(3), Geometric(1.4)} {
		for _, bounds := range []bool{false, true} {
			c := manyColumns(t, ladder, bounds)
			c.whole = !bounds
			rung := make([]int32, len(c.key))
			lambdas := []float64{1e-9, 0.013, 0.7, 11, 1e9}
			for _, n := range []int32{0, 1, c.rungs.top - 1} {
				lambdas = append(lambdas, c.ratio(0, n), c.ratio(1, n), c.ratio(3, n))
			}
			for _, lambda := range lambdas {
				var load, wait float64
				var rungs int64
				c.exactly(rung, lambda)
				for i, got := range rung {
					want := c.worthOf(i, lambda)
					if got != want || c.exact(i, lambda) != want {
						t.Fatalf("%v, bounds %v, λ %v, channel %d: rung %d, alone %d, want %d", ladder, bounds, lambda, i, got, c.exact(i, lambda), want)
					}
					load, wait, rungs = load+c.loadOf(i, got), wait+c.waitOf(i, got), rungs+int64(got)
				}
				// All but for rounding, so a little beside the multiplier.
				beside := lambda * (1 - 1e-9)
				gotLoad, gotRungs := c.at(goal{}, beside)
				gotWait, _ := c.at(goal{wait: true}, beside)
				if !near(gotLoad, load) || !near(gotWait, wait) || gotRungs != rungs {
					t.Errorf("%v, bounds %v, λ %v: load %v, wait %v, rungs %d; want %v, %v, %d", ladder, bounds, lambda, gotLoad, gotWait, gotRungs, load, wait, rungs)
				}
			}
		}
	}
}

// The ends of all channels' ranges, and what goals measure there.
func TestEnd(t *testing.T) {
	c := manyColumns(t, Any(), true)
	var load, wait sum
	for i := range c.key {
		load.add(c.loadOf(i, c.lo[i]))
		wait.add(c.waitOf(i, c.hi[i]))
	}
	lowest, highest := c.end(goal{}, false), c.end(goal{wait: true}, true)
	if !near(lowest.value(), load.value()) || !near(highest.value(), wait.value()) {
		t.Errorf("load %v, wait %v; want %v, %v", lowest.value(), highest.value(), load.value(), wait.value())
	}
}

// A sample is evenly spaced over all rows and has all their columns.
func TestSample(t *testing.T) {
	c := &columns{rungs: &rungs{top: 3}, floor: -2, ceiling: 5, whole: true}
	for i := range sampled / 4 {
		c.key, c.weight = append(c.key, float64(i)), append(c.weight, float64(2*i))
		c.cost = append(c.cost, float64(3*i))
		c.lo, c.hi = append(c.lo, int32(4*i)), append(c.hi, int32(5*i))
	}
	s := c.sample()
	if len(s.key) != sampled/32 || s.rungs != c.rungs || s.floor != -2 || s.ceiling != 5 || !s.whole {
		t.Fatalf("%d of %d channels, %+v", len(s.key), len(c.key), s.rungs)
	}
	for k := range s.key {
		i := 8*k + 4
		if s.key[k] != float64(i) || s.weight[k] != float64(2*i) || s.cost[k] != float64(3*i) || s.lo[k] != int32(4*i) || s.hi[k] != int32(5*i) {
			t.Fatalf("channel %d is not row %d: %v, %v, %v", k, i, s.key[k], s.weight[k], s.cost[k])
		}
	}
	few := &columns{key: c.key[1:], weight: c.weight[1:]}
	if few.sample() != nil {
		t.Error("few channels have a sample")
	}
	many := &columns{key: make([]float64, 10*sampled), weight: make([]float64, 10*sampled)}
	if got := len(many.sample().key); got != sampled {
		t.Errorf("a sample of many has %d channels, want %d", got, sampled)
	}
}

// All steps lie within the span, and no further than a factor of two.
func TestSpan(t *testing.T) {
	for _, ladder := range []Ladder{Any(), Prefix(3), Geometric(1.4)} {
		c := manyColumns(t, ladder, false)
		c.key[5] = 0
		lowest, highest := c.span()
		least, most := math.Inf(1), 0.0
		for i, key := range c.key {
			if key > 0 {
				least, most = min(least, c.ratio(i, c.rungs.top-1)), max(most, c.ratio(i, c.rungs.bottom))
			}
		}
		if !near(lowest, least/2) || !near(highest, most*2) {
			t.Errorf("%v: span %v to %v, steps are worth %v to %v", ladder, lowest, highest, least, most)
		}
	}
	for _, none := range []*columns{
		{rungs: &rungs{bottom: -3, top: 3}, key: []float64{0, 0}}, {rungs: &rungs{}, key: []float64{1}}, {rungs: &rungs{top: 4}},
	} {
		if lowest, highest := none.span(); lowest != leastRatio || highest != mostRatio {
			t.Errorf("no steps from %v to %v", lowest, highest)
		}
	}
}

// Whole rates have the rungs of all rates.
func TestChooseWhole(t *testing.T) {
	r := &rungs{bottom: 1 - slowest, top: 99}
	worth := []float64{0.5, 1.99, 2, 5.9, 6, 6.1, 9899, 9900, 9901, 1e80}
	rung := make([]int32, len(worth))
	chooseWhole(rung, worth, 1, float64(r.top+1))
	want := []int32{0, 0, 1, 1, 2, 2, 98, 99, 99, 99}
	if !slices.Equal(rung, want) {
		t.Errorf("%v, want %v", rung, want)
	}
	for k, x := range worth {
		if got := r.choice(x); got != want[k] {
			t.Errorf("choice(%v) = %d, want %d", x, got, want[k])
		}
	}
}
