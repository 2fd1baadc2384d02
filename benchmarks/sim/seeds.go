package sim

import (
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// seedsOfModel is over how many draws of IDs, and so of orphans, the paper's
// model is averaged: one empty wedge of 256 more or less moves the mean wait by
// three seconds and a half.
const seedsOfModel = 20

// A modelMean is what the paper's formulas say of its schemes, solved for all
// channels at once.
type modelMean struct{ detection, load float64 }

// overSeeds averages the paper's model of a policy over draws of IDs, the first
// of them this simulation's.
func overSeeds(j *job, o Options, policies []honeycomb.Policy) ([]modelMean, error) {
	drawn := make([][]modelMean, seedsOfModel)
	err := j.inParallel(seedsOfModel, func(i int) {
		seed := o
		seed.Seed += uint64(i)
		w := newWorkload(seed)
		most := w.orphansRate(ring.New(w.nodes))
		for _, policy := range policies {
			drawn[i] = append(drawn[i], w.model(seed, policy, most))
		}
		j.step()
	})
	if err != nil {
		return nil, err
	}
	sums := make([]modelMean, len(policies))
	for _, some := range drawn {
		for p, m := range some {
			sums[p].detection += m.detection / seedsOfModel
			sums[p].load += m.load / seedsOfModel
		}
	}
	return sums, nil
}

// model solves a policy at the paper's levels, given what bounds orphans.
func (w *workload) model(o Options, policy honeycomb.Policy, most []float64) modelMean {
	config := o.config(policy, honeycomb.Prefix(ring.Base))
	if policy == honeycomb.Fast {
		config.Budget = fastCeiling * float64(o.Subscriptions)
	}
	p, err := honeycomb.Prepare(config, honeycomb.Channels{
		Subscribers: w.subscribers, UpdateInterval: w.updateInterval, MaxRate: most})
	if err != nil {
		panic(err) // the workload is ours, and checked
	}
	p.Solve()
	rates := make([]float64, o.Channels)
	fill(rates, p.Rate)
	detection, _, load := w.planned(o.Interval, rates)
	return modelMean{detection, load}
}

// orphansRate bounds orphans to what their owner polls; 0 is no bound.
func (w *workload) orphansRate(r *ring.Ring) []float64 {
	most := make([]float64, len(w.ids))
	for c, id := range w.ids {
		if r.Orphan(id) {
			most[c] = 1
		}
	}
	return most
}
