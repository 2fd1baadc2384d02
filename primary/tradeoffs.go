package primary

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/honeycomb/local"
	"github.com/seed-91e7e7c1/corona/primary/internal/wire"
)

// mostTradeoffs is the most bytes of a node's tradeoffs: a range takes some 700.
const mostTradeoffs = 4 << 20

func encodeTradeoffs(settings string, told []local.Told) []byte {
	m := &wire.Tradeoffs{Settings: settings}
	for _, t := range told {
		m.Ranges = append(m.Ranges, encodeTold(t))
	}
	bytes, err := proto.Marshal(m)
	if err != nil {
		panic(err) // the settings are no UTF-8: there is no other reason
	}
	return bytes
}

// TradeoffBytes returns how many bytes a node sends each other node in a maintenance interval
// that has so much to tell, for those that reckon what many would.
func TradeoffBytes(told []local.Told) int { return len(encodeTradeoffs("", told)) }

func encodeTold(t local.Told) *wire.Range {
	s := t.Summary
	m := &wire.Range{
		Range: t.Range, Term: t.Term, Sequence: t.Sequence,
		Subscribers: s.Subscribers, Auto: s.Auto, FixedLoad: s.FixedLoad, FixedWait: s.FixedWait,
		Planned: s.Planned, Wait: s.Wait, Wanted: s.Wanted, Lambda: s.Lambda, Limit: s.Limit,
	}
	for _, c := range s.Clusters {
		m.Clusters = append(m.Clusters, &wire.Cluster{Cost: c.Cost, Root: c.Root, Least: c.Least, Most: c.Most})
	}
	return m
}

// decodeTradeoffs returns the ranges that can be computed with, and what is wrong with
// the others. The error is of the whole.
func decodeTradeoffs(bytes []byte, settings string, ranges map[uint32]channel.Range) (told []local.Told, wrong []error, err error) {
	if len(bytes) > mostTradeoffs {
		return nil, nil, fmt.Errorf("%d bytes", len(bytes))
	}
	m := new(wire.Tradeoffs)
	if err := proto.Unmarshal(bytes, m); err != nil {
		return nil, nil, err
	}
	if m.GetSettings() != settings {
		return nil, nil, fmt.Errorf("made for %q, this node plans for %q", m.GetSettings(), settings)
	}
	for _, r := range m.GetRanges() {
		t, err := decodeTold(r, ranges)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("range %d: %w", r.GetRange(), err))
			continue
		}
		told = append(told, t)
	}
	return told, wrong, nil
}

func decodeTold(m *wire.Range, ranges map[uint32]channel.Range) (local.Told, error) {
	if _, known := ranges[m.GetRange()]; !known {
		return local.Told{}, fmt.Errorf("there is no such range")
	}
	s := local.Summary{
		Subscribers: m.GetSubscribers(), Auto: m.GetAuto(), FixedLoad: m.GetFixedLoad(), FixedWait: m.GetFixedWait(),
		Planned: m.GetPlanned(), Wait: m.GetWait(), Wanted: m.GetWanted(), Lambda: m.GetLambda(), Limit: m.GetLimit(),
	}
	for _, v := range []float64{s.Subscribers, s.Auto, s.FixedLoad, s.FixedWait, s.Planned, s.Wait, s.Wanted, s.Lambda, s.Limit} {
		if !(v >= 0 && v <= mostTold) {
			return local.Told{}, fmt.Errorf("a sum of %v", v)
		}
	}
	if len(m.GetClusters()) > local.Bins {
		return local.Told{}, fmt.Errorf("%d clusters", len(m.GetClusters()))
	}
	for _, c := range m.GetClusters() {
		cluster := local.Cluster{Cost: c.GetCost(), Root: c.GetRoot(), Least: c.GetLeast(), Most: c.GetMost()}
		if err := checkCluster(cluster); err != nil {
			return local.Told{}, err
		}
		s.Clusters = append(s.Clusters, cluster)
	}
	return local.Told{Range: m.GetRange(), Term: m.GetTerm(), Sequence: m.GetSequence(), Summary: s}, nil
}

// Sums of a range are at most mostTold, and what clusters divide by is at least
// leastTold, so that all that is computed from them is finite.
const (
	mostTold  = 1e60
	leastTold = 1e-60
)

// checkCluster refuses what no channels add up to: the mean root of keys lies between the
// roots of the least and the most, but for what keys are moved apart (honeycomb's dither).
func checkCluster(c local.Cluster) error {
	for _, v := range []float64{c.Cost, c.Root, c.Least, c.Most} {
		if !(v >= leastTold && v <= mostTold) {
			return fmt.Errorf("a cluster of %+v", c)
		}
	}
	const apart = 0.03
	mean := c.Root / c.Cost
	if mean < math.Sqrt(c.Least)*(1-apart) || mean > math.Sqrt(c.Most)*(1+apart) {
		return fmt.Errorf("a cluster of %+v", c)
	}
	return nil
}
