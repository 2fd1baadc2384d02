package ownership

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
)

// replicas opens, closes and deletes the replicas of this node.
type replicas struct {
	*metaCalls
	stores    *stores
	held      *held
	occupancy *occupancy
	children  *children
	turns     *turns
	compare   *comparer
}

// open opens this node's replica of a range as it is on the disk.
func (p *replicas) open(way *route, id string) (*group, error) {
	all := tables.Widest(p.known.Load(), way.ID)
	g, err := p.stores.group(way.Range, all, seat{id: raft.ServerID(id), net: p.net})
	if err == nil {
		g.prepare, g.fsm.transfer.turns = p.turns.prepare(g), p.turns
		g.divided, g.fsm.transfer.admit = p.ring, func(to channel.Bucket) channel.Bucket { return p.occupancy.admit(g, all, to) }
		g.fsm.damaged = func(err error) { p.repairs.note(way.ID, id, err) }
		g.fsm.compare = func(buckets []channel.Bucket, index uint64) { p.compare.take(g, buckets, index) }
	}
	return g, err
}

// list gathers the replicas of this node.
func (p *replicas) list() {
	var open []*group
	for _, r := range p.inOrder() {
		if g := r.local(); g != nil {
			open = append(open, g)
		}
	}
	p.router.open.Store(&open)
}

// holdOnly deletes what this disk has of a range unless it is of the replica that it should
// have, empty for none, or of the one that this was made of in a recovery.
func (p *replicas) holdOnly(way *route, want string) error {
	have := p.held.replicas[way.ID]
	switch {
	case have == want:
		return nil
	case have != "" && have == tables.SurvivorOf(p.known.Load(), want):
		return p.recover(way, want)
	}
	if err := p.drop(way); err != nil {
		return err
	}
	return p.held.set(way.ID, want)
}

// recover makes this node's replica of a range the one that a recovery has made of it.
func (p *replicas) recover(way *route, id string) error {
	if err := p.close(way); err != nil {
		return err
	}
	replica, err := raftnet.ParseID(way.ID, raft.ServerID(id))
	if err != nil {
		return err
	}
	log, err := p.stores.log.Group(way.ID)
	if err != nil {
		return err
	}
	snapshot, _, err := (&snapshotStore{group: way.ID, log: log}).read()
	if err != nil {
		return err
	}
	if err := voteAlone(replica, log, log, snapshot.Index); err != nil {
		return err
	}
	if r := p.repairs.all()[way.ID]; p.repairs.has(way.ID, p.held.replicas[way.ID]) { // found since it was chosen
		p.repairs.note(way.ID, id, r.why)
	}
	p.tools.log.Warn("replica recovered: it is the range's only one", "range", way.ID, "replica", id)
	return p.held.set(way.ID, id)
}

// drop stops this node's replica of a range and deletes all that the disk has of it.
// Raft forgot it before the table did, or a recovery did without raft: no vote of it counts any
// more.
func (p *replicas) drop(way *route) error {
	g := way.local()
	if g != nil && g.serving.Load() && !tables.GivenUp(p.known.Load(), string(g.seat.id)) {
		return fmt.Errorf("range %d is led by the replica here, which the table does not have", way.ID)
	}
	if err := p.close(way); err != nil {
		return err
	}
	if g != nil {
		p.tools.log.Info("replica dropped", "range", way.ID, "replica", g.seat.id)
	}
	return p.delete(way.ID)
}

// close stops this node's replica of a range, if it has one that runs.
func (p *replicas) close(way *route) error {
	g := way.local()
	if g == nil {
		return nil
	}
	if closed := g.state.Time(); g.state.Range() == way.Range {
		way.watch.learn(closed) // streams that begin here next begin no earlier
	}
	way.own.Store(nil)
	p.list()
	select {
	case <-g.refuse():
	case <-time.After(drainWithin):
	}
	if err := g.stop(); err != nil {
		return err
	}
	g.untell()             // it may have led; no notice of raft's comes any more
	g.clock.changed.ring() // what waits here goes to the leader
	return nil
}

// onDisk returns a range with all buckets that a replica of it on this disk may have, and the
// ranges that may have been split off it here and were never held.
func (p *replicas) onDisk(id uint32) (r channel.Range, begun []uint32) {
	table := p.known.Load()
	if table == nil {
		table = p.meta.fsm.meta()
	}
	r = tables.Widest(table, id)
	for other := range p.held.replicas {
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

// delete deletes all that the disk has of a range: all buckets that it may have had,
// up to those of another one that is here. After a crash in between, the
// next start does it again. Damage that cannot be cut out is one of all replicas.
func (p *replicas) delete(id uint32) error {
	r, begun := p.onDisk(id)
	err := p.stores.log.Drop(r.ID)
	if err == nil {
		err = p.stores.flush.flush() // what is on disk need not be written while readers wait
	}
	if err == nil {
		err = p.state.Drop(r, begun...)
	}
	if errors.Is(err, ErrCorrupt) {
		p.repairs.noteShared(err)
	}
	if err != nil {
		return err
	}
	if err := p.stores.cfg.files.RemoveAll(stateDir(p.stores.cfg, r.ID)); err != nil {
		return fmt.Errorf("remove states received: %w", err)
	}
	return p.stores.flush.flush()
}
