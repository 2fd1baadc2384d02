package local

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/honeycomb/internal/workload"
)

// cluster is a simulated cluster of owners of one range each: they solve once a
// round, from summaries that arrive delay rounds late.
type cluster struct {
	config  honeycomb.Config
	all     honeycomb.Channels
	ranges  []honeycomb.Channels
	rows    [][]int // of all
	boards  []*Board
	correct []Corrector
	history [][]Summary // by round, then range
	dead    map[int]bool
	delay   int
}

func split(config honeycomb.Config, ch honeycomb.Channels, ranges, delay int) *cluster {
	c := &cluster{config: config, all: ch, delay: delay, dead: map[int]bool{},
		ranges: make([]honeycomb.Channels, ranges), rows: make([][]int, ranges), correct: make([]Corrector, ranges)}
	for range ranges {
		c.boards = append(c.boards, NewBoard(1))
	}
	for i := range ch.Len() {
		r := i * 7919 % ranges
		c.rows[r] = append(c.rows[r], i)
	}
	for r, rows := range c.rows {
		c.ranges[r] = rowsOf(ch, rows)
	}
	return c
}

// channels is the paper's workload, of n channels.
func channels(n int) honeycomb.Channels {
	return honeycomb.Channels{Subscribers: workload.Subscribers(n)}
}

// mixed adds sizes and update intervals to it.
func mixed(n int) honeycomb.Channels {
	ch := channels(n)
	ch.SizeBytes, ch.UpdateInterval, _ = workload.Mixed(n)
	return ch
}

// rowsOf returns some rows of channels.
func rowsOf(ch honeycomb.Channels, rows []int) (some honeycomb.Channels) {
	for _, i := range rows {
		some.Subscribers = append(some.Subscribers, ch.Subscribers[i])
		if ch.SizeBytes != nil {
			some.SizeBytes = append(some.SizeBytes, ch.SizeBytes[i])
			some.UpdateInterval = append(some.UpdateInterval, ch.UpdateInterval[i])
		}
	}
	return some
}

// waitTarget is a configuration's target in the solver's units, Σ q/rate.
func waitTarget(config honeycomb.Config, subscribers float64) float64 {
	return config.Target.Seconds() * 2 / config.Interval.Seconds() * subscribers
}

// central solves for all channels at once. unit is the seconds of a policy's objective
// for each unit of Σ weight/rate over Σ q.
func central(t *testing.T, config honeycomb.Config, ch honeycomb.Channels) (s *honeycomb.Solution, unit float64) {
	t.Helper()
	p, err := honeycomb.Prepare(config, ch)
	if err != nil {
		t.Fatal(err)
	}
	s = p.Solve()
	var wait float64
	for c := range p.Planned() {
		wait += c.Wait
	}
	return s, s.Objective * p.Totals().Subscribers / wait
}

// round lets all living owners solve, and returns the sums of their plans.
func (c *cluster) round(t *testing.T) (load, wait, weight float64) {
	t.Helper()
	now := len(c.history)
	sent := make([]Summary, len(c.ranges))
	for r := range c.ranges {
		if c.dead[r] {
			continue
		}
		sent[r] = c.solve(t, r, now)
		load += sent[r].Planned
		wait += sent[r].Wait
		weight += sent[r].Subscribers
	}
	c.history = append(c.history, sent)
	return load, wait, weight
}

// grow gives every channel a part of its subscribers, whole ones, at least one.
func (c *cluster) grow(part float64) {
	for r, rows := range c.rows {
		for k, i := range rows {
			c.ranges[r].Subscribers[k] = max(math.Floor(part*c.all.Subscribers[i]), 1)
		}
	}
}

// solve is one owner's maintenance, in a round.
func (c *cluster) solve(t *testing.T, r, round int) Summary {
	t.Helper()
	now := time.Duration(round)
	put := func(board *Board, n, round int, s Summary) {
		board.Put(Told{Range: uint32(n), Term: 1, Sequence: uint64(round), Summary: s}, now)
	}
	if from := round - c.delay; from >= 0 && c.delay > 0 {
		for other, s := range c.history[from] {
			if len(s.Clusters) > 0 && other != r {
				put(c.boards[r], other, from, s)
			}
		}
	}
	others := c.boards[r].Others(now, []uint32{uint32(r)}, func(uint32) float64 { return 1 / float64(len(c.ranges)) })
	p, err := Solve(c.config, c.ranges[r], others, &c.correct[r], 0)
	if err != nil {
		t.Fatal(err)
	}
	own := p.SummariseParts(1, func(int) int { return 0 })[0]
	for other, board := range c.boards {
		if other == r || c.delay == 0 {
			put(board, r, round, own)
		}
	}
	return own
}

// The figures of the decentralised solve: after three maintenance intervals the
// sum of all plans is within 1 % of the limit and the objective within 2 % of
// the central one, and later rounds do not leave that. Where each summary is an
// interval later it takes five.
func TestDecentralised(t *testing.T) {
	for _, tc := range []struct {
		ladder honeycomb.Ladder
		policy honeycomb.Policy
		cost   honeycomb.Cost
	}{
		{honeycomb.Any(), honeycomb.Lite, honeycomb.Polls}, {honeycomb.Any(), honeycomb.Fast, honeycomb.Polls}, {honeycomb.Any(), honeycomb.Fair, honeycomb.Bytes},
		{honeycomb.Prefix(16), honeycomb.Lite, honeycomb.Polls}, {honeycomb.Prefix(16), honeycomb.Fast, honeycomb.Polls}, {honeycomb.Prefix(16), honeycomb.FairSqrt, honeycomb.Polls}, {honeycomb.Prefix(16), honeycomb.Lite, honeycomb.Bytes},
		{honeycomb.Geometric(2), honeycomb.Lite, honeycomb.Polls}, {honeycomb.Geometric(2), honeycomb.Fair, honeycomb.Bytes},
	} {
		for delay := 1; delay <= 2; delay++ {
			name := fmt.Sprintf("%v/%v/%v/delay=%d", tc.ladder, tc.policy, tc.cost, delay)
			t.Run(name, func(t *testing.T) { decentralised(t, tc.ladder, tc.policy, tc.cost, delay) })
		}
	}
}

func decentralised(t *testing.T, ladder honeycomb.Ladder, policy honeycomb.Policy, cost honeycomb.Cost, delay int) {
	config := honeycomb.Config{Policy: policy, Ladder: ladder, Cost: cost, Nodes: 1024, Interval: 30 * time.Minute, Target: 60 * time.Second}
	ch := mixed(20_000)
	central, unit := central(t, config, ch)
	c := split(config, ch, 16, delay)
	var worst float64
	for round := range 12 {
		load, wait, weight := c.round(t)
		objective, limit := wait*unit/weight, central.Budget
		planned := load
		if policy == honeycomb.Fast {
			objective, planned, limit = load, wait, waitTarget(config, weight)
		}
		off, worse := planned/limit-1, objective/central.Objective-1
		if round < 1+2*delay {
			continue
		}
		worst = max(worst, math.Abs(off))
		if math.Abs(off) > 0.01 {
			t.Errorf("round %d: planned %+.4f off the limit", round, off)
		}
		if worse > 0.02 || (worse < -0.02) {
			t.Errorf("round %d: objective %+.4f off the central one", round, worse)
		}
	}
	t.Logf("off by at most %.5f", worst)
}
