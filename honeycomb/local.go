package honeycomb

import (
	"math"
	"slices"
)

// Others are what an owner knows of the channels that are not its own.
type Others struct {
	Summaries []Summary
	// Missing says how many ranges nobody has heard of lately, of how many in
	// all. They keep their part of a budget that was set, and have none of one
	// that follows the subscribers.
	Missing, Ranges int
	// Last is the owner's own latest summary, nil before there is one.
	Last *Summary
	// Measured is the load of all channels together as it was measured, in the
	// budget's unit; 0: not known.
	Measured float64
}

// rest is what others' channels add to a problem, beside their stand-ins.
type rest struct {
	subscribers, auto    sum
	fixedLoad, fixedWait float64
	part                 float64 // of a set budget that is for the ranges that are known
	correction           float64
}

// PrepareLocal is [Prepare] for an owner: the channels are its own, exactly, and
// others stand for the rest. Budgets and targets are those of all together; what
// is solved, reported and summarised is the owner's share. Such a problem is not
// for [Problem.Update].
//
// The corrector, which may be nil, is moved on by one interval: once for each
// call.
func PrepareLocal(config Config, channels Channels, others Others, corrector *Corrector) (*Problem, error) {
	p, err := begin(config, channels)
	if err != nil {
		return nil, err
	}
	p.include(others)
	p.correct(others, corrector)
	if err := p.bound(); err != nil {
		return nil, err
	}
	return p, nil
}

// include appends stand-ins for the channels of others.
func (p *Problem) include(others Others) {
	p.rest = &rest{part: 1, correction: 1}
	if others.Ranges > 0 {
		p.rest.part = float64(others.Ranges-others.Missing) / float64(others.Ranges)
	}
	p.columns.own()
	p.columns.dither()
	for _, s := range others.Summaries {
		load, wait := s.calibration(p.columns.rungs)
		for _, cluster := range s.Clusters {
			cluster.standIns(&p.columns, load, wait)
		}
		p.rest.fixedLoad += s.FixedLoad
		p.rest.fixedWait += s.FixedWait
		p.rest.subscribers.add(s.Subscribers)
		p.rest.auto.add(s.Auto)
	}
	p.path.rung = make([]int32, len(p.columns.key))
}

// correct moves the corrector on by what all planned last. Plans are compared
// with the limit that they were made for and with the one that there is now:
// while it moves no plan can be at it, and up to as far beyond the two as they are
// apart it is nobody's error.
func (p *Problem) correct(others Others, corrector *Corrector) {
	if corrector == nil || others.Last == nil {
		return
	}
	var planned, meant float64 // meant is planned, times the limit that it was made for
	for _, s := range slices.Concat(others.Summaries, []Summary{*others.Last}) {
		plan := s.Planned
		if p.config.Policy == Fast {
			plan = s.Wait
		}
		planned += plan
		meant += plan * s.Limit
	}
	measured := others.Measured
	if p.config.Policy == Fast {
		measured = 0
	}
	now, then := p.limit(), meant/max(planned, smallest)
	moved := math.Abs(now - then)
	limit := min(max(planned, measured, min(now, then)-moved), max(now, then)+moved)
	p.rest.correction = corrector.Next(planned, measured, limit, others.Last.Lambda > 0)
}

// own gives columns a key and costs of their own, where weights serve as keys.
func (c *columns) own() {
	c.key = append([]float64(nil), c.key...)
	if c.cost != nil {
		return
	}
	c.cost = make([]float64, len(c.key))
	for i, weight := range c.weight {
		if weight > 0 {
			c.cost[i] = 1
		}
	}
}

// dither is by how much keys are moved apart, relative, from end to end.
const dither = 0.03

// dither moves every key by a little of its own. Channels that are alike, all
// those with one subscriber say, want a step at the same multiplier; dithered,
// each owner gives it to the same part of them instead of to all or none. It
// costs less than a thousandth of the objective.
func (c *columns) dither() {
	for i := range c.key {
		c.key[i] *= 1 + dither*(unitHash(uint64(i))-0.5)
	}
}

// unitHash maps numbers evenly to [0, 1). (Steele, Lea and Flood's SplitMix64.)
func unitHash(x uint64) float64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// calibration is by how much the load and the wait that a range planned differ
// from what its clusters say at the multiplier it planned with.
func (s Summary) calibration(r *rungs) (load, wait float64) {
	if s.Lambda <= 0 {
		return 1, 1
	}
	modelLoad, modelWait := s.at(r, s.Lambda)
	return ratio(s.Planned-s.FixedLoad, modelLoad), ratio(s.Wait-s.FixedWait, modelWait)
}

// ratio returns planned over model, unless the two have nothing to do with each
// other.
func ratio(planned, model float64) float64 {
	if !(model > 0) || !(planned > 0) {
		return 1
	}
	return min(max(planned/model, 0.5), 2)
}

// A Corrector steers the sum of all plans to the limit: what clusters get wrong
// moves the limit that every owner solves for, a little each maintenance
// interval.
type Corrector struct {
	// Gain is how much of an error is taken back in one interval; 0 means
	// DefaultGain. More than MostGain is taken for MostGain: what is corrected
	// is seen one or two intervals late, and a gain of 1 oscillates.
	Gain float64

	factor float64
}

const (
	// DefaultGain settles without overshoot when plans are seen two intervals
	// late: 4/27 is critical damping there (1/4 with one).
	DefaultGain = 4.0 / 27
	MostGain    = 0.3

	farthest = 1.25 // that a correction goes
)

// Next takes the sum of all plans, the load that was measured (0: not), and the
// limit they are to meet, and returns the factor on the limit. What was measured
// may only lower it. When the limit did not bind, there is nothing to correct
// and the factor goes back to 1.
func (c *Corrector) Next(planned, measured, limit float64, binds bool) float64 {
	gain := DefaultGain
	if c.Gain > 0 {
		gain = min(c.Gain, MostGain)
	}
	if c.factor == 0 {
		c.factor = 1
	}
	load := max(planned, measured)
	switch {
	case !binds && load <= limit:
		c.factor += gain * (1 - c.factor)
	case load > 0 && limit > 0:
		c.factor *= 1 + gain*(limit/max(load, limit/4)-1)
	}
	c.factor = min(max(c.factor, 1/farthest), farthest)
	return c.factor
}
