package ownership

import (
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
	found   chan struct{} // full when there may be something that placer.run has not seen
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
