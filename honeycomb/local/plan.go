package local

import "github.com/seed-91e7e7c1/corona/honeycomb"

// A Plan is an owner's solved problem, whose load stays within the owner's part of the
// budget while the other owners' plans are not known to make room.
type Plan struct {
	Problem  *honeycomb.Problem
	Solution *honeycomb.Solution

	config   honeycomb.Config
	channels honeycomb.Channels
	part     float64   // of a budget that was set, where nothing of others is known
	most     allowance // where something is
	limit    float64   // of all owners' plans together
	wanted   float64   // load, were it free to grow
	capped   bool      // Problem is of the owner's channels alone, within its part
}

// Solve solves for an owner's channels: beside those of others, or within the owner's
// part of the budget where that would be more. Where nothing of others is known the
// problem is the owner's own, with its part of a budget that was set. most is a load that
// the owner alone may not pass, in the budget's unit, 0: none.
func Solve(config honeycomb.Config, channels honeycomb.Channels, others Others, corrector *Corrector, most float64) (*Plan, error) {
	p := &Plan{config: config, channels: channels}
	var err error
	if len(others.Summaries) == 0 {
		config.Budget *= others.Part
		config.Capacity = most
		p.Problem, err = honeycomb.Prepare(config, channels)
	} else {
		p.Problem, err = Prepare(config, channels, others, corrector)
	}
	if err != nil {
		return nil, err
	}
	p.solved()
	if len(others.Summaries) == 0 {
		p.part = config.Budget
		return p, nil
	}
	p.most = others.allowance(config.Budget, p.Problem.Totals().Auto, most)
	return p, p.cap()
}

// Update solves again after the columns changed in some rows, as [honeycomb.Problem.Update].
func (p *Plan) Update(rows ...int) error {
	solution, err := p.Problem.Update(rows...)
	if err != nil {
		return err
	}
	if p.Solution = solution; p.capped {
		return nil
	}
	p.solved()
	return p.cap()
}

func (p *Plan) solved() {
	if p.Solution == nil {
		p.Solution = p.Problem.Solve()
	}
	p.limit, p.wanted = p.Problem.Totals().Limit, p.Solution.Load
}

// cap solves for the owner's channels alone where its plan has grown beyond its part.
func (p *Plan) cap() error {
	most := max(p.most.at(p.Problem.Totals().Auto), smallest)
	if !p.most.limited || p.wanted <= most {
		return nil
	}
	config, alone := p.config, honeycomb.Outside{Part: 1}
	if config.Policy == honeycomb.Fast {
		config.Policy = honeycomb.Lite // its target is all owners'
	}
	if config.Budget > 0 {
		config.Budget = most
	} else { // the part goes on following the subscribers
		alone.Sums = []honeycomb.OutsideSums{{Auto: most - p.Problem.Totals().Auto}}
	}
	problem, err := honeycomb.PrepareBeside(config, p.channels, alone)
	if err != nil {
		return err
	}
	p.Problem, p.capped = problem, true
	p.Solution = problem.Solve()
	return nil
}

// Budget returns the owner's part of the budget of all; 0: what its own subscribers
// would cause alone.
func (p *Plan) Budget() float64 {
	if !p.most.limited {
		return p.part
	}
	return p.most.at(p.Problem.Totals().Auto)
}

// grows is by how much an allowance must have grown to be worth another solve.
const grows = 0.01

// Grows returns a function that reports whether a plan that was kept within its allowance
// could grow, knowing what is known of others by then. It may be called while the plan
// changes.
func (p *Plan) Grows() func(Others) bool {
	if !p.capped {
		return func(Others) bool { return false }
	}
	budget, auto, had, wanted := p.config.Budget, p.Problem.Totals().Auto, p.Budget(), p.wanted
	return func(o Others) bool {
		return min(o.allowance(budget, auto, 0).load, wanted) > had+grows*max(had, wanted)
	}
}

// SummariseParts is [SummariseParts] of the plan.
func (p *Plan) SummariseParts(parts int, part func(row int) int) []Summary {
	all := SummariseParts(p.Problem, parts, part)
	load := p.Solution.Load
	for i := range all {
		all[i].Limit = p.limit
		if p.capped && load > 0 {
			all[i].Wanted *= max(p.wanted/load, 1)
		}
	}
	return all
}
