package ownership

import (
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// mostRanges is how many ranges a cluster gets by splits.
const mostRanges = 256

// wantRanges notes how many ranges there are to be.
func wantRanges(table *wire.Meta, c *wire.WantRanges) error {
	if have := len(table.Ranges); int(c.Ranges) < have || c.Ranges > mostRanges {
		return refuseChange("%d ranges: there are %d, want up to %d", c.Ranges, have, mostRanges)
	}
	table.RangesWanted = c.Ranges
	return nil
}

// planSplit adds the range that is to be split off another one. It gets a replica on each node
// with one of that.
func planSplit(table *wire.Meta, c *wire.PlanSplit) error {
	r, err := tableRange(table, c.Range)
	switch {
	case err != nil:
		return err
	case c.Revision != table.Revision:
		return refuseChange("a split decided for revision %d of the table, it is at %d", c.Revision, table.Revision)
	case len(table.Ranges) >= mostRanges || r.From == r.To || r.Planned || isSplitting(table, r.Id):
		return refuseChange("range %d cannot be split now, there are %d", r.Id, len(table.Ranges))
	case len(r.Joining) > 0 || len(r.Damaged) > 0:
		return refuseChange("range %d gets a replica, or one is damaged", r.Id)
	}
	child := &wire.Range{Id: uint32(len(table.Ranges)), From: (r.From+r.To)/2 + 1, To: r.To, Planned: true, Parent: r.Id + 1}
	for _, id := range r.Replicas {
		if len(table.Nodes) > 0 {
			id = numberReplica(table, child.Id, nodeID(raft.ServerID(id)))
		}
		child.Replicas = append(child.Replicas, id)
	}
	table.Ranges = append(table.Ranges, child)
	return nil
}

// finishSplit gives a range that was split off the buckets that its parent has no longer.
func finishSplit(table *wire.Meta, c *wire.FinishSplit) error {
	child, err := tableRange(table, c.Child)
	if err != nil {
		return err
	}
	if !child.Planned {
		return refuseChange("range %d is not to be split off", child.Id)
	}
	child.Planned = false
	table.Ranges[child.Parent-1].To = child.From - 1
	return nil
}

// isSplitting reports whether another range is to be split off one.
func isSplitting(table *wire.Meta, id uint32) bool {
	for _, r := range table.Ranges {
		if r.Planned && r.Parent == id+1 {
			return true
		}
	}
	return false
}

// widest returns a range with all buckets that it has ever had: those of all ranges that were
// split off it, too.
func widest(table *wire.Meta, id uint32) channel.Range {
	all := rangeOf(table.Ranges[id])
	for _, r := range table.Ranges {
		if r.Parent == id+1 {
			all.To = max(all.To, widest(table, r.Id).To)
		}
	}
	return all
}

// bornRanges counts the ranges that were there at the birth.
func bornRanges(table *wire.Meta) (n int) {
	for _, r := range table.Ranges {
		if r.Parent == 0 {
			n++
		}
	}
	return n
}
