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

// learn takes a table of the cluster that may be newer than the one known.
func (s *Store) learn(table *wire.Meta) {
	for {
		known := s.known.Load()
		if known == nil || table.Revision <= known.Revision || string(table.Cluster) != string(known.Cluster) {
			return
		}
		if s.known.CompareAndSwap(known, table) {
			break
		}
	}
	select {
	case s.learned <- struct{}{}:
	default:
	}
}

// placeRetry is the pause before the replicas are compared with the table again.
const placeRetry = time.Second

// followTable makes this node's replicas those of each table that it learns, until ctx ends.
func (s *Store) followTable(ctx context.Context) {
	var retry <-chan time.Time
	for {
		select {
		case <-s.learned:
		case <-retry:
		case <-ctx.Done():
			return
		}
		retry = nil
		if err := s.adopt(s.known.Load()); err != nil {
			s.tools.log.Warn("replicas are not those of the cluster's table yet", "error", err)
			retry = time.After(placeRetry)
		}
	}
}

// adopt makes a table the one that this node goes by, durably.
func (s *Store) adopt(table *wire.Meta) error {
	if err := s.meta.store.SetTable(table); err != nil {
		return err
	}
	s.net.join(table, s.cluster)
	if s.meta.raft.State() == raft.Leader {
		s.announce(s.running, table)
	}
	routes := *s.routes.Load()
	if len(routes) != len(table.Ranges) {
		return fmt.Errorf("table of %d ranges, not %d", len(table.Ranges), len(routes))
	}
	var errs []error
	for i, r := range table.Ranges {
		errs = append(errs, s.place(routes[i], r))
	}
	return errors.Join(errs...)
}

// place makes this node's replica of a range the one that the table has.
func (s *Store) place(way *route, r *wire.Range) error {
	if err := way.setReplicas(r); err != nil {
		return err
	}
	want := s.replicaHere(r)
	if have := s.held[r.Id]; have != want {
		if err := s.dropReplica(way); err != nil {
			return err
		}
		if err := s.hold(r.Id, want); err != nil {
			return err
		}
	}
	if want == "" || way.local() != nil {
		return nil
	}
	g, err := s.openReplica(way, want)
	if err == nil {
		err = g.start()
	}
	if err != nil {
		return err
	}
	way.own.Store(g)
	s.listGroups()
	s.tools.log.Info("replica opened", "range", r.Id, "replica", want)
	return nil
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
	if err := s.meta.store.setHeld(held); err != nil {
		return err
	}
	s.held = held
	return nil
}

// openReplica opens this node's replica of a range as it is on the disk.
func (s *Store) openReplica(way *route, id string) (*group, error) {
	return openGroup(way.Range, seat{id: raft.ServerID(id), net: s.net}, s.log, s.db, s.state, s.flush, s.cfg, s.tools)
}

// listGroups gathers the replicas of this node.
func (s *Store) listGroups() {
	var open []*group
	for _, r := range *s.routes.Load() {
		if g := r.local(); g != nil {
			open = append(open, g)
		}
	}
	s.router.open.Store(&open)
}

// dropReplica stops this node's replica of a range and deletes all that the disk has of it.
// Raft forgot it before the table did: no vote of it counts any more.
func (s *Store) dropReplica(way *route) error {
	if g := way.local(); g != nil {
		if g.serving.Load() {
			return fmt.Errorf("range %d is led by the replica here, which the table does not have", way.ID)
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
		s.tools.log.Info("replica dropped", "range", way.ID, "replica", g.seat.id)
	}
	return s.deleteReplica(way.Range)
}

// deleteReplica deletes all that the disk has of a range. After a crash in between, the
// next start does it again.
func (s *Store) deleteReplica(r channel.Range) error {
	if err := s.log.Drop(r.ID); err != nil {
		return err
	}
	if err := s.state.Drop(r); err != nil {
		return err
	}
	if err := s.cfg.files.RemoveAll(stateDir(s.cfg, r.ID)); err != nil {
		return fmt.Errorf("remove states received: %w", err)
	}
	return s.flush.flush()
}
