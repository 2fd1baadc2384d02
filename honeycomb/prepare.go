package honeycomb

// A Problem is a [Config] and its [Channels], checked and made ready. It is not
// safe for concurrent use.
type Problem struct {
	config   Config
	channels Channels
	columns  columns
	crowd    []float64 // subscribers of each channel, as last read

	subscribers sum // Σ q
	auto        sum // Σ q·cost
	polled      int // channels with subscribers
	floorLoad   sum // Σ cost·rate with all channels at their lowest
	released    release
	hosts       hosts
	path        path
	last        outcome

	beside *beside // channels of others, nil: there are none
}

// release says which lower bounds hold.
type release uint8

const (
	keepAll  release = iota // a poll an interval, and the channels' own
	keepOwn                 // the channels' own: the limit is under a poll an interval each
	keepNone                // none: the limit is under them
)

// Prepare checks all input and makes it ready to be solved. It returns an error
// with [ErrConfig] in its chain, or a [*RowError].
func Prepare(config Config, channels Channels) (*Problem, error) {
	p, err := begin(config, channels)
	if err != nil {
		return nil, err
	}
	if err := p.bound(); err != nil {
		return nil, err
	}
	return p, nil
}

// begin checks all input and weighs the channels.
func begin(config Config, channels Channels) (*Problem, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if err := config.checkColumns(channels); err != nil {
		return nil, err
	}
	rungs, err := config.rungs()
	if err != nil {
		return nil, err
	}
	p := &Problem{config: config, channels: channels}
	p.columns = columns{rungs: rungs, floor: 0, ceiling: rungs.top}
	if err := p.weigh(); err != nil {
		return nil, err
	}
	p.path = newPath(&p.columns)
	return p, nil
}

// weigh computes weights and costs.
func (p *Problem) weigh() error {
	if err := p.channels.check(); err != nil {
		return err
	}
	n := p.channels.Len()
	p.columns.weight = make([]float64, n)
	p.columns.key = p.columns.weight
	p.crowd = p.columns.weight
	if p.config.Policy.fair() {
		p.crowd = make([]float64, n)
	}
	if p.config.Cost == Bytes {
		p.columns.cost = make([]float64, n)
		p.columns.key = make([]float64, n)
	}
	if p.config.Cost == Polls && !p.config.Policy.fair() {
		p.weighCrowd()
		return nil
	}
	var subscribers, auto sum
	for i := range n {
		f := p.factors(i)
		p.crowd[i] = f.subscribers
		p.columns.set(i, f)
		subscribers = subscribers.plus(f.subscribers)
		auto = auto.plus(float64(f.subscribers * f.cost))
		if f.subscribers > 0 {
			p.polled++
		}
	}
	p.subscribers, p.auto = subscribers.settled(), auto.settled()
	return nil
}

// weighCrowd is weigh where subscribers are all that counts.
func (p *Problem) weighCrowd() {
	var subscribers sum
	p.polled = p.channels.Len()
	for i, q := range p.channels.Subscribers {
		p.columns.weight[i] = q
		subscribers = subscribers.plus(q)
		if q == 0 {
			p.columns.stop(i)
			p.polled--
		}
	}
	p.subscribers = subscribers.settled()
	p.auto = p.subscribers
}

// admit takes a row into columns and sums.
func (p *Problem) admit(i int, f factors) {
	p.count(f.subscribers, f.cost, 1)
	p.crowd[i] = f.subscribers
	p.columns.set(i, f)
}

// factors are what a row says.
type factors struct {
	subscribers, cost, weight float64
}

// factors reads a row.
func (p *Problem) factors(i int) factors {
	f := factors{subscribers: p.channels.Subscribers[i], cost: 1, weight: 1}
	if p.config.Cost == Bytes {
		// A cost of 0 counts as the smallest that can be computed with.
		f.cost = max(p.channels.SizeBytes[i], smallest)
	}
	if p.config.Policy.fair() {
		f.weight = p.config.Policy.weight(p.channels.UpdateInterval[i])
	}
	return f
}

// count adds a row to the sums, or takes it out again.
func (p *Problem) count(subscribers, cost, sign float64) {
	if subscribers > 0 {
		p.subscribers.add(sign * subscribers)
		p.auto.add(sign * float64(subscribers*cost))
		p.polled += int(sign)
	}
}

func (p *Problem) settle() {
	p.subscribers, p.auto = p.subscribers.settled(), p.auto.settled()
}

// set writes a row.
func (c *columns) set(i int, f factors) {
	if f.subscribers == 0 {
		c.stop(i)
		return
	}
	c.weight[i] = f.subscribers * f.weight
	if c.cost == nil {
		return
	}
	c.cost[i] = f.cost
	c.key[i] = c.weight[i] / f.cost
	if c.dithered {
		c.key[i] *= ditherOf(i)
	}
}

// stop takes a channel out of all sums.
func (c *columns) stop(i int) {
	if c.cost == nil {
		c.cost = make([]float64, len(c.key))
		for j := range c.cost {
			c.cost[j] = 1
		}
	}
	c.key[i], c.weight[i], c.cost[i] = 0, 0, 0
}

// budget returns the ceiling of Σ cost·rate, of all channels together.
func (p *Problem) budget() float64 {
	auto, budget := p.auto, p.config.Budget
	part := 1.0
	if p.beside != nil {
		auto.join(p.beside.auto)
		part = p.beside.part
	}
	if budget == 0 {
		budget, part = auto.value(), 1
	}
	budget *= part
	if p.config.Capacity > 0 {
		budget = min(budget, p.config.Capacity)
	}
	return budget
}

// loadLimit is what the budget leaves to channels that follow the multiplier.
func (p *Problem) loadLimit() float64 {
	if p.beside == nil {
		return p.budget()
	}
	limit := p.budget()
	if p.config.Policy != Fast {
		limit *= p.beside.correction
	}
	return max(limit-p.beside.fixedLoad, smallest)
}

// limit is what all channels' plans together are to come to: the budget or, for
// Fast, the target, or the wait that is in reach when the target is not.
func (p *Problem) limit() float64 {
	switch {
	case p.config.Policy != Fast:
		return p.budget()
	case p.last.unmet.Target && p.beside != nil:
		return p.path.wait.value() + p.beside.fixedWait
	}
	return p.waitTarget()
}

// waitTarget is the target of all channels together in the solver's units,
// Σ q/rate.
func (p *Problem) waitTarget() float64 {
	all := p.subscribers
	if p.beside != nil {
		all.join(p.beside.subscribers)
	}
	return p.config.Target.Seconds() * 2 / p.config.Interval.Seconds() * all.value()
}

// waitLimit is what it leaves to channels that follow the multiplier.
func (p *Problem) waitLimit() float64 {
	if p.beside == nil {
		return p.waitTarget()
	}
	return max(p.waitTarget()*p.beside.correction-p.beside.fixedWait, smallest)
}
