package honeycomb

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// cluster is a simulated cluster of owners of one range each: they solve once a
// round, from summaries that arrive delay rounds late.
type cluster struct {
	config  Config
	all     Channels
	ranges  []Channels
	rows    [][]int // of all
	boards  []Board
	correct []Corrector
	last    []*Problem
	history [][]Summary // by round, then range
	dead    map[int]bool
	delay   int
}

func split(config Config, ch Channels, ranges, delay int) *cluster {
	c := &cluster{config: config, all: ch, delay: delay, dead: map[int]bool{},
		ranges: make([]Channels, ranges), rows: make([][]int, ranges), boards: make([]Board, ranges),
		correct: make([]Corrector, ranges), last: make([]*Problem, ranges)}
	for i := range ch.Len() {
		r := i * 7919 % ranges
		c.rows[r] = append(c.rows[r], i)
	}
	for r, rows := range c.rows {
		c.ranges[r] = permuted(ch, rows)
	}
	return c
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
		p := c.solve(t, r, uint64(now))
		sent[r] = p.Summarise()
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

// solve is one owner's maintenance.
func (c *cluster) solve(t *testing.T, r int, now uint64) *Problem {
	t.Helper()
	if from := int(now) - c.delay; from >= 0 {
		for other, s := range c.history[from] {
			if len(s.Clusters) > 0 {
				c.boards[r].Put(uint32(other), 1, uint64(from), now, s)
			}
		}
	}
	others := c.boards[r].Others(now, []uint32{uint32(r)}, len(c.ranges))
	if p := c.last[r]; p != nil {
		last := p.Summarise()
		others.Last = &last
	}
	p, err := PrepareLocal(c.config, c.ranges[r], others, &c.correct[r])
	if err != nil {
		t.Fatal(err)
	}
	p.Solve()
	c.last[r] = p
	return p
}

// The figures of the decentralised solve: after three maintenance intervals the
// sum of all plans is within 1 % of the limit and the objective within 2 % of
// the central one, and later rounds do not leave that.
func TestDecentralised(t *testing.T) {
	for _, tc := range []struct {
		ladder Ladder
		policy Policy
		cost   Cost
	}{
		{Any(), Lite, Polls}, {Any(), Fast, Polls}, {Any(), Fair, Bytes},
		{Prefix(16), Lite, Polls}, {Prefix(16), Fast, Polls}, {Prefix(16), FairSqrt, Polls}, {Prefix(16), Lite, Bytes},
		{Geometric(2), Lite, Polls}, {Geometric(2), Fair, Bytes},
	} {
		for delay := 1; delay <= 2; delay++ {
			name := fmt.Sprintf("%v/%v/%v/delay=%d", tc.ladder, tc.policy, tc.cost, delay)
			t.Run(name, func(t *testing.T) { decentralised(t, tc.ladder, tc.policy, tc.cost, delay) })
		}
	}
}

func decentralised(t *testing.T, ladder Ladder, policy Policy, cost Cost, delay int) {
	config := Config{Policy: policy, Ladder: ladder, Cost: cost, Nodes: 1024, Interval: 30 * time.Minute, Target: 60 * time.Second}
	ch := mixed(20_000)
	ch.Host = nil
	_, central := mustSolve(t, config, ch)
	c := split(config, ch, 16, delay)
	var worst float64
	for round := range 12 {
		load, wait, weight := c.round(t)
		objective, limit := wait*c.last[0].unit()/weight, central.Budget
		planned := load
		if policy == Fast {
			objective, planned, limit = load, wait, c.last[0].waitTarget()
		}
		off, worse := planned/limit-1, objective/central.Objective-1
		if round < 3 {
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
