package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// The state machine's version says which commands the logs of ranges and of the meta group may
// have. It is in the cluster's table, and is raised by a command once the program of every node
// applies the next one: until then nodes propose nothing that an older program would refuse, so
// that two releases may run beside each other.

const (
	oldestVersion = 4 // of those that this program applies
	newestVersion = 6
	// firstVersion is that of tables and programs that say none.
	firstVersion = 4
)

// versions are those that a program applies, both ends included.
type versions struct{ oldest, newest uint32 }

func versionsOf(s *wire.Support) versions {
	if s == nil {
		return versions{firstVersion, firstVersion}
	}
	return versions{s.Oldest, s.Newest}
}

func (v versions) support() *wire.Support { return &wire.Support{Oldest: v.oldest, Newest: v.newest} }

// apply returns ErrVersion unless the program applies a version.
func (v versions) apply(version uint32) error {
	switch {
	case version > v.newest:
		return fmt.Errorf("%w: the cluster is at version %d of the state machine, this program applies %d to %d: install a newer one", ErrVersion, version, v.oldest, v.newest)
	case version < v.oldest:
		return fmt.Errorf("%w: the cluster is at version %d of the state machine, this program applies %d to %d: install the release before on all nodes first", ErrVersion, version, v.oldest, v.newest)
	default:
		return nil
	}
}

// fits returns ErrVersion for the table of a cluster that the program cannot be of.
func (v versions) fits(table *wire.Meta) error { return v.apply(versionOf(table)) }

// versionOf returns the version that a table's cluster is at.
func versionOf(table *wire.Meta) uint32 { return max(table.GetStateMachine(), firstVersion) }

// Version returns the version of the state machine that the cluster is at.
func (s *Store) Version() uint32 { return s.version.Load() }

// metaVersion returns the first version that has a command of the meta group.
func metaVersion(command *wire.MetaCommand) uint32 {
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
	switch command.Change.(type) {
	case *wire.Command_Claim, *wire.Command_Subscribe, *wire.Command_Unsubscribe, *wire.Command_Commit,
		*wire.Command_Advance, *wire.Command_SetEndpoint, *wire.Command_EndChannel, *wire.Command_Trim,
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

// raiseVersion has no check of what this program applies, which would make replicas differ.
func raiseVersion(table *wire.Meta, c *wire.RaiseVersion) error {
	switch {
	case c.Version <= versionOf(table):
		return refuseChange("version %d of the state machine, it is at %d", c.Version, versionOf(table))
	case c.Revision != table.Revision:
		return refuseChange("a raise decided for revision %d of the table, it is at %d", c.Revision, table.Revision)
	}
	table.StateMachine = c.Version
	return nil
}

// raiseAlone raises the version of a cluster of one to the newest that its program applies.
func (m *metaGroup) raiseAlone(newest uint32) error {
	table := m.fsm.meta()
	if versionOf(table) >= newest {
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
	have := versionOf(table)
	if have >= d.versions.newest || time.Since(d.raised) < raiseEvery {
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
	all := make([]versions, len(table.Nodes))
	errs := make([]error, len(table.Nodes))
	var asking sync.WaitGroup
	for i, n := range table.Nodes {
		all[i] = d.versions
		if NodeState(n.State) != NodeRemoved && n.Id != d.net.self() {
			asking.Go(func() { all[i], errs[i] = d.askSupport(ctx, n.Id) })
		}
	}
	asking.Wait()
	newest := d.versions.newest
	for _, v := range all {
		newest = min(newest, v.newest)
	}
	return newest, errors.Join(errs...)
}

// askSupport asks a node which versions its program applies. Programs that do not know the
// question apply the first one.
func (d *driver) askSupport(ctx context.Context, node string) (versions, error) {
	content, err := d.ask(ctx, node, callSupport, nil)
	switch {
	case errors.Is(err, ErrInvalid):
		return versionsOf(nil), nil
	case err != nil:
		return versions{}, err
	}
	support := &wire.Support{}
	if err := proto.Unmarshal(content, support); err != nil {
		return versions{}, fmt.Errorf("%w: versions of %s: %w", ErrUnavailable, nodeName(node), err)
	}
	return versionsOf(support), nil
}
