package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// mender does what follows from the damage that repairs knows.
type mender struct {
	*changes
	leadership *leadership
	held       *held
}

// errEnds says that the process is about to end.
var errEnds = errors.New("the node ends")

// secure deals with what was found since the last time: it is noted durably, and
// replicas that run give their leadership away. After damage to what all replicas have in
// common it returns errEnds: the next start sets that aside. It is of placer.run.
func (m *mender) secure() error {
	tables, shared := m.repairs.take()
	for _, table := range tables {
		err := m.findDamaged(table)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		shared = errors.Join(shared, err)
	}
	if shared != nil && m.held.onlyCopy(m.known.Load()) {
		m.tools.fail(shared)
		return errEnds
	}
	if shared != nil {
		m.repairs.noteAll(m.held.replicas, shared)
	}
	if err := m.held.noteDamaged(); err != nil {
		return err
	}
	if shared != nil {
		m.tools.fail(fmt.Errorf("all replicas of this node are to be filled again: %w", shared))
		return errEnds
	}
	for id, r := range m.repairs.all() {
		way := m.byID(id)
		if way == nil {
			continue
		}
		g := way.local()
		if g == nil || r.dropped || string(g.seat.id) != r.replica || g.barred.Load() {
			continue
		}
		m.tools.log.Error("a replica is damaged", "range", id, "replica", r.replica, "error", r.why)
		m.bar(g)
	}
	return nil
}

// bar keeps a replica from leading its range from now on.
func (m *mender) bar(g *group) {
	if g.serving.Load() {
		m.leadership.handOverRange(g, time.Now().Add(heartbeat))
	}
	g.barred.Store(true)
}

// findDamaged finds the replicas that a damaged file of the state has records of. Where a
// compaction has met it, their states go: it would meet it again for ever, while writes of all
// ranges wait. The error is ErrCorrupt for damage that is none of one replica, and errEnds
// where what would go is nowhere else.
func (m *mender) findDamaged(table disk.DamagedTable) error {
	var having, damaged []*group
	for _, g := range m.groups() {
		if g.fsm.spoiled.Load() || !state.Overlaps(g.state.Range(), table) {
			continue
		}
		having = append(having, g)
		if err := m.state.Verify(g.state.Range(), table); errors.Is(err, ErrCorrupt) {
			damaged = append(damaged, g)
			if !table.Compaction {
				m.repairs.note(g.id, string(g.seat.id), err)
			}
		}
	}
	if !table.Compaction {
		return nil
	}
	why := disk.Corrupt("%s: a compaction cannot read it", table.Path)
	switch insists := m.repairs.insists(table.Path, time.Now()); {
	case len(damaged) > 0:
	case !insists:
		return nil
	case len(having) > 0: // reads find in memory what compactions read from the disk
		damaged = having
	default:
		return why
	}
	defer m.repairs.dealtWith(table.Path)
	return m.takeOut(damaged, why)
}

// takeOut takes damaged replicas out of the files of the state. That they are damaged is noted
// durably first: a later start would take them for whole ones, without records.
func (m *mender) takeOut(damaged []*group, why error) error {
	for _, g := range damaged {
		if lastWhole(m.known.Load().Ranges[g.id], string(g.seat.id)) {
			m.tools.fail(fmt.Errorf("range %d, of which there is no other whole replica: %w", g.id, why))
			return errEnds
		}
	}
	for _, g := range damaged {
		m.repairs.note(g.id, string(g.seat.id), why)
	}
	if err := errors.Join(m.held.noteDamaged(), m.held.flush.flush()); err != nil { // so that readers need not wait for that
		return err
	}
	for _, g := range damaged {
		m.bar(g)
		g.fsm.spoiled.Store(true)
		if err := m.state.Excise(g.state.Range()); err != nil {
			return err
		}
	}
	return nil
}

// lastWhole reports whether the table has no other whole replica of a range.
func lastWhole(r *wire.Range, replica string) bool {
	return !slices.ContainsFunc(r.Replicas, func(id string) bool {
		return id != replica && !slices.Contains(r.Damaged, id)
	})
}

const tellDamagedEvery = 500 * time.Millisecond

// tell tells the meta group of this node's damaged replicas until it knows them, and
// goes on until ctx ends.
func (m *mender) tell(ctx context.Context) { every(ctx, tellDamagedEvery, func() { m.tellOnce(ctx) }) }

func (m *mender) tellOnce(ctx context.Context) {
	for _, g := range m.groups() {
		if err := g.log.Damage(); err != nil {
			m.repairs.note(g.id, string(g.seat.id), err)
		}
	}
	for id, r := range m.repairs.all() {
		if known := m.known.Load().Ranges[id]; r.dropped || slices.Contains(known.Damaged, r.replica) {
			continue
		}
		if err := m.damaged(ctx, id, r.replica); err != nil {
			m.tools.log.Warn("the cluster was not told of a damaged replica", "range", id, "replica", r.replica, "error", err)
		}
	}
}
