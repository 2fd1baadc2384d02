package ownership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// A node of several keeps the newest table of the cluster that it knows, and its replicas
// are those that the table gives it: it opens the ones that are planned, and deletes the
// ones that the table has forgotten. The meta store notes which lie on the disk (held), so
// that what a replica of before has left is never taken for another one's.

// placeRetry is the pause before the replicas are compared with the table again.
const placeRetry = time.Second

// followTable makes this node's replicas those of each table that it learns, until ctx ends.
func (s *Store) followTable(ctx context.Context) {
	var retry <-chan time.Time
	for {
		select {
		case <-s.learned:
		case <-s.repairs.found:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		err := s.secureDamaged()
		if errors.Is(err, errEnds) {
			return
		}
		if err := errors.Join(err, s.adopt(s.known.Load())); err != nil {
			s.tools.log.Warn("replicas are not those of the cluster's table yet", "error", err)
			retry = time.After(placeRetry)
		}
	}
}

// adopt makes a table the one that this node goes by, durably.
func (s *Store) adopt(table *wire.Meta) error {
	if table != s.adopted {
		if err := s.adoptNew(table); err != nil {
			return err
		}
		s.adopted = table
	}
	if slices.ContainsFunc(table.Ranges, (*wire.Range).GetPlanned) { // once it begins, less is to be flushed
		if err := s.flush.flush(); err != nil {
			return err
		}
	}
	var errs []error
	for _, r := range slices.Backward(table.Ranges) { // what is split off begins before its parent may go
		if way := s.byID(r.Id); way != nil {
			errs = append(errs, s.place(way, r))
		}
	}
	return errors.Join(errs...)
}

// adoptNew notes a table that is new, and tells the others.
func (s *Store) adoptNew(table *wire.Meta) error {
	if err := s.meta.store.SetTable(table); err != nil {
		return err
	}
	if err := raiseFormat(s.cfg.Dir, versionOf(table)); err != nil {
		return err
	}
	s.net.join(table, s.cluster)
	if s.meta.leads() {
		s.announce(s.running, table)
	}
	return s.setRoutes(table)
}

// place makes this node's replica of a range the one that the table has.
func (s *Store) place(way *route, r *wire.Range) error {
	if err := way.setReplicas(r); err != nil {
		return err
	}
	want := s.replicaHere(r)
	if way.local() == nil && (want != "" || r.Parent > 0) {
		if !s.reserve(way.Range) {
			return nil // until the replica that has its buckets here is split, or has gone
		}
		defer s.release()
		if err := s.beginSplit(r, want); err != nil {
			return err
		}
	}
	if err := s.holdOnly(way, want); err != nil {
		return err
	}
	if slices.Contains(r.Replicas, want) || len(r.Replicas) >= int(s.known.Load().Replicas) {
		s.repairs.whole(r.Id)
	}
	if slices.Contains(r.Damaged, want) {
		s.repairs.note(r.Id, want, errToldDamaged)
	}
	if want == "" || way.local() != nil || s.repairs.has(r.Id, want) {
		return nil
	}
	g, err := s.openReplica(way, want)
	if err == nil {
		err = g.start()
	}
	if isDamage(err) {
		s.repairs.note(r.Id, want, err)
		return nil
	}
	if err != nil {
		return err
	}
	way.own.Store(g)
	s.listGroups()
	s.tools.log.Info("replica opened", "range", r.Id, "replica", want)
	if r.Parent > 0 && !g.empty() && s.byID(r.Parent-1).serves() {
		s.loops.Go(func() { s.standFirst(g) })
	}
	return nil
}

// holdOnly deletes what this disk has of a range unless it is of the replica that it should
// have, empty for none, or of the one that this was made of in a recovery.
func (s *Store) holdOnly(way *route, want string) error {
	have := s.held[way.ID]
	switch {
	case have == want:
		return nil
	case have != "" && have == survivorOf(s.known.Load(), want):
		return s.recoverReplica(way, want)
	}
	if err := s.dropReplica(way); err != nil {
		return err
	}
	return s.hold(way.ID, want)
}

// replicaHere returns the raft server ID of this node's replica of a range, empty if it has
// none.
func (s *Store) replicaHere(r *wire.Range) string {
	for _, id := range slices.Concat(r.Replicas, r.Joining) {
		if nodeID(raft.ServerID(id)) == s.net.self() {
			return id
		}
	}
	return ""
}

// setReplicas learns where the range is.
func (r *route) setReplicas(table *wire.Range) error {
	replicas := make([]raftnet.Replica, 0, len(table.Replicas))
	for _, id := range table.Replicas {
		replica, err := raftnet.ParseID(table.Id, raft.ServerID(id))
		if err != nil {
			return disk.Corrupt("range table: range %d: %w", table.Id, err)
		}
		replicas = append(replicas, replica)
	}
	r.placed.Store(&replicas)
	return nil
}

// hold notes which replica of a range is on this disk, empty for none.
func (s *Store) hold(id uint32, replica string) error {
	held := maps.Clone(s.held)
	if held[id] = replica; replica == "" {
		delete(held, id)
	}
	s.repairs.forgotten(id, s.held[id])
	damaged := s.repairs.ids()
	if err := s.meta.store.setHeld(held, damaged); err != nil {
		return err
	}
	s.held, s.noted = held, damaged
	if len(damaged) > 0 {
		return nil
	}
	return s.removeAside()
}

// openReplica opens this node's replica of a range as it is on the disk.
func (s *Store) openReplica(way *route, id string) (*group, error) {
	all := widest(s.known.Load(), way.ID)
	g, err := s.group(way.Range, all, seat{id: raft.ServerID(id), net: s.net})
	if err == nil {
		g.prepare, g.fsm.transfer.turns = s.turns.prepare(g), s.turns
		g.divided, g.fsm.transfer.admit = s.ring, func(to channel.Bucket) channel.Bucket { return s.admit(g, all, to) }
		g.fsm.damaged = func(err error) { s.repairs.note(way.ID, id, err) }
		g.fsm.compare = func(buckets []channel.Bucket, index uint64) { s.compare.take(g, buckets, index) }
	}
	return g, err
}

// listGroups gathers the replicas of this node.
func (s *Store) listGroups() {
	var open []*group
	for _, r := range s.inOrder() {
		if g := r.local(); g != nil {
			open = append(open, g)
		}
	}
	s.router.open.Store(&open)
}

// dropReplica stops this node's replica of a range and deletes all that the disk has of it.
// Raft forgot it before the table did, or a recovery did without raft: no vote of it counts any
// more.
func (s *Store) dropReplica(way *route) error {
	g := way.local()
	if g != nil && g.serving.Load() && !givenUp(s.known.Load(), string(g.seat.id)) {
		return fmt.Errorf("range %d is led by the replica here, which the table does not have", way.ID)
	}
	if err := s.closeReplica(way); err != nil {
		return err
	}
	if g != nil {
		s.tools.log.Info("replica dropped", "range", way.ID, "replica", g.seat.id)
	}
	return s.deleteReplica(way.ID)
}

// closeReplica stops this node's replica of a range, if it has one that runs.
func (s *Store) closeReplica(way *route) error {
	g := way.local()
	if g == nil {
		return nil
	}
	if closed := g.state.Time(); g.state.Range() == way.Range {
		way.watch.learn(closed) // streams that begin here next begin no earlier
	}
	way.own.Store(nil)
	s.listGroups()
	select {
	case <-g.refuse():
	case <-time.After(drainWithin):
	}
	if err := g.stop(); err != nil {
		return err
	}
	g.clock.changed.ring() // what waits here goes to the leader
	return nil
}

// onDisk returns a range with all buckets that a replica of it on this disk may have, and the
// ranges that may have been split off it here and were never held.
func (s *Store) onDisk(id uint32) (r channel.Range, begun []uint32) {
	table := s.known.Load()
	if table == nil {
		table = s.meta.fsm.meta()
	}
	r = widest(table, id)
	for other := range s.held {
		if from := channel.Bucket(table.Ranges[other].From); other != id && from > r.From {
			r.To = min(r.To, from-1)
		}
	}
	for _, other := range table.Ranges {
		if other.Id != id && r.Has(channel.Bucket(other.From)) {
			begun = append(begun, other.Id)
		}
	}
	return r, begun
}

// deleteReplica deletes all that the disk has of a range: all buckets that it may have had,
// up to those of another one that is here. After a crash in between, the
// next start does it again. Damage that cannot be cut out is one of all replicas.
func (s *Store) deleteReplica(id uint32) error {
	r, begun := s.onDisk(id)
	err := s.log.Drop(r.ID)
	if err == nil {
		err = s.flush.flush() // what is on disk need not be written while readers wait
	}
	if err == nil {
		err = s.state.Drop(r, begun...)
	}
	if errors.Is(err, ErrCorrupt) {
		s.repairs.noteShared(err)
	}
	if err != nil {
		return err
	}
	if err := s.cfg.files.RemoveAll(stateDir(s.cfg, r.ID)); err != nil {
		return fmt.Errorf("remove states received: %w", err)
	}
	return s.flush.flush()
}
