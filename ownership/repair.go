package ownership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// A replica that is damaged, on one of several nodes, is dropped and filled again under
// another number. Damage of its log keeps it from being opened. One whose state alone is
// damaged gives leadership away and goes on to vote and to keep the log, since the others may
// need it, until raft has forgotten it: the meta group is told (RangeDamaged), and package
// placement does the rest. What is known to be damaged is noted beside the replicas held, so
// that no later start opens it.

// repairs knows the damaged replicas of this node. Its methods may be called from any
// goroutine.
type repairs struct {
	metrics *metrics
	found   chan struct{} // full when there may be something that followTable has not seen
	mu      struct {
		sync.Mutex
		ranges  map[uint32]damagedReplica
		shared  error                        // that the log or state of all replicas is damaged
		tables  map[string]disk.DamagedTable // of the state, to be looked at, by path
		insists map[string]time.Time         // since when compactions have met files whose damage is in no records
	}
}

// damagedReplica is a replica of this node that is being replaced.
type damagedReplica struct {
	replica string // raft server ID
	why     error
	dropped bool // the cluster has forgotten it; another one is to be made, here or elsewhere
}

func newRepairs(metrics *metrics) *repairs {
	p := &repairs{metrics: metrics, found: make(chan struct{}, 1)}
	p.mu.ranges = make(map[uint32]damagedReplica)
	p.mu.tables = make(map[string]disk.DamagedTable)
	p.mu.insists = make(map[string]time.Time)
	return p
}

func (p *repairs) ring() {
	select {
	case p.found <- struct{}{}:
	default:
	}
}

// note says that a replica is damaged. It is false for one that is known.
func (p *repairs) note(id uint32, replica string, why error) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, known := p.mu.ranges[id]; known && have.replica == replica {
		return false
	}
	p.mu.ranges[id] = damagedReplica{replica: replica, why: why}
	p.metrics.replicasDamaged.Inc()
	p.ring()
	return true
}

// noteAll says that replicas, by range, are damaged.
func (p *repairs) noteAll(held map[uint32]string, why error) {
	for id, replica := range held {
		p.note(id, replica, why)
	}
}

// noteShared says that all replicas of this node are damaged: what they have in common is.
func (p *repairs) noteShared(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.shared = why
	p.ring()
}

// noteTable says that a file of the state has a damaged block. Pebble calls it.
func (p *repairs) noteTable(found disk.DamagedTable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found.Compaction = found.Compaction || p.mu.tables[found.Path].Compaction
	p.mu.tables[found.Path] = found
	p.ring()
}

// take returns what was noted about shared stores since it was called last.
func (p *repairs) take() (tables []disk.DamagedTable, shared error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tables, shared = slices.Collect(maps.Values(p.mu.tables)), p.mu.shared
	clear(p.mu.tables)
	return tables, shared
}

// has reports whether a replica is known to be damaged.
func (p *repairs) has(id uint32, replica string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, known := p.mu.ranges[id]
	return known && r.replica == replica && !r.dropped
}

// forgotten says that a replica of a range is no longer on this disk.
func (p *repairs) forgotten(id uint32, replica string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, known := p.mu.ranges[id]; known && r.replica == replica {
		r.dropped = true
		p.mu.ranges[id] = r
	}
}

// whole says that a range has all its replicas again.
func (p *repairs) whole(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, known := p.mu.ranges[id]; known && r.dropped {
		delete(p.mu.ranges, id)
	}
}

// all returns the damaged replicas by range, those that are dropped among them.
func (p *repairs) all() map[uint32]damagedReplica {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.mu.ranges)
}

// ids returns the damaged replicas that are on this disk, by range.
func (p *repairs) ids() (ids []string) {
	all := p.all()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if !all[id].dropped {
			ids = append(ids, all[id].replica)
		}
	}
	return ids
}

// isDamage tells what the disk of one replica has lost from records that do not fit together:
// these are a mistake of the program, which all replicas of the range have made alike. None has
// better ones, so that giving one up after the other would leave the range without a leader.
func isDamage(err error) bool {
	return errors.Is(err, ErrCorrupt) && !errors.Is(err, state.ErrMisfit)
}

// refuse turns the error of a read of a replica's state: a damaged one answers nothing more,
// and the caller asks the next leader. What was read while the state was taken out is no
// answer. It may be called on nil, in a cluster of one.
func (p *repairs) refuse(g *group, err error) error {
	if p == nil {
		return err
	}
	if gone := g.fsm.gone(); gone != nil && !errors.Is(err, errElsewhere) {
		return gone
	}
	if !isDamage(err) {
		return err
	}
	select {
	case <-g.stopping: // the replica has gone, or goes: another one may have its place
	default:
		p.note(g.id, string(g.seat.id), err)
	}
	return errElsewhere
}

// ready returns an ErrUnavailable that names a damaged range, nil if there is none. A table
// without another replica of that range has nothing to fill it again from.
func (p *repairs) ready(table *wire.Meta) error {
	all := p.all()
	if len(all) == 0 {
		return nil
	}
	id := slices.Min(slices.Collect(maps.Keys(all)))
	from := "is being filled again from other nodes"
	if r := table.Ranges[id]; !all[id].dropped && len(r.Replicas) == 1 {
		from = "no other node has a copy: restore a backup into another cluster"
	}
	return fmt.Errorf("%w: the replica of range %d on this node is damaged, and %s: %w", ErrUnavailable, id, from, all[id].why)
}

// errEnds says that the process is about to end.
var errEnds = errors.New("the node ends")

// secureDamaged deals with what was found since the last time: it is noted durably, and
// replicas that run give their leadership away. After damage to what all replicas have in
// common it returns errEnds: the next start sets that aside. It is of followTable.
func (s *Store) secureDamaged() error {
	tables, shared := s.repairs.take()
	for _, table := range tables {
		err := s.findDamaged(table)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		shared = errors.Join(shared, err)
	}
	if shared != nil && s.onlyCopy(s.known.Load()) {
		s.tools.fail(shared)
		return errEnds
	}
	if shared != nil {
		s.repairs.noteAll(s.held, shared)
	}
	if err := s.noteDamaged(); err != nil {
		return err
	}
	if shared != nil {
		s.tools.fail(fmt.Errorf("all replicas of this node are to be filled again: %w", shared))
		return errEnds
	}
	for id, r := range s.repairs.all() {
		way := s.byID(id)
		if way == nil {
			continue
		}
		g := way.local()
		if g == nil || r.dropped || string(g.seat.id) != r.replica || g.barred.Load() {
			continue
		}
		s.tools.log.Error("a replica is damaged", "range", id, "replica", r.replica, "error", r.why)
		s.bar(g)
	}
	return nil
}

// noteDamaged notes durably which of the replicas held are damaged.
func (s *Store) noteDamaged() error {
	damaged := s.repairs.ids()
	if slices.Equal(damaged, s.noted) {
		return nil
	}
	if err := s.meta.store.setHeld(s.held, damaged); err != nil {
		return err
	}
	s.noted = damaged
	return nil
}

// bar keeps a replica from leading its range from now on.
func (s *Store) bar(g *group) {
	if g.serving.Load() {
		s.handOverRange(g, time.Now().Add(heartbeat))
	}
	g.barred.Store(true)
}

// findDamaged finds the replicas that a damaged file of the state has records of. Where a
// compaction has met it, their states go: it would meet it again for ever, while writes of all
// ranges wait. The error is ErrCorrupt for damage that is none of one replica, and errEnds
// where what would go is nowhere else.
func (s *Store) findDamaged(table disk.DamagedTable) error {
	var having, damaged []*group
	for _, g := range s.groups() {
		if g.fsm.spoiled.Load() || !state.Overlaps(g.state.Range(), table) {
			continue
		}
		having = append(having, g)
		if err := s.state.Verify(g.state.Range(), table); errors.Is(err, ErrCorrupt) {
			damaged = append(damaged, g)
			if !table.Compaction {
				s.repairs.note(g.id, string(g.seat.id), err)
			}
		}
	}
	if !table.Compaction {
		return nil
	}
	why := disk.Corrupt("%s: a compaction cannot read it", table.Path)
	switch insists := s.repairs.insists(table.Path, time.Now()); {
	case len(damaged) > 0:
	case !insists:
		return nil
	case len(having) > 0: // reads find in memory what compactions read from the disk
		damaged = having
	default:
		return why
	}
	defer s.repairs.dealtWith(table.Path)
	return s.takeOut(damaged, why)
}

// takeOut takes damaged replicas out of the files of the state. That they are damaged is noted
// durably first: a later start would take them for whole ones, without records.
func (s *Store) takeOut(damaged []*group, why error) error {
	for _, g := range damaged {
		if s.lastWhole(g) {
			s.tools.fail(fmt.Errorf("range %d, of which there is no other whole replica: %w", g.id, why))
			return errEnds
		}
	}
	for _, g := range damaged {
		s.repairs.note(g.id, string(g.seat.id), why)
	}
	if err := errors.Join(s.noteDamaged(), s.flush.flush()); err != nil { // so that readers need not wait for that
		return err
	}
	for _, g := range damaged {
		s.bar(g)
		g.fsm.spoiled.Store(true)
		if err := s.state.Excise(g.state.Range()); err != nil {
			return err
		}
	}
	return nil
}

// lastWhole reports whether the table has no other whole replica of a range.
func (s *Store) lastWhole(g *group) bool {
	r := s.known.Load().Ranges[g.id]
	return !slices.ContainsFunc(r.Replicas, func(id string) bool {
		return id != string(g.seat.id) && !slices.Contains(r.Damaged, id)
	})
}

// insistsFor is how long compactions may go on to meet damage that is in no replica's records,
// as far as those can be read, or in none any more: one may have been under way.
const insistsFor = 5 * time.Second

// insists reports whether compactions have met a file for long.
func (p *repairs) insists(path string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, known := p.mu.insists[path]
	if !known {
		p.mu.insists[path] = now
	}
	return known && now.Sub(since) >= insistsFor
}

// dealtWith says that what compactions have met in a file so far was taken out.
func (p *repairs) dealtWith(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.insists[path] = time.Now()
	delete(p.mu.tables, path)
}

const tellDamagedEvery = 500 * time.Millisecond

// tellDamaged tells the meta group of this node's damaged replicas until it knows them, and
// goes on until ctx ends.
func (s *Store) tellDamaged(ctx context.Context) {
	ticker := time.NewTicker(tellDamagedEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, g := range s.groups() {
			if err := g.log.Damage(); err != nil {
				s.repairs.note(g.id, string(g.seat.id), err)
			}
		}
		for id, r := range s.repairs.all() {
			if known := s.known.Load().Ranges[id]; r.dropped || slices.Contains(known.Damaged, r.replica) {
				continue
			}
			if err := s.damaged(ctx, id, r.replica); err != nil {
				s.tools.log.Warn("the cluster was not told of a damaged replica", "range", id, "replica", r.replica, "error", err)
			}
		}
	}
}
