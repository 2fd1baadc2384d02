package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// The state machine's version says which commands the logs of ranges and of the meta group may
// have. It is in the cluster's table, and is raised by a command once the program of every node
// applies the next one: until then nodes propose nothing that an older program would refuse, so
// that two releases may run beside each other.

const (
	oldestVersion = 4 // of those that this program applies
	newestVersion = 8
	fencedFrom    = 7 // commands of the meta group may name the term in which they were decided
	emptyFrom     = 8 // positions may be of channels without a version
)

// Version returns the version of the state machine that the cluster is at.
func (s *Store) Version() uint32 { return s.version.Load() }

// metaVersion returns the first version that has a command of the meta group.
func metaVersion(command *wire.MetaCommand) uint32 {
	if command.Term != 0 {
		return fencedFrom
	}
	switch command.Change.(type) {
	case *wire.MetaCommand_Birth, *wire.MetaCommand_RangesBorn, *wire.MetaCommand_Join, *wire.MetaCommand_SetNode,
		*wire.MetaCommand_ForgetNode, *wire.MetaCommand_PlanReplica, *wire.MetaCommand_PromoteReplica,
		*wire.MetaCommand_ForgetReplica, *wire.MetaCommand_PreferReplica:
		return 4
	case *wire.MetaCommand_RaiseVersion: // every node that is to see it applies what it says
		return 4
	case *wire.MetaCommand_RecoverRange, *wire.MetaCommand_RecoverMeta, *wire.MetaCommand_RangeDamaged:
		return 5
	default:
		return 6
	}
}

// commandVersion returns the first version that has a command of a range.
func commandVersion(command *wire.Command) uint32 {
	switch change := command.Change.(type) {
	case *wire.Command_Advance:
		if change.Advance.GetEmpty() {
			return emptyFrom
		}
		return 4
	case *wire.Command_Claim, *wire.Command_Subscribe, *wire.Command_Unsubscribe, *wire.Command_Commit,
		*wire.Command_SetEndpoint, *wire.Command_EndChannel, *wire.Command_Trim,
		*wire.Command_ExpireKeys, *wire.Command_Forget, *wire.Command_Tick, *wire.Command_Rest, *wire.Command_Restore:
		return 4
	case *wire.Command_Compare:
		return 5
	default:
		return 6
	}
}

// allow returns ErrRefused for what needs a version that the cluster is not at.
func allow(have, need uint32) error {
	if need > have {
		return fmt.Errorf("%w: it needs version %d of the state machine, the cluster is at %d until all its nodes have a newer program", ErrRefused, need, have)
	}
	return nil
}

// raiseAlone raises the version of a cluster of one to the newest that its program applies.
func (m *metaGroup) raiseAlone(newest uint32) error {
	table := m.fsm.meta()
	if tables.VersionOf(table) >= newest {
		return nil
	}
	return m.propose(raising(newest, table))
}

func raising(version uint32, table *wire.Meta) *wire.MetaCommand {
	return &wire.MetaCommand{Change: &wire.MetaCommand_RaiseVersion{RaiseVersion: &wire.RaiseVersion{Version: version, Revision: table.Revision}}}
}

const (
	callSupport = "support" // which versions the program of a node applies
	// raiseEvery is how often the driver asks, while its own program has a newer version.
	raiseEvery = 2 * time.Second
)

// raise raises the cluster's version to the newest that the programs of all its nodes apply.
// Each node says so by itself when it is asked, so that one that has been restarted with
// another program is known by that; one that does not answer holds up the raise until it does,
// or is removed.
func (d *driver) raise(ctx context.Context, table *wire.Meta) error {
	have := tables.VersionOf(table)
	if have >= d.versions.Newest || time.Since(d.raised) < raiseEvery {
		return nil
	}
	d.raised = time.Now()
	for _, n := range table.Nodes {
		if NodeState(n.State) != NodeRemoved && d.net.silentOther(n.Id) {
			return nil
		}
	}
	newest, err := d.supported(ctx, table)
	if err != nil || newest <= have {
		return err
	}
	if _, err := d.changeHere(ctx, raising(newest, table)); err != nil {
		return err
	}
	d.tools.log.Info("version of the state machine raised", "version", newest, "before", have)
	return nil
}

// supported returns the newest version that the programs of all nodes apply.
func (d *driver) supported(ctx context.Context, table *wire.Meta) (uint32, error) {
	ctx, cancel := within(ctx, configureWithin)
	defer cancel()
	all := make([]tables.Versions, len(table.Nodes))
	errs := make([]error, len(table.Nodes))
	var asking sync.WaitGroup
	for i, n := range table.Nodes {
		all[i] = d.versions
		if NodeState(n.State) != NodeRemoved && n.Id != d.net.self() {
			asking.Go(func() { all[i], errs[i] = d.askSupport(ctx, n.Id) })
		}
	}
	asking.Wait()
	newest := d.versions.Newest
	for _, v := range all {
		newest = min(newest, v.Newest)
	}
	return newest, errors.Join(errs...)
}

// askSupport asks a node which versions its program applies. Programs that do not know the
// question apply the first one.
func (d *driver) askSupport(ctx context.Context, node string) (tables.Versions, error) {
	content, err := d.ask(ctx, node, callSupport, nil)
	switch {
	case errors.Is(err, ErrInvalid):
		return tables.VersionsOf(nil), nil
	case err != nil:
		return tables.Versions{}, err
	}
	support := &wire.Support{}
	if err := proto.Unmarshal(content, support); err != nil {
		return tables.Versions{}, fmt.Errorf("%w: versions of %s: %w", ErrUnavailable, raftnet.NodeName(node), err)
	}
	return tables.VersionsOf(support), nil
}
