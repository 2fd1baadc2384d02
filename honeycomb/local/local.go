// Package local solves for the channels of one owner among many: its own channels
// exactly, those of others by summaries that their owners tell. A [Board] keeps the
// summaries, a [Corrector] steers the sum of all plans to the limit. See section 7 of
// honeycomb's DESIGN.md.
package local

import (
	"math"
	"slices"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// smallest keeps quotients finite.
const smallest = 1e-100

// Others are what an owner knows of the plans of all: of the channels that are not its
// own, and what it told of its own.
type Others struct {
	Summaries []Summary // of others' ranges
	Own       []Summary // of the owner's own ranges, as they were last told, by this owner or by the one before

	// Part is the part of all channels that is the owner's or in Summaries, 1 for all.
	// What is missing keeps its part of a budget that was set, and has none of one that
	// follows the subscribers. Share is the part that is the owner's, and Untold what of
	// that is not in Own.
	Part, Share, Untold float64

	// Measured is the load of all channels together as it was measured, in the
	// budget's unit; 0: not known.
	Measured float64

	// Between says that no maintenance interval has passed since the solve before: the
	// corrector stays as it is.
	Between bool
}

// Prepare is [honeycomb.Prepare] for an owner: the channels are its own, exactly, and
// others stand for all that are not. Budgets and targets are those of all together; what
// is solved, reported and summarised is the owner's share.
//
// The corrector, which may be nil, is moved on by one interval, unless others say
// otherwise.
func Prepare(config honeycomb.Config, channels honeycomb.Channels, others Others, corrector *Corrector) (*honeycomb.Problem, error) {
	response, err := honeycomb.NewResponse(config)
	if err != nil {
		return nil, err
	}
	outside := others.outside(response)
	if corrector != nil {
		outside.Correct = func(limit float64) float64 {
			if others.Between || len(others.Own) == 0 {
				return corrector.Factor()
			}
			return others.correction(config.Policy, limit, corrector)
		}
	}
	return honeycomb.PrepareBeside(config, channels, outside)
}

// outside returns stand-ins for the channels of others, and their sums.
func (o Others) outside(response honeycomb.Response) honeycomb.Outside {
	outside := honeycomb.Outside{Part: o.Part}
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
// than their distance, counts as no error. Nor does what plans lack that would be more
// were they free to grow.
func (o Others) correction(policy honeycomb.Policy, now float64, corrector *Corrector) float64 {
	var planned, wanted, meant float64 // meant is planned, times the limit that it was made for
	binds := false
	for _, s := range slices.Concat(o.Summaries, o.Own) {
		plan, want := s.Planned, s.Wanted
		if policy == honeycomb.Fast {
			plan, want = s.Wait, s.Wait
		}
		planned += plan
		wanted += want
		meant += plan * s.Limit
	}
	for _, s := range o.Own {
		binds = binds || s.Lambda > 0
	}
	measured := o.Measured
	if policy == honeycomb.Fast {
		measured = 0
	}
	then := meant / max(planned, smallest)
	moved := math.Abs(now - then)
	least, most := min(now, then)-moved, max(now, then)+moved
	load := max(planned, min(wanted, least))
	return corrector.Next(load, measured, min(max(load, measured, least), most), binds)
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
