package ownership

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// seat is a replica's place in its Raft group.
type seat struct {
	id       raft.ServerID
	founders []raft.Server        // of the group, the same for all of them
	net      *network             // nil: the only one there is
	lone     *raft.InmemTransport // of the only one
}

// loneSeat is that of the only replica of a group.
func loneSeat(id raft.ServerID) seat {
	_, transport := loneTransport(id)
	return seat{id: id, lone: transport, founders: []raft.Server{{Suffrage: raft.Voter, ID: id, Address: raft.ServerAddress(id)}}}
}

// seatOf finds this node's seat among a group's replicas, of which the first some vote;
// false if it has none.
func seatOf(net *network, group uint32, replicas []string, voters int) (s seat, found bool, err error) {
	s.net = net
	for i, text := range replicas {
		replica, err := raftnet.ParseID(group, raft.ServerID(text))
		if err != nil {
			return s, false, err
		}
		if replica.Node == net.self() {
			s.id, found = replica.ID(), true
		}
		server := raft.Server{Suffrage: raft.Voter, ID: replica.ID(), Address: replica.Address()}
		if i >= voters {
			server.Suffrage = raft.Nonvoter
		}
		s.founders = append(s.founders, server)
	}
	return s, found, nil
}

// stallAfter is how long a write of the log may hang before this node stops to lead.
const stallAfter = time.Second

// run starts the replica's raft. Of the hooks it makes those that are of raft and the log
// itself; Barred may be nil.
func (s seat) run(conf *raft.Config, f raft.FSM, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, group uint32, hooks raftnet.Hooks) (*raft.Raft, error) {
	if s.net == nil {
		r, err := newRaft(conf, f, logs, stable, snapshots, s.lone)
		if err != nil {
			return nil, err
		}
		return r, hurry(r, s.id)
	}
	replica, err := raftnet.ParseID(group, s.id)
	if err != nil {
		return nil, err
	}
	log := raftnet.NewLog(logs)
	var running atomic.Pointer[raft.Raft]
	barred := hooks.Barred
	hooks.Log = log
	hooks.Barred = func() bool { return s.net.stalled() || barred != nil && barred() }
	hooks.Leader = func() (raft.ServerID, uint64) {
		r := running.Load()
		if r == nil {
			return "", 0
		}
		_, leader := r.LeaderWithID()
		return leader, r.CurrentTerm()
	}
	transport, err := s.net.raft.Transport(replica, hooks)
	if err != nil {
		return nil, err
	}
	r, err := newRaft(conf, f, log, stable, snapshots, transport)
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	running.Store(r)
	return r, hurry(r, s.id)
}

// stand has the replica, which runs, stand for election at once. One that leads would lose its
// term by that.
func (s seat) stand(ctx context.Context, group uint32) error {
	replica, err := raftnet.ParseID(group, s.id)
	if err != nil {
		return err
	}
	return s.net.raft.Stand(ctx, replica)
}

// progress returns what another replica of a group has said to the entries that this one
// sent it.
func (s seat) progress(group uint32, other raft.ServerID) raftnet.Progress {
	replica, err := raftnet.ParseID(group, s.id)
	if err != nil {
		return raftnet.Progress{}
	}
	return s.net.raft.Progress(replica, other)
}

// stop stops the replica's raft, after its messages: raft waits for those under way.
func (s seat) stop(r *raft.Raft, group uint32) error {
	if s.net != nil {
		replica, err := raftnet.ParseID(group, s.id)
		if err != nil {
			return err
		}
		s.net.raft.Close(replica)
	}
	return r.Shutdown().Error()
}
