package ownership

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

const (
	// handOverWithin bounds how long a node that stops gives its leaderships away.
	handOverWithin = 5 * time.Second
	// balanceEvery is how often a node looks whether another one should lead a range.
	balanceEvery = time.Second
	// steadyFor is how long a leader keeps a range, at least, before it gives it back
	// to the replica that leads when all is well.
	steadyFor = 15 * time.Second
)

// leadership decides which ranges this node leads: none while its clock is wrong or a
// write of the log hangs, else those that the table prefers it for.
type leadership struct {
	*router
	meta   *metaGroup
	stores *stores
	skew   atomic.Int64 // how far the clock is off, in nanoseconds, while that is too far; else 0
}

// stalled reports whether this node must not lead: a write of the log hangs, or the
// clock is wrong.
func (l *leadership) stalled() bool {
	return l.stores.hangs() > stallAfter || l.skew.Load() != 0
}

// handOver gives every range that this node leads to another replica, so that the
// others need not find out that it has gone.
func (l *leadership) handOver() {
	if l.net == nil {
		return
	}
	over := time.Now().Add(handOverWithin)
	var handing sync.WaitGroup
	for _, g := range l.groups() {
		if g.serving.Load() {
			handing.Go(func() { l.handOverRange(g, over) })
		}
	}
	if m := l.meta; m.raft() != nil && m.leads() {
		handing.Go(func() {
			_ = m.wait(func(r *raft.Raft) raft.Future { return r.LeadershipTransfer() })
		})
	}
	handing.Wait()
}

// handOverRange tries the replicas whose nodes answer, one after the other.
func (l *leadership) handOverRange(g *group, over time.Time) {
	r := l.of(g.all.From)
	for _, replica := range r.replicas() {
		if replica.Node == l.net.self() || !l.mayLead(g.id, replica) {
			continue
		}
		if time.Now().After(over) || !g.serving.Load() {
			return
		}
		if err := g.transfer(replica.ID(), replica.Address()); err == nil {
			return
		}
	}
	l.tools.log.Warn("leadership was not handed over", "range", g.id)
}

// transfer hands the leadership of the range to a replica, within an election's time.
//
// It asks raft only if the replica has nearly all of the log: until that has the rest, raft
// takes no writes. And it asks again only if the replica has taken messages since it was
// asked in vain. What raft leaves in the replica's queue then is gone, which may else
// leave raft "in transfer" for good, when leadership is lost while another request for the
// same replica waits for that queue (hashicorp/raft#696).
func (g *group) transfer(id raft.ServerID, address raft.ServerAddress) error {
	if err := g.transferable(id); err != nil {
		return err
	}
	err := g.owed.wait(func() raft.Future { return g.raft.LeadershipTransferToServer(id, address) })
	if err != nil {
		g.handing.Lock()
		defer g.handing.Unlock()
		g.handing.failed[id] = g.seat.progress(g.id, id).Taken
	}
	return err
}

const (
	// nearlyAll is how many entries a replica may lack that is to lead.
	nearlyAll = 256
	// emptied is after how many messages taken a replica's queue has been emptied: each
	// takes from there what waits, by even chances with what else there is to be sent.
	emptied = 3
)

var (
	errLags    = errors.New("it lacks entries of the log")
	errTooSoon = errors.New("it has taken too little since it was to lead the last time")
)

// transferable says why leadership is not to be handed to a replica now.
func (g *group) transferable(id raft.ServerID) error {
	progress := g.seat.progress(g.id, id)
	if progress.Last+nearlyAll < g.raft.LastIndex() {
		return errLags
	}
	g.handing.Lock()
	defer g.handing.Unlock()
	if taken, failed := g.handing.failed[id]; failed && progress.Taken < taken+emptied {
		return errTooSoon
	}
	return nil
}

// mayLead reports whether leadership may be handed to a replica.
func (l *leadership) mayLead(id uint32, replica raftnet.Replica) bool {
	return !l.net.silent(replica.Node) && !slices.Contains(l.known.Load().Ranges[id].Damaged, string(replica.ID()))
}

// balance gives leaderships back to the replicas that have them when all is well, until
// ctx ends: the table spreads those evenly over the nodes. A range is handed over when
// it has had the same leader for steadyFor and the preferred replica's node answers.
func (l *leadership) balance(ctx context.Context) { every(ctx, balanceEvery, l.balanceOnce) }

// balanceOnce hands one range over at most, so that ranges pause one at a time.
func (l *leadership) balanceOnce() {
	for _, g := range l.groups() {
		preferred := l.of(g.all.From).replicas()[0]
		since := g.gained.Load()
		if !g.serving.Load() || preferred.Node == l.net.self() || time.Since(time.Unix(0, since)) < steadyFor || !l.mayLead(g.id, preferred) {
			continue
		}
		if err := g.transfer(preferred.ID(), preferred.Address()); err != nil {
			l.tools.log.Debug("leadership was not given back", "range", g.id, "node", preferred.Node, "error", err)
			continue
		}
		return
	}
}
