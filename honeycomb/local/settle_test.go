package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Ranges that die keep their part of a budget that was set until they are back;
// a flash crowd and their return cause no burst. Everything settles within three
// rounds of being known.
func TestDecentralisedWithDeadRanges(t *testing.T) {
	for _, ladder := range []honeycomb.Ladder{honeycomb.Any(), honeycomb.Prefix(16)} {
		for delay := 1; delay <= 2; delay++ {
			const ranges, died, back, crowd = 16, 5, 11, 17
			config := honeycomb.Config{Ladder: ladder, Nodes: 1024, Interval: 30 * time.Minute, Budget: 400_000}
			c := split(config, channels(10_000), ranges, delay)
			for round := range 24 {
				share, settled := 1.0, round >= 1+2*delay
				switch {
				case round == died:
					c.dead = map[int]bool{3: true, 7: true, 8: true}
				case round == back:
					c.dead = map[int]bool{}
					c.boards[3], c.correct[3] = NewBoard(1), Corrector{} // one forgot everything
				case round == crowd:
					c.ranges[0].Subscribers[0] *= 1000
				}
				if round >= died && round < back {
					share, settled = 13.0/16, round >= died+Lifetime+delay+2
				}
				if round >= back {
					settled = round >= back+3+delay && (round < crowd || round >= crowd+3+delay)
				}
				load, _, _ := c.round(t)
				if load > 1.01*config.Budget {
					t.Errorf("%v, delay %d, round %d: load %v over the budget", ladder, delay, round, load)
				}
				if off := load/(share*config.Budget) - 1; settled && math.Abs(off) > 0.01 {
					t.Errorf("%v, delay %d, round %d: load %+.4f off", ladder, delay, round, off)
				}
			}
		}
	}
}

// While subscriptions double and while half of them leave, in one round or in many, at
// once in all ranges, the plans of all stay within the budget, and soon after the last
// they are at it: the correction has not wound up on a limit that ran ahead of them.
func TestDecentralisedWithCrowds(t *testing.T) {
	for _, ladder := range []honeycomb.Ladder{honeycomb.Any(), honeycomb.Prefix(16), honeycomb.Geometric(2)} {
		for delay := range 2 {
			for _, rounds := range []int{1, 3} {
				t.Run(fmt.Sprintf("%v/delay=%d/rounds=%d", ladder, delay, rounds), func(t *testing.T) { crowds(t, ladder, delay, rounds) })
			}
		}
	}
}

func crowds(t *testing.T, ladder honeycomb.Ladder, delay, rounds int) {
	steps := []float64{1, 2, 1, 0.5, 8, 0.1}
	c := split(honeycomb.Config{Ladder: ladder, Nodes: 1024, Interval: 30 * time.Minute}, channels(5_000), 16, delay)
	from, most := steps[0], 0.0
	for _, to := range steps {
		for round := range rounds + 6 {
			c.grow(from + (to-from)*min(float64(round+1)/float64(rounds), 1))
			load, _, budget := c.round(t)
			off := load/budget - 1
			most = max(most, off)
			if settled := round >= rounds+3; off > 0.01 || off < -0.02 && settled {
				t.Errorf("from %v to %v, round %d: load %+.4f off", from, to, round, off)
			}
		}
		from = to
	}
	t.Logf("over by at most %.4f", most)
}

// A target that the budget does not reach winds nothing up: the budget is spent
// meanwhile, and the target met as soon as it can be.
func TestDecentralisedTargetBeyondBudget(t *testing.T) {
	config := honeycomb.Config{Policy: honeycomb.Fast, Nodes: 1024, Interval: 30 * time.Minute, Target: 30 * time.Second, Budget: 150_000}
	c := split(config, channels(10_000), 16, 2)
	for round := range 24 {
		if round == 15 {
			c.config.Budget = 1e6
		}
		load, wait, subscribers := c.round(t)
		if off := load/c.config.Budget - 1; round >= 4 && round < 15 && math.Abs(off) > 0.01 {
			t.Errorf("round %d: load %+.4f off the budget", round, off)
		}
		if off := wait/waitTarget(config, subscribers) - 1; round >= 20 && math.Abs(off) > 0.01 {
			t.Errorf("round %d: wait %+.4f off the target", round, off)
		}
	}
}

// What clusters get wrong is a bias of the plans. With plans seen one or two
// intervals late the default gain takes a bias back without overshoot, and the
// largest gain, though it passes the limit, settles.
func TestCorrector(t *testing.T) {
	for _, tc := range []struct {
		gain      float64
		delay     int
		overshoot float64 // of the bias
	}{{0, 1, 0.01}, {0, 2, 0.01}, {MostGain, 1, 0.05}, {MostGain, 2, 0.4}, {1, 2, 0.4}} {
		for _, bias := range []float64{0.9, 1.1} {
			c := Corrector{Gain: tc.gain}
			loads := make([]float64, tc.delay)
			for i := range loads {
				loads[i] = bias
			}
			for range 40 {
				loads = append(loads, bias*c.Next(loads[len(loads)-tc.delay], 0, 1, true))
			}
			for k, load := range loads {
				passed := (1 - load) / (bias - 1) // over the limit, as part of the bias
				if passed > tc.overshoot || k > 30 && math.Abs(load-1) > 0.001 {
					t.Errorf("gain %v, delay %d, bias %v: load %d is %v", tc.gain, tc.delay, bias, k, load)
				}
			}
		}
	}
}

func TestCorrectorOnlyLowersForMeasuredLoad(t *testing.T) {
	var c Corrector
	if f := c.Next(1, 0.5, 1, true); f != 1 {
		t.Errorf("half of the plan measured: factor %v, want 1", f)
	}
	if f := c.Next(1, 1.2, 1, true); f >= 1 {
		t.Errorf("more than the plan measured: factor %v, want under 1", f)
	}
	for range 50 {
		c.Next(0.3, 0, 1, false) // the limit does not bind
	}
	if f := c.Next(0.3, 0, 1, false); math.Abs(f-1) > 0.01 {
		t.Errorf("a limit that does not bind: factor %v, want 1", f)
	}
	for range 50 {
		c.Next(100, 0, 1, true)
	}
	if f := c.Next(100, 0, 1, true); f != 1/farthest {
		t.Errorf("far over: factor %v, want %v", f, 1/farthest)
	}
}

func TestBoard(t *testing.T) {
	b := NewBoard(10)
	s := func(v float64) Summary { return Summary{Subscribers: v} }
	for _, put := range []struct {
		id             uint32
		term, sequence uint64
		now            time.Duration
		value          float64
		want           bool
	}{
		{1, 5, 10, 10, 1, true},
		{1, 5, 10, 20, 2, false}, // heard before
		{1, 5, 9, 20, 3, false},  // overtaken
		{1, 4, 99, 20, 4, false}, // of a deposed owner
		{1, 6, 1, 20, 5, true},   // of a new one
		{2, 1, 1, 0, 6, true},
		{0, 1, 1, 20, 7, true},
	} {
		if got := b.Put(Told{put.id, put.term, put.sequence, s(put.value)}, put.now); got != put.want {
			t.Errorf("%+v: %v", put, got)
		}
	}
	quarter := func(uint32) float64 { return 0.25 }
	o := b.Others(29, []uint32{0, 3}, quarter)
	if len(o.Summaries) != 2 || o.Summaries[0].Subscribers != 5 || o.Summaries[1].Subscribers != 6 || o.Part != 1 {
		t.Errorf("at 29: %+v", o)
	}
	if len(o.Own) != 1 || o.Own[0].Subscribers != 7 || o.Untold != 0.25 {
		t.Errorf("at 29, own: %+v", o)
	}
	if o := b.Others(30, []uint32{0, 3}, quarter); len(o.Summaries) != 1 || o.Part != 0.75 {
		t.Errorf("at 30: %+v", o)
	}
	if o := b.Others(50, []uint32{0, 3}, quarter); len(o.Summaries) != 0 || len(o.Own) != 0 || o.Part != 0.5 || o.Untold != 0.5 {
		t.Errorf("at 50: %+v", o)
	}
}

// What to bin by: for every ladder the load that clusters predict about the
// multiplier must be near the true one, and no other way of cutting them, which
// merging would smear, much nearer. benchmarks/README.md has the table that this test logs.
func TestWhatToBinBy(t *testing.T) {
	for _, ladder := range []honeycomb.Ladder{honeycomb.Any(), honeycomb.Prefix(16), honeycomb.Geometric(2)} {
		worst := map[string]float64{}
		for _, cost := range []honeycomb.Cost{honeycomb.Polls, honeycomb.Bytes} {
			for _, policy := range []honeycomb.Policy{honeycomb.Lite, honeycomb.Fair} {
				for name, off := range binErrors(t, ladder, cost, policy) {
					worst[name] = max(worst[name], off)
				}
			}
		}
		for name, off := range worst {
			t.Logf("%-12v by %-11s load off by at most %.4f", ladder, name, off)
			if chosen := worst["logarithm"]; chosen > 0.03 || chosen > 2*off {
				t.Errorf("%v: by the logarithm of keys load is off by %.4f, by %s %.4f", ladder, chosen, name, off)
			}
		}
	}
}

// Merging loses and invents nothing, and what has been merged once is not smeared
// by merging again, in whatever order.
func TestMergeSummaries(t *testing.T) {
	ch := mixed(20_000)
	config := honeycomb.Config{Policy: honeycomb.Fair, Ladder: honeycomb.Prefix(16), Nodes: 1024, Interval: 30 * time.Minute}
	var parts []Summary
	for _, rows := range split(config, ch, 64, 1).rows {
		parts = append(parts, summaryOf(t, config, rowsOf(ch, rows)))
	}
	whole := summaryOf(t, config, ch)
	once := Merge(parts...)
	twice := Merge(Merge(parts[40:]...), Summary{}, Merge(parts[:40]...))
	response, err := honeycomb.NewResponse(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []Summary{once, twice} {
		if math.Abs(got.Auto/whole.Auto-1) > 1e-12 || got.Lambda != 0 || len(got.Clusters) > Bins {
			t.Errorf("%+v, the whole is %+v", got, whole)
		}
		for _, shift := range []float64{1e-9, 0.8, 1, 1.25, 1e9} { // all at the top, all at the bottom
			want, _ := response.At(whole.standIns(), whole.Lambda*shift)
			if load, _ := response.At(got.standIns(), whole.Lambda*shift); math.Abs(load/want-1) > 0.02 {
				t.Errorf("at %v times the multiplier: load %v, the whole's is %v", shift, load, want)
			}
		}
		for k, c := range got.Clusters {
			mean := c.Root / c.Cost * (c.Root / c.Cost)
			if c.Least > mean*(1+1e-9) || c.Most < mean*(1-1e-9) || k > 0 && c.Least < got.Clusters[k-1].Most*(1-1e-9) {
				t.Errorf("cluster %d: %+v, mean %v", k, c, mean)
			}
		}
	}
}

func summaryOf(t *testing.T, config honeycomb.Config, ch honeycomb.Channels) Summary {
	t.Helper()
	p, err := Prepare(config, ch, Others{Part: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Solve()
	return Summarise(p)
}

// binErrors returns by how much the load predicted from clusters that are cut in
// different ways is off, at the worst, about the multiplier that a solve ended
// at.
func binErrors(t *testing.T, ladder honeycomb.Ladder, cost honeycomb.Cost, policy honeycomb.Policy) map[string]float64 {
	ch := mixed(20_000)
	config := honeycomb.Config{Policy: policy, Ladder: ladder, Cost: cost, Nodes: 1024, Interval: 30 * time.Minute}
	p, err := Prepare(config, ch, Others{Part: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Solve()
	response, err := honeycomb.NewResponse(config)
	if err != nil {
		t.Fatal(err)
	}
	s := Summarise(p)
	off := map[string]float64{"logarithm": binError(p, response, s)}
	s.Clusters = clusters(p, equalShares(p, func(honeycomb.Planned) float64 { return 1 }))
	off["channels"] = binError(p, response, s)
	s.Clusters = clusters(p, equalShares(p, func(c honeycomb.Planned) float64 { return math.Sqrt(c.Weight * c.Cost) }))
	off["load"] = binError(p, response, s)
	return off
}

func binError(p *honeycomb.Problem, response honeycomb.Response, s Summary) float64 {
	var own honeycomb.StandIns
	for c := range p.Planned() {
		own.Key, own.Cost, own.Weight = append(own.Key, c.Key), append(own.Cost, c.Cost), append(own.Weight, c.Weight)
	}
	var worst float64
	for _, shift := range []float64{0.8, 0.9, 1, 1.1, 1.25} {
		want, _ := response.At(own, s.Lambda*shift)
		got, _ := response.At(s.standIns(), s.Lambda*shift)
		worst = max(worst, math.Abs((got+s.FixedLoad)/want-1))
	}
	return worst
}

// clusters adds up the channels that follow the multiplier by their numbers, which rise
// with the key and are clamped to 0 to Bins−1.
func clusters(p *honeycomb.Problem, number func(honeycomb.Planned) int) []Cluster {
	var all [Bins]Cluster
	for c := range p.Planned() {
		if !c.Fixed {
			all[min(max(number(c), 0), Bins-1)].join(clusterOf(c))
		}
	}
	return notEmpty(all[:])
}

// equalShares numbers channels, by key, so that all numbers have equal shares of
// an amount.
func equalShares(p *honeycomb.Problem, amount func(honeycomb.Planned) float64) func(honeycomb.Planned) int {
	order := slices.SortedFunc(p.Planned(), func(a, b honeycomb.Planned) int { return cmp.Compare(a.Key, b.Key) })
	var total, before float64
	for _, c := range order {
		total += amount(c)
	}
	number := make(map[float64]int, len(order)) // by key: no two dithered keys are equal
	for _, c := range order {
		number[c.Key] = int(before / total * Bins)
		before += amount(c)
	}
	return func(c honeycomb.Planned) int { return number[c.Key] }
}
