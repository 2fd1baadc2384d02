package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// Timings of raft. Contacts come each 250 ms (raftnet), so a leader of a loaded machine
// may hear nothing for 650 ms more before its lease ends; it ends before others are
// elected. Reads do not rest on it: see confirmer. The lease is shorter than the
// heartbeat also for the sake of hurry.
const (
	heartbeat      = 1000 * time.Millisecond
	raftLease      = 900 * time.Millisecond
	commitInterval = 2 * time.Second
	// trailingLogs entries stay after a snapshot, for replicas that are a little
	// behind; fewer if they take more than trailingBytes.
	trailingLogs  = 8
	trailingBytes = 256 << 10
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

// loneTransport reaches no other replica, as a cluster of one needs. Its address is
// the raft ID, so that a node may move to another network address.
func loneTransport(id raft.ServerID) (raft.ServerAddress, *raft.InmemTransport) {
	address, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	return address, transport
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

// committed returns up to which index leaders of a group have committed, by what they have told
// this replica, and when the last one did.
func (s seat) committed(group uint32) (index uint64, told time.Time) {
	replica, err := raftnet.ParseID(group, s.id)
	if err != nil {
		return 0, time.Time{}
	}
	return s.net.raft.Committed(replica)
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

// bootstrap founds a replica of a raft group, with the same first entry as all others
// of it, unless it was founded before.
func bootstrap(conf *raft.Config, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, seat seat) error {
	if err := undoHalf(logs, stable, snapshots); err != nil {
		return err
	}
	_, transport := loneTransport(conf.LocalID) // only asked how it writes addresses
	err := raft.BootstrapCluster(conf, logs, stable, snapshots, transport, raft.Configuration{Servers: seat.founders})
	if errors.Is(err, raft.ErrCantBootstrap) {
		return nil
	}
	return err
}

// undoHalf resets a founding that was cut between its first write, raft's term, and its
// second, the voters, so that it can be repeated. Raft would take the group for founded
// and, without voters, never elect a leader.
func undoHalf(logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore) error {
	term := []byte("CurrentTerm")
	last, err := logs.LastIndex()
	if err != nil || last > 0 {
		return err
	}
	if kept, err := snapshots.List(); err != nil || len(kept) > 0 {
		return err
	}
	if begun, err := stable.GetUint64(term); err != nil || begun == 0 {
		return nil // raft's stores say by an error that there is none
	}
	return stable.SetUint64(term, 0)
}

func raftConfig(seat seat, tools tools, group uint32) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = seat.id
	conf.ShutdownOnRemove = false
	conf.HeartbeatTimeout, conf.ElectionTimeout = heartbeat, heartbeat
	conf.LeaderLeaseTimeout, conf.CommitTimeout = raftLease, commitInterval
	conf.TrailingLogs = trailingLogs
	// The store asks for snapshots, by bytes of log: see snapshotter.
	conf.SnapshotInterval, conf.SnapshotThreshold = time.Hour, 1<<62
	conf.NoLegacyTelemetry = true
	conf.Logger = tools.raftLogger(group)
	return conf
}

// newRaft starts raft. It panics when an entry cannot be read, which is for the
// caller to decide about.
func newRaft(conf *raft.Config, f raft.FSM, logs raft.LogStore, stable raft.StableStore, snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r, err = nil, fmt.Errorf("raft: %v", cause)
		}
	}()
	return raft.NewRaft(conf, f, logs, stable, snapshots, transport)
}

// hurry starts the election of a lone voter, since no other replica can send the
// heartbeat that raft waits for: raft applies the shortened timeouts at once.
func hurry(r *raft.Raft, id raft.ServerID) error {
	configuration := r.GetConfiguration()
	if err := configuration.Error(); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if servers := configuration.Configuration().Servers; len(servers) != 1 || servers[0].ID != id {
		return nil
	}
	conf := r.ReloadableConfig()
	conf.HeartbeatTimeout, conf.ElectionTimeout = raftLease, raftLease
	return r.ReloadConfig(conf)
}
