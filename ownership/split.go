package ownership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// A range is split along its buckets, in three steps, each of which may be repeated: the table
// plans the other range (PlanSplit); a Split in the log of the range takes the buckets away and
// begins the other one's state; once the leader has applied that, the table gives the buckets to
// the other range (FinishSplit). Only then do its replicas begin, so that no leader of the old
// one answers for a bucket that another range has changed.

// atOnceSplits is how many ranges are split at the same time.
const atOnceSplits = 4

// SplitRanges has the cluster split ranges until there are as many as are wanted, at most 256.
// It returns when that is decided; [Store.Ranges] shows how far it is. The error is ErrInvalid
// for fewer than there are, ErrRefused, or ErrUnavailable.
func (c *changes) SplitRanges(ctx context.Context, ranges int) error {
	_, err := c.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_WantRanges{WantRanges: &wire.WantRanges{Ranges: uint32(max(ranges, 0))}}})
	return err
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
	stores *stores
	ranges *configurer
	adopt  func(ctx context.Context, table *wire.Meta) error // begins what was split off, on a node alone
	splits Call[splitQuery, struct{}]
}

func newSplitter(changes *changes, stores *stores, ranges *configurer, adopt func(ctx context.Context, table *wire.Meta) error) *splitter {
	p := &splitter{changes: changes, stores: stores, ranges: ranges, adopt: adopt}
	p.splits = newCall(p.router, "split", func(ctx context.Context, r channel.Range, q splitQuery) (struct{}, error) {
		return struct{}{}, p.splitHere(ctx, r, q)
	})
	return p
}

// runAlone splits ranges on a node that is alone, until ctx ends.
func (p *splitter) runAlone(ctx context.Context) {
	ticker := time.NewTicker(driveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		p.drive(ctx)
	}
}

// drive finishes the splits that are planned, and plans others while ranges are wanted.
// It is of the meta group's leader.
func (p *splitter) drive(ctx context.Context) {
	table := p.meta.fsm.meta()
	planned := 0
	for _, r := range table.Ranges {
		if r.Planned {
			planned++
		}
	}
	for want := min(int(table.RangesWanted), mostRanges) - len(table.Ranges); want > 0 && planned < atOnceSplits; want-- {
		id, found := p.splittable(ctx, table)
		if !found {
			break
		}
		after, err := p.changeHere(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_PlanSplit{PlanSplit: &wire.PlanSplit{Range: id, Revision: table.Revision}}})
		if err != nil {
			p.tools.log.Debug("a split was not planned", "range", id, "error", err)
			break
		}
		table = after
		planned++
	}
	var splitting sync.WaitGroup
	for _, r := range table.Ranges {
		if !r.Planned {
			continue
		}
		splitting.Go(func() {
			if err := p.splitOff(ctx, r); err != nil {
				p.tools.log.Debug("a range was not split", "range", r.Parent-1, "error", err)
			}
		})
	}
	splitting.Wait()
}

// splittable returns the range with the most buckets whose replicas are all in their places, on
// nodes that answer.
func (p *splitter) splittable(ctx context.Context, table *wire.Meta) (id uint32, found bool) {
	ranges := slices.DeleteFunc(slices.Clone(table.Ranges), func(r *wire.Range) bool {
		return r.Planned || r.From == r.To || isSplitting(table, r.Id) || len(r.Joining) > 0 || len(r.Damaged) > 0 ||
			slices.ContainsFunc(r.Replicas, func(id string) bool {
				n := tableNode(table, nodeID(raft.ServerID(id)))
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
	query := splitQuery{Child: child.Id, From: channel.Bucket(child.From), Founders: child.Replicas}
	if _, err := p.splits.At(ctx, p.byID(child.Parent-1).From, query); err != nil {
		return err
	}
	soon, cancel := within(ctx, answerWithin)
	defer cancel()
	table, err := p.changeHere(soon, &wire.MetaCommand{Change: &wire.MetaCommand_FinishSplit{FinishSplit: &wire.FinishSplit{Child: child.Id}}})
	if err != nil {
		return err
	}
	if p.net == nil {
		return p.adopt(ctx, table)
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
	if g.state.Range().To >= q.From {
		if err := p.stores.flush.flush(); err != nil { // what begins is flushed again, which takes less then
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

// adoptAlone goes by a table on a node that is alone: the ranges that were split off begin.
func (s *Store) adoptAlone(ctx context.Context, table *wire.Meta) error {
	s.placing.Lock()
	defer s.placing.Unlock()
	if err := s.setRoutes(table); err != nil {
		return err
	}
	for _, r := range table.Ranges {
		way := s.byID(r.Id)
		if way == nil || way.local() != nil {
			continue
		}
		for s.covered(way.Range) { // until the observer has been told of the split
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := s.beginAlone(way, table); err != nil {
			return fmt.Errorf("begin range %d: %w", r.Id, err)
		}
		select {
		case <-way.local().ready:
		case <-ctx.Done():
			return fmt.Errorf("wait for range %d: %w", r.Id, context.Cause(ctx))
		}
	}
	return nil
}

// beginAlone begins a range that was split off, on a node that is alone.
func (s *Store) beginAlone(way *route, table *wire.Meta) error {
	if _, err := s.foundSplit(way.ID, string(s.meta.raftID)); err != nil {
		return err
	}
	g, err := s.group(way.Range, widest(table, way.ID), loneSeat(s.meta.raftID))
	if err == nil {
		err = g.begin(true)
	}
	if err == nil {
		err = g.start()
	}
	if err != nil {
		return err
	}
	way.own.Store(g)
	s.listGroups()
	return s.campaign(g)
}

// begun reports whether a range has a log here.
func (s *Store) begun(id uint32) bool {
	log, err := s.log.Group(id)
	if err != nil {
		return true // to be met again
	}
	content, err := log.Snapshot()
	return err != nil || content != nil
}

// foundSplit begins the log of a range that was split off here, if the replica that this node
// is to have is one of its founders and never had a log. All founders begin with the same.
func (s *Store) foundSplit(id uint32, replica string) (founded bool, err error) {
	begins, err := s.state.Founding(id)
	if err != nil || begins == nil || !slices.Contains(begins.Founders, replica) {
		return false, err
	}
	if err := s.flush.flush(); err != nil { // or the state would lack what the log begins behind
		return false, err
	}
	log, err := s.log.Group(id)
	if err != nil {
		return false, err
	}
	founders := loneSeat(s.meta.raftID)
	if s.net != nil {
		if founders, _, err = seatOf(s.net, id, begins.Founders, len(begins.Founders)); err != nil {
			return false, err
		}
	}
	term := max(begins.Term, 1) // so that its leaders have later terms than those of before the split
	if err := log.SetUint64([]byte("CurrentTerm"), term); err != nil {
		return false, fmt.Errorf("found range %d: %w", id, err)
	}
	sink := &snapshotSink{store: &snapshotStore{group: id, log: log}, meta: &wire.SnapshotMeta{
		Index: begins.Index, Term: term, ConfigurationIndex: begins.Index,
		Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: founders.founders}),
	}}
	if err := sink.mark(&wire.Marker{Group: id, Applied: begins.Index}); err != nil {
		return false, err
	}
	return true, sink.Close()
}

// beginSplit founds this node's replica of a range that was split off, or removes what there is
// of one that this node is not to have. It is of followTable; no other replica has the buckets.
func (s *Store) beginSplit(r *wire.Range, want string) error {
	if r.Parent == 0 || s.held[r.Id] != "" {
		return nil
	}
	begins, err := s.state.Founding(r.Id)
	if err != nil || begins == nil {
		return err
	}
	founded, err := s.foundSplit(r.Id, want)
	switch {
	case err != nil:
		return err
	case founded:
		return s.hold(r.Id, want)
	default:
		return s.deleteReplica(r.Id)
	}
}

// covered reports whether a replica of another range here has buckets of a range, or is being
// sent a state with them: it has not been split yet.
func (s *Store) covered(r channel.Range) bool {
	return slices.ContainsFunc(s.groups(), func(g *group) bool {
		other := g.rng()
		other.To = max(other.To, channel.Bucket(g.fsm.transfer.incoming.Load()))
		return other.ID != r.ID && other.From <= r.To && r.From <= other.To
	})
}

// reserve keeps states of other ranges out of the buckets of a range until its replica here is
// open. It is false while another replica has some of them.
func (s *Store) reserve(r channel.Range) bool {
	s.placing.Lock()
	defer s.placing.Unlock()
	if s.covered(r) {
		return false
	}
	s.reserved = &r
	return true
}

func (s *Store) release() {
	s.placing.Lock()
	defer s.placing.Unlock()
	s.reserved = nil
}

// admit says that a replica of a range is about to be sent a state that ends at a bucket. It
// returns the last one that it may have: what lies behind is another range's here.
func (s *Store) admit(g *group, all channel.Range, to channel.Bucket) channel.Bucket {
	s.placing.Lock()
	defer s.placing.Unlock()
	last := all.To
	for _, other := range s.groups() {
		if other.from > all.From {
			last = min(last, other.from-1)
		}
	}
	if s.reserved != nil && s.reserved.From > all.From {
		last = min(last, s.reserved.From-1)
	}
	if to <= last {
		g.fsm.transfer.incoming.Store(uint32(to))
	}
	return last
}

// campaignWithin bounds how long a replica waits for others to begin before it stands for
// election: later they elect one by themselves.
const campaignWithin = time.Second

// standFirst is campaign of the node that leads the range that was split: the others wait for it.
func (s *Store) standFirst(g *group) {
	if err := s.campaign(g); err != nil {
		s.tools.log.Debug("a new range elects a leader by itself", "range", g.id, "error", err)
	}
}

// campaign has a replica of a range that was split off stand for election as soon as most of its
// founders can vote.
func (s *Store) campaign(g *group) error {
	if s.net == nil {
		return g.seat.standAlone()
	}
	ctx, cancel := context.WithTimeout(s.running, campaignWithin)
	defer cancel()
	for {
		wish, err := newConfirmation(g, g.raft.CurrentTerm())
		if err != nil {
			return err
		}
		if wish.needs == 0 {
			break
		}
		s.terms.add(wish)
		if <-wish.over; wish.ok {
			break
		}
		select {
		case <-time.After(firstRetry):
		case <-g.stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	if _, leader := g.raft.LeaderWithID(); leader != "" {
		return nil
	}
	return g.seat.stand(ctx, g.id)
}
