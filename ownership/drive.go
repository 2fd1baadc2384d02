package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
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
)

// driver drives while this node leads the meta group.
type driver struct {
	*changes
	ranges    *configurer
	splits    *splitter
	grace     time.Duration        // Config.Cluster.Grace
	filling   filling              // of the meta group
	silent    map[string]time.Time // since when nodes have not answered
	looked    time.Time            // when all ranges were asked last
	splitting atomic.Bool          // steps of splits are under way
	raised    time.Time            // when all nodes were asked last which versions they apply
}

func newDriver(changes *changes, ranges *configurer, splits *splitter, grace time.Duration) *driver {
	d := &driver{changes: changes, ranges: ranges, splits: splits, grace: grace}
	d.servers[callSupport] = func(context.Context, []byte) (proto.Message, error) { return d.versions.Support(), nil }
	return d
}

// run drives until ctx ends.
func (d *driver) run(ctx context.Context) {
	every(ctx, driveEvery, func() {
		if !d.meta.leads() {
			d.silent, d.looked = nil, time.Time{}
			return
		}
		d.driveOnce(ctx)
	})
}

func (d *driver) driveOnce(ctx context.Context) {
	term := d.meta.raft().CurrentTerm() // before the table is read, and all else that steps rest on
	table := d.meta.fsm.meta()
	if len(table.Cluster) == 0 || tables.Newer(d.known.Load(), table) {
		return // it has not applied its log yet
	}
	c := d.clusterOf(table)
	if err := d.driveMeta(ctx, table, c); err != nil && !errors.Is(err, errChanging) {
		d.tools.log.Warn("the meta group's configuration does not change", "error", err)
	}
	if err := d.raise(ctx, table); err != nil {
		d.tools.log.Debug("version of the state machine is not raised", "error", err)
	}
	if d.splitting.CompareAndSwap(false, true) { // a range without a leader holds up no others
		d.loops.Go(func() {
			defer d.splitting.Store(false)
			d.splits.drive(ctx)
		})
	}
	if placement.Settled(c) && time.Since(d.looked) < lookEvery {
		return
	}
	d.looked = time.Now()
	if tables.VersionOf(table) < fencedFrom {
		term = 0
	}
	d.moveReplicas(ctx, term, table.Revision, c)
}

// moveReplicas takes the next steps for the ranges of a table that was read in a term.
func (d *driver) moveReplicas(ctx context.Context, term, revision uint64, c placement.Cluster) {
	d.askViews(ctx, c)
	steps := placement.Next(c)
	if len(steps) == 0 {
		return
	}
	if err := d.newestTable(ctx, revision); err != nil {
		d.tools.log.Debug("steps were not taken", "error", err)
		return
	}
	for _, step := range steps {
		if err := d.take(ctx, term, step); err != nil {
			d.tools.log.Debug("step was not taken", "step", step.Kind.String(), "range", step.Range, "replica", step.Replica.ID, "error", err)
			continue
		}
		d.tools.log.Info("replicas change", "step", step.Kind.String(), "range", step.Range, "replica", step.Replica.ID, "node", step.Replica.Node, "why", step.Why)
	}
}

// newestTable fails unless a revision of the table is the newest after the call. With views
// that were given for it before, a driver that was suspended would have raft forget the
// replicas that others have planned meanwhile.
func (d *driver) newestTable(ctx context.Context, revision uint64) error {
	err := ended(ctx, func() error { return d.meta.barrier(configureWithin) })
	if newest := d.meta.fsm.meta().Revision; err == nil && newest != revision {
		err = fmt.Errorf("the table was changed from revision %d to %d", revision, newest)
	}
	return err
}

// clusterOf returns what placement needs of a table, without the ranges' views.
func (d *driver) clusterOf(table *wire.Meta) placement.Cluster {
	c := placement.Cluster{Replicas: int(table.Replicas), Grace: d.grace, Moving: movingRanges}
	silent := make(map[string]time.Time)
	for _, n := range table.Nodes {
		node := placement.Node{ID: n.Id, State: NodeState(n.State)}
		if d.net.silentOther(n.Id) {
			since, known := d.silent[n.Id]
			if !known {
				since = time.Now()
			}
			silent[n.Id] = since
			node.Silent = max(time.Since(since), 1)
		}
		c.Nodes = append(c.Nodes, node)
	}
	d.silent = silent
	for _, r := range table.Ranges {
		if !r.Planned {
			c.Ranges = append(c.Ranges, placement.Range{
				ID: r.Id, Replicas: replicasOf(r.Replicas), Joining: replicasOf(r.Joining), Damaged: r.Damaged, Splitting: tables.IsSplitting(table, r.Id),
			})
		}
	}
	return c
}

func replicasOf(ids []string) (replicas []placement.Replica) {
	for _, id := range ids {
		replicas = append(replicas, placement.Replica{ID: id, Node: raftnet.NodeID(id)})
	}
	return replicas
}

// askViews asks the leaders of all ranges at once.
func (d *driver) askViews(ctx context.Context, c placement.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, configureWithin)
	defer cancel()
	var asking sync.WaitGroup
	for i := range c.Ranges {
		way := d.byID(c.Ranges[i].ID)
		if way == nil {
			continue
		}
		asking.Go(func() {
			view, err := d.ranges.views.at(ctx, way, struct{}{})
			if err == nil {
				c.Ranges[i].View = &view
			}
		})
	}
	asking.Wait()
}

// take carries out a step: the table's here, raft's where the range is led. Raft's are fenced by
// the index of the configuration that they were decided for. The table's are by the term, unless
// it is 0: a driver that is suspended before it takes a step, and leads again when it goes on,
// takes none of the steps that it decided on before others drove. The table's revision would not
// tell it of them: a replica that is planned gets its vote, and the table stays as it was.
func (d *driver) take(ctx context.Context, term uint64, step placement.Step) error {
	command := &wire.MetaCommand{Term: term}
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
		_, err := d.ranges.steps.at(ctx, d.byID(step.Range), step)
		return err
	}
	_, err := d.changeHere(ctx, command)
	return err
}
