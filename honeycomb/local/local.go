// Package local solves for the channels of one owner among many: its own channels
// exactly, those of others by summaries that their owners tell. A [Board] keeps the
// summaries, a [Corrector] steers the sum of all plans to the limit. See section 7 of
// honeycomb's DESIGN.md.
//
// Of the program only corona sim uses it: the nodes of a cluster solve for their own
// ranges, each by itself.
package local

import (
	"math"
	"slices"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// smallest keeps quotients finite.
const smallest = 1e-100

// Others are what an owner knows of the channels that are not its own.
type Others struct {
	Summaries []Summary
	// Missing is the number of ranges, of Ranges in all, without a summary of the last
	// [Lifetime] intervals. They keep their part of a budget that was set, and have none
	// of one that follows the subscribers.
	Missing, Ranges int
	// Last is the owner's own latest summary, nil before there is one.
	Last *Summary
	// Measured is the load of all channels together as it was measured, in the
	// budget's unit; 0: not known.
	Measured float64
}

// Prepare is [honeycomb.Prepare] for an owner: the channels are its own, exactly, and
// others stand for all that are not. Budgets and targets are those of all together; what
// is solved, reported and summarised is the owner's share.
//
// The corrector, which may be nil, is moved on by one interval: once for each
// call.
func Prepare(config honeycomb.Config, channels honeycomb.Channels, others Others, corrector *Corrector) (*honeycomb.Problem, error) {
	response, err := honeycomb.NewResponse(config)
	if err != nil {
		return nil, err
	}
	outside := others.outside(response)
	if corrector != nil && others.Last != nil {
		outside.Correct = func(limit float64) float64 { return others.correction(config.Policy, limit, corrector) }
	}
	return honeycomb.PrepareBeside(config, channels, outside)
}

// outside returns stand-ins for the channels of others, and their sums.
func (o Others) outside(response honeycomb.Response) honeycomb.Outside {
	outside := honeycomb.Outside{Part: 1}
	if o.Ranges > 0 {
		outside.Part = float64(o.Ranges-o.Missing) / float64(o.Ranges)
	}
	for _, s := range o.Summaries {
		load, wait := s.calibration(response)
		for _, cluster := range s.Clusters {
			cluster.standIns(&outside.StandIns, load, wait)
		}
		outside.Sums = append(outside.Sums, honeycomb.OutsideSums{
			Subscribers: s.Subscribers, Auto: s.Auto, FixedLoad: s.FixedLoad, FixedWait: s.FixedWait,
		})
	}
	return outside
}

// correction moves the corrector on by what all planned last. Anti-windup: plans are
// compared with the limit that they were made for and with the present one, since while
// it moves no plan can be at it. What lies between the two, or beyond either by no more
// than their distance, counts as no error.
func (o Others) correction(policy honeycomb.Policy, now float64, corrector *Corrector) float64 {
	var planned, meant float64 // meant is planned, times the limit that it was made for
	for _, s := range slices.Concat(o.Summaries, []Summary{*o.Last}) {
		plan := s.Planned
		if policy == honeycomb.Fast {
			plan = s.Wait
		}
		planned += plan
		meant += plan * s.Limit
	}
	measured := o.Measured
	if policy == honeycomb.Fast {
		measured = 0
	}
	then := meant / max(planned, smallest)
	moved := math.Abs(now - then)
	limit := min(max(planned, measured, min(now, then)-moved), max(now, then)+moved)
	return corrector.Next(planned, measured, limit, o.Last.Lambda > 0)
}

// calibration is by how much the load and the wait that a range planned differ
// from what its clusters say at the multiplier it planned with.
func (s Summary) calibration(response honeycomb.Response) (load, wait float64) {
	if s.Lambda <= 0 {
		return 1, 1
	}
	modelLoad, modelWait := response.At(s.standIns(), s.Lambda)
	return ratio(s.Planned-s.FixedLoad, modelLoad), ratio(s.Wait-s.FixedWait, modelWait)
}

// ratio returns planned over model, from 1/2 to 2, and 1 where either is not positive.
func ratio(planned, model float64) float64 {
	if !(model > 0) || !(planned > 0) {
		return 1
	}
	return min(max(planned/model, 0.5), 2)
}
