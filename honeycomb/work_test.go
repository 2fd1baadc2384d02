package honeycomb

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What a search costs is how often it looks at all channels. That must not grow, whatever
// the channels are like: each line has the mean and the most over policies, costs and
// ladders. A sample counts as none.
func TestPassesOfSearch(t *testing.T) {
	for _, tc := range []passes{
		{"spread", 500, 5.6, 7}, {"equal", 500, 21.7, 34}, {"few", 500, 17.1, 24}, {"bounds", 500, 7.2, 15},
		{"spread", 3_000, 6.5, 10}, {"equal", 3_000, 19.5, 24}, {"few", 3_000, 16.3, 20}, {"bounds", 3_000, 7.5, 16},
	} {
		tc.check(t)
	}
}

// TestPassesOfLargeSearch is the same for channels that a sample is taken of.
func TestPassesOfLargeSearch(t *testing.T) {
	for _, tc := range []passes{
		{"spread", 30_000, 3.9, 8}, {"equal", 30_000, 9.3, 25}, {"few", 30_000, 5.4, 22}, {"bounds", 30_000, 4.5, 8}, {"misled", 30_000, 8.5, 10},
	} {
		tc.check(t)
	}
}

// passes are what searches of some channels take.
type passes struct {
	shape      string
	channels   int
	mean, most float64
}

func (want passes) check(t *testing.T) {
	t.Helper()
	var all, most, solves float64
	for _, policy := range []Policy{Lite, Fast} {
		for _, cost := range []Cost{Polls, Bytes} {
			for _, ladder := range []Ladder{Any(), Prefix(4), Geometric(1.5)} {
				c, ch := shaped(policy, cost, want.channels, want.shape)
				c.Ladder = ladder
				p, s := mustSolve(t, c, ch)
				if s.Lambda == 0 {
					continue // no limit binds
				}
				n := float64(p.columns.placed) / float64(want.channels)
				all, most, solves = all+n, max(most, n), solves+1
			}
		}
	}
	if mean := math.Round(10*all/solves) / 10; solves < 9 || mean > want.mean || most > want.most {
		t.Errorf("%d channels, %s: %.1f passes, %.0f at most, of %.0f searches; want %.1f, %.0f",
			want.channels, want.shape, mean, most, solves, want.mean, want.most)
	}
}

// shaped is a problem whose limit lies amid its steps, with channels of a kind.
func shaped(policy Policy, cost Cost, n int, shape string) (Config, Channels) {
	c, ch := manyKeys(policy, cost, n)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		switch shape {
		case "equal":
			ch.Subscribers[i], ch.SizeBytes[i] = 7, 11 // one great tie
		case "few":
			ch.Subscribers[i], ch.SizeBytes[i] = float64(1+i%3), 11
		case "misled":
			if i%8 == 4 { // the rows of the sample
				ch.Subscribers[i] = math.Exp(1 + r.Float64())
			}
		}
	}
	if shape == "bounds" {
		ch.MinRate, ch.MaxRate = make([]float64, n), make([]float64, n)
		for i := range n {
			ch.MinRate[i], ch.MaxRate[i] = float64(1+i%3), float64(5+i%40)
		}
	}
	return c, ch
}

// The same for a host's cap: where its multiplier lies is known to a factor, or not at
// all.
func TestPassesOfFill(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	n := 2*block + 500
	weights, costs := make([]float64, n), make([]float64, n)
	for i := range n {
		weights[i], costs[i] = math.Exp(7*r.Float64()), math.Exp(2*r.Float64())
	}
	for _, tc := range []struct{ each, unknown, wide, close float64 }{
		{0.5, 13, 7, 5}, {1.1, 15, 9, 5}, {4, 16, 8, 5}, {20, 16, 16, 5}, {50, 20, 17, 5},
	} {
		g := groupOf(t, tc.each*float64(n), weights, costs)
		lambda := 0.01 / tc.each / tc.each
		var f filler
		rung := make([]int32, n)
		passes := func(least, most float64) (mu, passes float64) {
			g.placed = 0
			mu = f.fill(g, lambda, least, most, rung)
			return mu, float64(g.placed) / float64(n)
		}
		mu, unknown := passes(0, math.Inf(1))
		_, wide := passes(mu/9, mu*40)
		_, close := passes(mu*0.999, mu*1.001)
		if unknown > tc.unknown || wide > tc.wide || close > tc.close {
			t.Errorf("%v polls each: %v, %v and %v passes; want %v, %v and %v", tc.each, unknown, wide, close, tc.unknown, tc.wide, tc.close)
		}
	}
}

// An update of some channels looks at no others, as long as the limit stays among the
// steps that it knows.
func TestPassesOfUpdate(t *testing.T) {
	for _, policy := range []Policy{Lite, Fast} {
		c, ch := shaped(policy, Polls, 30_000, "spread")
		p, _ := mustSolve(t, c, ch)
		for _, rows := range []int{1, 100, 30_000 / 16} {
			before := p.columns.placed
			changed := make([]int, rows)
			for k := range changed {
				changed[k] = k * 16
				ch.Subscribers[k*16] *= 1 + 0.001*float64(k%3-1)
			}
			if _, err := p.Update(changed...); err != nil {
				t.Fatal(err)
			}
			if p.columns.placed != before {
				t.Errorf("%v: an update of %d rows looked at %d", policy, rows, p.columns.placed)
			}
		}
	}
}
