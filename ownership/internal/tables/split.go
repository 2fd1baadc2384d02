package tables

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// MostRanges is how many ranges a cluster gets by splits.
const MostRanges = 256

// wantRanges notes how many ranges there are to be.
func wantRanges(table *wire.Meta, c *wire.WantRanges) error {
	if have := len(table.Ranges); int(c.Ranges) < have || c.Ranges > MostRanges {
		return refuse("%d ranges: there are %d, want up to %d", c.Ranges, have, MostRanges)
	}
	table.RangesWanted = c.Ranges
	return nil
}

// planSplit adds the range that is to be split off another one. It gets a replica on each node
// with one of that.
func planSplit(table *wire.Meta, c *wire.PlanSplit) error {
	r, err := Range(table, c.Range)
	switch {
	case err != nil:
		return err
	case c.Revision != table.Revision:
		return refuse("a split decided for revision %d of the table, it is at %d", c.Revision, table.Revision)
	case len(table.Ranges) >= MostRanges || r.From == r.To || r.Planned || IsSplitting(table, r.Id):
		return refuse("range %d cannot be split now, there are %d", r.Id, len(table.Ranges))
	case len(r.Joining) > 0 || len(r.Damaged) > 0:
		return refuse("range %d gets a replica, or one is damaged", r.Id)
	}
	child := &wire.Range{Id: uint32(len(table.Ranges)), From: (r.From+r.To)/2 + 1, To: r.To, Planned: true, Parent: r.Id + 1}
	for _, id := range r.Replicas {
		if len(table.Nodes) > 0 {
			id = NumberReplica(table, child.Id, raftnet.NodeID(id))
		}
		child.Replicas = append(child.Replicas, id)
	}
	table.Ranges = append(table.Ranges, child)
	return nil
}

// finishSplit gives a range that was split off the buckets that its parent has no longer.
func finishSplit(table *wire.Meta, c *wire.FinishSplit) error {
	child, err := Range(table, c.Child)
	if err != nil {
		return err
	}
	if !child.Planned {
		return refuse("range %d is not to be split off", child.Id)
	}
	child.Planned = false
	table.Ranges[child.Parent-1].To = child.From - 1
	return nil
}

// IsSplitting reports whether another range is to be split off one.
func IsSplitting(table *wire.Meta, id uint32) bool {
	for _, r := range table.Ranges {
		if r.Planned && r.Parent == id+1 {
			return true
		}
	}
	return false
}

// Widest returns a range with all buckets that it has ever had: those of all ranges that were
// split off it, too.
func Widest(table *wire.Meta, id uint32) channel.Range {
	all := RangeOf(table.Ranges[id])
	for _, r := range table.Ranges {
		if r.Parent == id+1 {
			all.To = max(all.To, Widest(table, r.Id).To)
		}
	}
	return all
}

// Born counts the ranges that were there at the birth.
func Born(table *wire.Meta) (n int) {
	for _, r := range table.Ranges {
		if r.Parent == 0 {
			n++
		}
	}
	return n
}

// RangeOf returns a range as the table has it.
func RangeOf(r *wire.Range) channel.Range {
	return channel.Range{ID: r.Id, From: channel.Bucket(r.From), To: channel.Bucket(r.To)}
}
