package honeycomb

import (
	"iter"
	"slices"
)

// Outside is what channels outside a problem add to it when several owners solve for
// one budget: channels that stand in for theirs, which are solved with the problem's own
// and never reported, and sums that change its limits. Package local makes it.
type Outside struct {
	StandIns StandIns
	Sums     []OutsideSums // added in this order
	Part     float64       // of a set budget that is for the channels inside and outside, 0 to 1

	// Correct returns the factor on the limit that the plans of all owners together are
	// to meet; nil: 1. It is called once.
	Correct func(limit float64) float64
}

// OutsideSums are exact sums over channels outside, and the load and wait of those among
// them that do not follow the multiplier.
type OutsideSums struct {
	Subscribers, Auto    float64 // Σ q, Σ q·cost
	FixedLoad, FixedWait float64 // Σ cost·rate, Σ weight/rate
}

// StandIns are channels by column, all of one length.
type StandIns struct {
	Key, Cost, Weight []float64 // Key is weight/cost
}

// beside is what a problem keeps of an [Outside].
type beside struct {
	subscribers, auto    sum
	fixedLoad, fixedWait float64
	part                 float64 // of a set budget
	correction           float64 // factor on the limit
	of                   Outside // what it was made from
}

// PrepareBeside is [Prepare] for a part of all channels: budgets and targets are those
// of all together; what is solved and reported is the part. [Problem.Update] takes what
// is outside, and the correction, as they were.
func PrepareBeside(config Config, channels Channels, others Outside) (*Problem, error) {
	p, err := begin(config, channels)
	if err != nil {
		return nil, err
	}
	p.include(others)
	if others.Correct != nil {
		p.beside.correction = others.Correct(p.limit())
	}
	if err := p.bound(); err != nil {
		return nil, err
	}
	return p, nil
}

// include appends stand-ins for the channels of others.
func (p *Problem) include(others Outside) {
	p.beside = &beside{part: others.Part, correction: 1, of: others}
	p.columns.own()
	p.columns.dither()
	p.columns.append(others.StandIns)
	for _, s := range others.Sums {
		p.beside.fixedLoad += s.FixedLoad
		p.beside.fixedWait += s.FixedWait
		p.beside.subscribers.add(s.Subscribers)
		p.beside.auto.add(s.Auto)
	}
	p.path.rung = make([]int32, len(p.columns.key))
}

func (c *columns) append(s StandIns) {
	c.key = append(c.key, s.Key...)
	c.cost = append(c.cost, s.Cost...)
	c.weight = append(c.weight, s.Weight...)
}

// own gives columns a key and costs of their own, where weights serve as keys.
func (c *columns) own() {
	c.key = slices.Clone(c.key)
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

// dither moves each key by a small amount, by a hash of its row. Equal channels, such
// as all with one subscriber, want a step at the same multiplier; dithered, each owner
// gives it to the same part of them instead of to all or none. It costs less than a
// thousandth of the objective.
func (c *columns) dither() {
	c.dithered = true
	for i := range c.key {
		c.key[i] *= ditherOf(i)
	}
}

// ditherOf is the factor on the key of a row.
func ditherOf(i int) float64 { return 1 + dither*(unitHash(uint64(i))-0.5) }

// unitHash maps numbers evenly to [0, 1). (Steele, Lea and Flood's SplitMix64.)
func unitHash(x uint64) float64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// A Response says how load and wait follow the multiplier on a configuration's ladder.
type Response struct{ rungs *rungs }

// NewResponse returns a configuration's. Its error is [Config.Validate]'s.
func NewResponse(config Config) (Response, error) {
	if err := config.Validate(); err != nil {
		return Response{}, err
	}
	rungs, err := config.rungs()
	return Response{rungs}, err
}

// At returns Σ cost·rate and Σ weight/rate of channels that take all steps worth a
// multiplier: all but for rounding.
func (r Response) At(s StandIns, lambda float64) (load, wait float64) {
	c := &columns{rungs: r.rungs, key: s.Key, cost: s.Cost, weight: s.Weight, ceiling: r.rungs.top}
	load, _ = c.at(goal{}, lambda)
	wait, _ = c.at(goal{wait: true}, lambda)
	return load, wait
}

// Planned is a channel in the latest solve's plan, in the solver's units: cost of a poll
// and polls per interval.
type Planned struct {
	Row         int
	Subscribers float64

	Key, Cost, Weight float64 // Key is weight/cost, as the solver took it
	Load, Wait        float64 // cost·rate, weight/rate
	Fixed             bool    // held by a bound that is not the ladder's: it does not follow the multiplier
}

// Planned yields the problem's own channels that have subscribers, by row.
func (p *Problem) Planned() iter.Seq[Planned] {
	return func(yield func(Planned) bool) {
		for i, key := range p.columns.key[:len(p.crowd)] {
			if p.columns.weight[i] == 0 {
				continue
			}
			n := p.path.rung[i]
			planned := Planned{Row: i, Subscribers: p.crowd[i], Key: key, Cost: p.columns.costOf(i), Weight: p.columns.weight[i],
				Load: p.columns.loadOf(i, n), Wait: p.columns.waitOf(i, n), Fixed: p.fixed(i)}
			if !yield(planned) {
				return
			}
		}
	}
}

// fixed says whether a channel is held by a bound that is not the ladder's.
func (p *Problem) fixed(i int) bool {
	lo, hi := p.columns.bounds(i)
	n := p.path.rung[i]
	return n == hi && hi < p.columns.rungs.top || n == lo && lo > 0
}

// Totals are sums over a problem's own channels, and what the latest solve met.
type Totals struct {
	Subscribers, Auto float64 // Σ q, Σ q·cost
	Lambda            float64 // weight/rate that another unit of cost would save; 0: no limit binds
	Limit             float64 // of all owners' plans together: the budget, for Fast the wait
}

// Totals returns them.
func (p *Problem) Totals() Totals {
	return Totals{Subscribers: p.subscribers.value(), Auto: p.auto.value(), Lambda: p.last.lambda, Limit: p.limit()}
}
