package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// The leader of the meta group drives replicas to where they should be: it asks the ranges'
// leaders for their configurations, has package placement decide, changes the table itself
// and has the leaders change raft's configurations. It keeps nothing: when it is gone the
// next one sees where things are.

const (
	// driveEvery is how often the driver looks, while there is something to do.
	driveEvery = 500 * time.Millisecond
	// lookEvery is how often it asks all ranges for what the table does not tell.
	lookEvery = 30 * time.Second
	// movingRanges is how many ranges get a replica at the same time, at most.
	movingRanges = 4
	// configureWithin bounds a change of a range's configuration.
	configureWithin = 3 * time.Second
)

// driver is what the store's part of it needs besides.
type driver struct {
	views     Call[struct{}, placement.View]
	steps     Call[placement.Step, struct{}]
	splits    Call[splitQuery, struct{}]
	filling   filling              // of the meta group
	silent    map[string]time.Time // since when nodes have not answered
	looked    time.Time            // when all ranges were asked last
	splitting atomic.Bool          // steps of splits are under way
	raised    time.Time            // when all nodes were asked last which versions they apply
}

// makeDriver makes the calls of the driver known to the node.
func (s *Store) makeDriver() {
	s.servers[callSupport] = func(context.Context, []byte) (proto.Message, error) { return s.versions.support(), nil }
	s.driver.views = newCall(s.router, "configuration", func(_ context.Context, r channel.Range, _ struct{}) (placement.View, error) {
		return s.viewHere(s.of(r.From))
	})
	s.driver.steps = newCall(s.router, "configure", func(ctx context.Context, r channel.Range, step placement.Step) (struct{}, error) {
		return struct{}{}, s.configure(ctx, s.of(r.From), step)
	}).Once()
	s.driver.splits = newCall(s.router, "split", func(ctx context.Context, r channel.Range, q splitQuery) (struct{}, error) {
		return struct{}{}, s.splitHere(ctx, r, q)
	})
}

// drive drives while this node leads the meta group, until ctx ends.
func (s *Store) drive(ctx context.Context) {
	ticker := time.NewTicker(driveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !s.meta.leads() {
			s.driver.silent, s.driver.looked = nil, time.Time{}
			continue
		}
		s.driveOnce(ctx)
	}
}

func (s *Store) driveOnce(ctx context.Context) {
	table := s.meta.fsm.meta()
	if len(table.Cluster) == 0 || newer(s.known.Load(), table) {
		return // it has not applied its log yet
	}
	c := s.clusterOf(table)
	if err := s.driveMeta(ctx, table, c); err != nil && !errors.Is(err, errChanging) {
		s.tools.log.Warn("the meta group's configuration does not change", "error", err)
	}
	if err := s.raise(ctx, table); err != nil {
		s.tools.log.Debug("version of the state machine is not raised", "error", err)
	}
	if s.driver.splitting.CompareAndSwap(false, true) { // a range without a leader holds up no others
		s.loops.Go(func() {
			defer s.driver.splitting.Store(false)
			s.driveSplits(ctx)
		})
	}
	if placement.Settled(c) && time.Since(s.driver.looked) < lookEvery {
		return
	}
	s.driver.looked = time.Now()
	s.moveReplicas(ctx, table.Revision, c)
}

// moveReplicas takes the next steps for the ranges of a table.
func (s *Store) moveReplicas(ctx context.Context, revision uint64, c placement.Cluster) {
	s.askViews(ctx, c)
	steps := placement.Next(c)
	if len(steps) == 0 {
		return
	}
	if err := s.newestTable(ctx, revision); err != nil {
		s.tools.log.Debug("steps were not taken", "error", err)
		return
	}
	for _, step := range steps {
		if err := s.take(ctx, step); err != nil {
			s.tools.log.Debug("step was not taken", "step", step.Kind.String(), "range", step.Range, "replica", step.Replica.ID, "error", err)
			continue
		}
		s.tools.log.Info("replicas change", "step", step.Kind.String(), "range", step.Range, "replica", step.Replica.ID, "node", step.Replica.Node, "why", step.Why)
	}
}

// newestTable fails unless a revision of the table is the newest after the call. With views
// that were given for it before, a driver that was suspended would have raft forget the
// replicas that others have planned meanwhile.
func (s *Store) newestTable(ctx context.Context, revision uint64) error {
	err := ended(ctx, s.meta.raft().Barrier(configureWithin).Error)
	if newest := s.meta.fsm.meta().Revision; err == nil && newest != revision {
		err = fmt.Errorf("the table was changed from revision %d to %d", revision, newest)
	}
	return err
}

// clusterOf returns what placement needs of a table, without the ranges' views.
func (s *Store) clusterOf(table *wire.Meta) placement.Cluster {
	c := placement.Cluster{Replicas: int(table.Replicas), Grace: s.cfg.Cluster.Grace, Moving: movingRanges}
	silent := make(map[string]time.Time)
	for _, n := range table.Nodes {
		node := placement.Node{ID: n.Id, State: NodeState(n.State)}
		if s.net.silentOther(n.Id) {
			since, known := s.driver.silent[n.Id]
			if !known {
				since = time.Now()
			}
			silent[n.Id] = since
			node.Silent = max(time.Since(since), 1)
		}
		c.Nodes = append(c.Nodes, node)
	}
	s.driver.silent = silent
	for _, r := range table.Ranges {
		if !r.Planned {
			c.Ranges = append(c.Ranges, placement.Range{
				ID: r.Id, Replicas: replicasOf(r.Replicas), Joining: replicasOf(r.Joining), Damaged: r.Damaged, Splitting: isSplitting(table, r.Id),
			})
		}
	}
	return c
}

func replicasOf(ids []string) (replicas []placement.Replica) {
	for _, id := range ids {
		replicas = append(replicas, placement.Replica{ID: id, Node: nodeID(raft.ServerID(id))})
	}
	return replicas
}

// askViews asks the leaders of all ranges at once.
func (s *Store) askViews(ctx context.Context, c placement.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, configureWithin)
	defer cancel()
	var asking sync.WaitGroup
	for i := range c.Ranges {
		way := s.byID(c.Ranges[i].ID)
		if way == nil {
			continue
		}
		asking.Go(func() {
			view, err := s.driver.views.at(ctx, way, struct{}{})
			if err == nil {
				c.Ranges[i].View = &view
			}
		})
	}
	asking.Wait()
}

// take carries out a step: the table's here, raft's where the range is led.
func (s *Store) take(ctx context.Context, step placement.Step) error {
	command := &wire.MetaCommand{}
	replica := &wire.MoveReplica{Range: step.Range, Replica: step.Replica.ID}
	switch step.Kind {
	case placement.Plan:
		command.Change = &wire.MetaCommand_PlanReplica{PlanReplica: &wire.PlanReplica{Range: step.Range, Node: step.Replica.Node}}
	case placement.Promote:
		command.Change = &wire.MetaCommand_PromoteReplica{PromoteReplica: replica}
	case placement.Forget:
		command.Change = &wire.MetaCommand_ForgetReplica{ForgetReplica: replica}
	case placement.Prefer:
		command.Change = &wire.MetaCommand_PreferReplica{PreferReplica: replica}
	default:
		_, err := s.driver.steps.at(ctx, s.byID(step.Range), step)
		return err
	}
	_, err := s.changeHere(ctx, command)
	return err
}

// nearlyCaught is how many entries a replica may lack that has caught up.
const nearlyCaught = 64

var errChanging = errors.New("the configuration is being changed")

// viewHere describes the configuration of a range that this node leads.
func (s *Store) viewHere(way *route) (placement.View, error) {
	g := way.serving()
	if g == nil {
		return placement.View{}, errElsewhere
	}
	view, err := g.seat.view(g.raft, g.id, &g.filling)
	if err != nil {
		return placement.View{}, fmt.Errorf("range %d: %w: %w", g.id, ErrUnavailable, err)
	}
	channels, subscriptions := g.state.Counts()
	view.Load = float64(channels + subscriptions)
	return view, nil
}

// view describes the configuration of a group that this replica leads.
func (s seat) view(r *raft.Raft, group uint32, filling *filling) (placement.View, error) {
	future := r.GetConfiguration()
	if err := future.Error(); err != nil {
		return placement.View{}, fmt.Errorf("read configuration: %w", err)
	}
	if future.Index() > r.CommitIndex() {
		return placement.View{}, errChanging
	}
	view := placement.View{Index: future.Index(), Leader: string(s.id)}
	for _, server := range future.Configuration().Servers {
		voter := server.Suffrage == raft.Voter
		progress := s.progress(group, server.ID)
		near := !voter && progress.Taken > 0 && progress.Last+nearlyCaught >= r.LastIndex()
		view.Servers = append(view.Servers, placement.Server{
			Replica: placement.Replica{ID: string(server.ID), Node: nodeID(server.ID)},
			Voter:   voter, Caught: filling.caught(server.ID, near),
		})
	}
	return view, nil
}

// filling knows since when nonvoters have had nearly all of the log, as far as the leader has
// looked.
type filling struct {
	sync.Mutex
	since map[raft.ServerID]time.Time
}

// caught notes whether a replica has nearly all now, and returns for how long it has.
func (f *filling) caught(id raft.ServerID, near bool) time.Duration {
	f.Lock()
	defer f.Unlock()
	if !near {
		delete(f.since, id)
		return 0
	}
	if f.since == nil {
		f.since = make(map[raft.ServerID]time.Time)
	}
	since, known := f.since[id]
	if !known {
		since = time.Now()
		f.since[id] = since
	}
	return time.Since(since)
}

// configure changes the configuration of a range that this node leads, if it still is the
// one that the step was made for.
func (s *Store) configure(ctx context.Context, way *route, step placement.Step) error {
	g := way.serving()
	if g == nil {
		return errElsewhere
	}
	replica, err := raftnet.ParseID(g.id, raft.ServerID(step.Replica.ID))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if step.Kind == placement.Remove && replica.ID() == g.seat.id {
		s.handOverRange(g, time.Now().Add(configureWithin))
		return fmt.Errorf("range %d: %w: its leader is to go, and hands over first", g.id, ErrUnavailable)
	}
	if planted.Bug(13) && step.Kind == placement.AddNonvoter {
		step.Kind = placement.AddVoter
	}
	var change raft.IndexFuture
	switch step.Kind {
	case placement.AddNonvoter:
		change = g.raft.AddNonvoter(replica.ID(), replica.Address(), step.Index, configureWithin)
	case placement.AddVoter:
		change = g.raft.AddVoter(replica.ID(), replica.Address(), step.Index, configureWithin)
	case placement.Remove:
		change = g.raft.RemoveServer(replica.ID(), step.Index, configureWithin)
	default:
		return fmt.Errorf("%w: step %d", ErrInvalid, step.Kind)
	}
	ctx, cancel := context.WithTimeout(ctx, configureWithin)
	defer cancel()
	if err := ended(ctx, change.Error); err != nil {
		return fmt.Errorf("configure range %d: %w: %w", g.id, ErrUnavailable, err)
	}
	return nil
}
