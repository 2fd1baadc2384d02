package main

import (
	"context"
	"fmt"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// plan is the node's plan beside what the same factors allow, in the unit of the cost
// per interval.
type plan struct {
	Budget      float64 `json:"budget"`
	Subscribers float64 `json:"subscribers"`
	Feasible    float64 `json:"feasible"` // what highest rates and host caps allow
	Solved      float64 `json:"solved"`   // what the solver, given the node's budget and the factors that it tells, takes
	Planned     float64 `json:"planned"`
	SameRates   float64 `json:"same_rates"` // share of channels with the rate of that solution; ties are broken by row
	HostsBound  int     `json:"hosts_bound"`
	SolveMs     float64 `json:"solve_ms"`
	PlannedS    float64 `json:"detection_planned_s"`
	BoundS      float64 `json:"detection_bound_s"`
}

// reserve is the part of a host's cap that is for first polls, retries and redirects.
const reserve = 0.05

// noLimit is a budget that nothing meets.
const noLimit = 1e18

// check solves for the node's channels once more, from outside.
func (s *scenario) check(ctx context.Context) (p plan, err error) {
	status, err := s.client.Status(ctx)
	if err != nil {
		return p, err
	}
	o := status.Optimiser
	p = plan{
		Budget: o.Budget, Planned: o.Planned, HostsBound: o.HostsBound, SolveMs: o.SolveMs,
		PlannedS: status.Detection.PlannedS, BoundS: status.Detection.BoundS,
	}
	factors, rates, err := s.factors(ctx)
	if err != nil {
		return p, err
	}
	for _, q := range factors.Subscribers {
		p.Subscribers += q
	}
	config, err := s.problem(o.Budget)
	if err != nil {
		return p, err
	}
	solved, solution, err := solve(config, factors)
	if err != nil {
		return p, err
	}
	p.Solved = solution.Load
	for i, rate := range rates {
		if solved.Rate(i) == rate {
			p.SameRates += 1 / float64(len(rates))
		}
	}
	config.Policy, config.Budget = honeycomb.Lite, noLimit
	if _, solution, err = solve(config, factors); err != nil {
		return p, err
	}
	p.Feasible = solution.Load
	return p, nil
}

func solve(config honeycomb.Config, factors honeycomb.Channels) (*honeycomb.Problem, *honeycomb.Solution, error) {
	problem, err := honeycomb.Prepare(config, factors)
	if err != nil {
		return nil, nil, err
	}
	return problem, problem.Solve(), nil
}

// problem is what the node was started with.
func (s *scenario) problem(budget float64) (c honeycomb.Config, err error) {
	c = honeycomb.Config{Nodes: 1, Interval: s.interval, Floor: s.floor, Budget: budget, Target: s.target}
	if s.hostGap > 0 {
		c.HostCap = float64(s.interval) / float64(s.hostGap) * (1 - reserve)
	}
	if c.Policy, err = honeycomb.ParsePolicy(s.policy); err != nil {
		return c, err
	}
	if c.Cost, err = honeycomb.ParseCost(s.cost); err != nil {
		return c, err
	}
	c.Ladder, err = honeycomb.ParseLadder(s.ladder)
	return c, err
}

// factors are those of all channels, as the node tells them, and their rates.
func (s *scenario) factors(ctx context.Context) (f honeycomb.Channels, rates []float64, err error) {
	hosts := make(map[string]int32)
	for ch, err := range s.client.Channels(ctx) {
		if err != nil {
			return f, nil, err
		}
		if ch.Subscribers == 0 {
			continue // it is about to end
		}
		if ch.Host == nil {
			return f, nil, fmt.Errorf("%s is not polled", ch.URL)
		}
		add(&f, hosts, &ch)
		rates = append(rates, ch.Rate)
	}
	return f, rates, nil
}

func add(f *honeycomb.Channels, hosts map[string]int32, ch *api.Channel) {
	if _, known := hosts[ch.Host.Name]; !known {
		hosts[ch.Host.Name] = int32(len(hosts))
	}
	f.Subscribers = append(f.Subscribers, float64(ch.Subscribers))
	f.SizeBytes = append(f.SizeBytes, float64(max(ch.SizeBytes, 1)))
	f.UpdateInterval = append(f.UpdateInterval, ch.UpdateIntervalS)
	f.Host = append(f.Host, hosts[ch.Host.Name])
}
