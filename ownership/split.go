package ownership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// A range is split along its buckets, in three steps, each of which may be repeated: the table
// plans the other range (PlanSplit); a Split in the log of the range takes the buckets away and
// begins the other one's state; once the leader has applied that, the table gives the buckets to
// the other range (FinishSplit). Only then do its replicas begin, so that no leader of the old
// one answers for a bucket that another range has changed.

// SplitRanges has the cluster split ranges until there are as many as are wanted, at most 256.
// It returns when that is decided; [Store.Ranges] shows how far it is. The error is ErrInvalid
// for fewer than there are, ErrRefused, or ErrUnavailable.
func (c *changes) SplitRanges(ctx context.Context, ranges int) error {
	_, err := c.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_WantRanges{WantRanges: &wire.WantRanges{Ranges: uint32(max(ranges, 0))}}})
	return err
}

// RangesWanted returns how many ranges there are to be, as [Store.SplitRanges] was asked last; 0:
// it was not.
func (c *changes) RangesWanted() int {
	table := c.known.Load()
	if table == nil { // a node alone
		table = c.meta.fsm.meta()
	}
	return int(table.GetRangesWanted())
}

// splitQuery asks the leader of a range to split it.
type splitQuery struct {
	Child    uint32
	From     channel.Bucket
	Founders []string
}

// splitter takes the steps of splits on the leader of the meta group, and answers for the ranges
// that this node leads.
type splitter struct {
	*changes
	ranges   *configurer
	replicas *replicas
	splits   Call[splitQuery, struct{}]
}

func newSplitter(changes *changes, ranges *configurer, replicas *replicas) *splitter {
	p := &splitter{changes: changes, ranges: ranges, replicas: replicas}
	p.splits = newCall(p.router, "split", func(ctx context.Context, r channel.Range, q splitQuery) (struct{}, error) {
		return struct{}{}, p.splitHere(ctx, r, q)
	})
	return p
}

// runAlone splits ranges on a node that is alone, until ctx ends.
func (p *splitter) runAlone(ctx context.Context) {
	every(ctx, driveEvery, func() {
		for p.drive(ctx) {
		}
	})
}

// drive finishes what splits are planned, or plans and makes one while ranges are wanted, and
// reports whether it has: one at a time, since others would take from its replicas the processor
// time for which writes wait. It is of the meta group's leader.
func (p *splitter) drive(ctx context.Context) (split bool) {
	table := p.meta.fsm.meta()
	if !slices.ContainsFunc(table.Ranges, (*wire.Range).GetPlanned) {
		table = p.plan(ctx, table)
	}
	for _, r := range table.Ranges {
		if !r.Planned {
			continue
		}
		if err := p.splitOff(ctx, r); err != nil {
			p.tools.log.Debug("a range was not split", "range", r.Parent-1, "error", err)
			continue
		}
		split = true
	}
	return split
}

// plan returns the table with a range planned if more are wanted and one can be split.
func (p *splitter) plan(ctx context.Context, table *wire.Meta) *wire.Meta {
	if len(table.Ranges) >= min(int(table.RangesWanted), tables.MostRanges) {
		return table
	}
	id, found := p.splittable(ctx, table)
	if !found {
		return table
	}
	planned, err := p.changeHere(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_PlanSplit{PlanSplit: &wire.PlanSplit{Range: id, Revision: table.Revision}}})
	if err != nil {
		p.tools.log.Debug("a split was not planned", "range", id, "error", err)
		return table
	}
	return planned
}

// splittable returns the range with the most buckets whose replicas are all in their places, on
// nodes that answer.
func (p *splitter) splittable(ctx context.Context, table *wire.Meta) (id uint32, found bool) {
	ranges := slices.DeleteFunc(slices.Clone(table.Ranges), func(r *wire.Range) bool {
		return r.Planned || r.From == r.To || tables.IsSplitting(table, r.Id) || len(r.Joining) > 0 || len(r.Damaged) > 0 ||
			slices.ContainsFunc(r.Replicas, func(id string) bool {
				n := tables.Node(table, raftnet.NodeID(id))
				return len(table.Nodes) > 0 && (n == nil || NodeState(n.State) != NodeMember || p.net.silentOther(n.Id))
			})
	})
	slices.SortStableFunc(ranges, func(a, b *wire.Range) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	for _, r := range ranges {
		if p.net == nil || p.inPlace(ctx, r) {
			return r.Id, true
		}
	}
	return 0, false
}

// inPlace reports whether the voters of a range are the replicas that the table has.
func (p *splitter) inPlace(ctx context.Context, r *wire.Range) bool {
	way := p.byID(r.Id)
	if way == nil {
		return false
	}
	ctx, cancel := within(ctx, time.Second)
	defer cancel()
	view, err := p.ranges.views.at(ctx, way, struct{}{})
	if err != nil || len(view.Servers) != len(r.Replicas) {
		return false
	}
	for _, server := range view.Servers {
		if !server.Voter || !slices.Contains(r.Replicas, server.ID) {
			return false
		}
	}
	return true
}

// splitOff takes the steps of a split that is planned, and waits until the range that was split
// off has a leader.
func (p *splitter) splitOff(ctx context.Context, child *wire.Range) error {
	parent := p.byID(child.Parent - 1)
	if parent == nil {
		return fmt.Errorf("range %d: %w: this node does not go by the table that has it yet", child.Parent-1, ErrUnavailable)
	}
	query := splitQuery{Child: child.Id, From: channel.Bucket(child.From), Founders: child.Replicas}
	if _, err := p.splits.At(ctx, parent.From, query); err != nil {
		return err
	}
	soon, cancel := within(ctx, answerWithin)
	defer cancel()
	table, err := p.changeHere(soon, &wire.MetaCommand{Change: &wire.MetaCommand_FinishSplit{FinishSplit: &wire.FinishSplit{Child: child.Id}}})
	if err != nil {
		return err
	}
	if p.net == nil {
		return p.replicas.adoptAlone(ctx, table)
	}
	p.tools.log.Info("range split", "range", child.Parent-1, "new", child.Id, "from", child.From)
	for p.byID(child.Id) == nil {
		select {
		case <-time.After(firstRetry):
		case <-soon.Done():
			return context.Cause(soon)
		}
	}
	_, err = p.ranges.views.at(soon, p.byID(child.Id), struct{}{})
	return err
}

// splitHere has a range that this node leads end before the first bucket of its child. It
// returns when this leader has applied that.
func (p *splitter) splitHere(ctx context.Context, r channel.Range, q splitQuery) error {
	way := p.of(r.From)
	g := way.serving()
	if g == nil {
		return errElsewhere
	}
	if g.state.Restoring() { // the command would be refused, again and again until it is over
		return fmt.Errorf("range %d: %w", r.ID, ErrRestoring)
	}
	if g.state.Range().To >= q.From {
		if err := p.replicas.stores.flush.lighten(); err != nil { // once the other range begins, the state is flushed
			return err
		}
		if err := p.doHere(ctx, way, state.NewSplit(q.Child, q.From, q.Founders)); err != nil {
			return err
		}
		p.loops.Go(func() { // followers learn with the next entry that this one is committed, else after seconds
			_ = p.doHere(p.running, way, &wire.Command{Change: &wire.Command_Tick{Tick: &wire.Tick{}}})
		})
	}
	if g.state.Range().To >= q.From || !g.serving.Load() {
		return fmt.Errorf("range %d: %w: it has not been split", r.ID, ErrUnavailable)
	}
	return nil
}
