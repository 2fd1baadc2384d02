package ownership

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// member is a replica in a cluster of a process.
type member struct {
	*replica
	id        raft.ServerID
	others    []*member
	transport *tapped // nil before its first start
	raft      *raft.Raft
}

// tapped is a transport through which snapshots can be watched.
type tapped struct {
	*raft.InmemTransport
	tap atomic.Pointer[func(from io.Reader) io.Reader] // nil for none
}

func (t *tapped) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	if state, ok := data.(*spooled); ok { // as package raftnet's Prepare does
		size, err := state.spool()
		if err != nil {
			return err
		}
		args.Size = size
	}
	if tap := t.tap.Load(); tap != nil {
		data = (*tap)(data)
	}
	return t.InmemTransport.InstallSnapshot(id, target, args, resp, data)
}

// newCluster makes three members and starts none.
func newCluster(t *testing.T) []*member {
	t.Helper()
	members := make([]*member, 3)
	for i := range members {
		members[i] = &member{replica: newReplica(t, vfs.NewMem(), "cluster"), id: raft.ServerID(fmt.Sprintf("member-%d", i)), others: members}
	}
	return members
}

// connect gives a member a new transport, by which those that have one know it.
func (m *member) connect() {
	_, inner := raft.NewInmemTransport(raft.ServerAddress(m.id))
	m.transport = &tapped{InmemTransport: inner}
	for _, other := range m.others {
		if other.transport != nil {
			m.transport.Connect(raft.ServerAddress(other.id), other.transport.InmemTransport)
			other.transport.Connect(raft.ServerAddress(m.id), inner)
		}
	}
}

func (m *member) config() *raft.Config {
	conf := raftConfig(seat{id: m.id}, m.group.tools, sentGroup)
	conf.NoSnapshotRestoreOnStart = true
	return conf
}

// found gives a member the configuration of all.
func (m *member) found(t *testing.T) {
	t.Helper()
	var all raft.Configuration
	for _, other := range m.others {
		all.Servers = append(all.Servers, raft.Server{ID: other.id, Address: raft.ServerAddress(other.id)})
	}
	_, lone := loneTransport(m.id)
	if err := raft.BootstrapCluster(m.config(), m.group.log, m.group.log, m.group.snapshots, lone, all); err != nil {
		t.Fatal(err)
	}
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.connect()
	var err error
	if m.raft, err = raft.NewRaft(m.config(), m.group.fsm, m.group.log, m.group.log, m.group.snapshots, m.transport); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.stop(t) })
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	for _, other := range m.others {
		if other.transport != nil {
			other.transport.Disconnect(raft.ServerAddress(m.id))
		}
	}
	if err := m.raft.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}

// restart closes a member's stores and opens them again.
func (m *member) restart(t *testing.T) {
	t.Helper()
	files := m.cfg.files
	m.close(t)
	m.replica = newReplica(t, files, "")
	m.start(t)
}

// leader waits for a leader that knows that it is.
func leader(t *testing.T, members ...*member) *member {
	t.Helper()
	for range 1000 {
		for _, m := range members {
			if m.raft.State() == raft.Leader && m.raft.Barrier(time.Second).Error() == nil {
				return m
			}
		}
		time.Sleep(100 * time.Millisecond) // of virtual time
	}
	t.Fatal("no leader")
	return nil
}

// commands proposes to whoever leads until it is stopped.
type commands struct {
	stopped chan struct{}
	running sync.WaitGroup
}

func propose(t *testing.T, m *member, list []*wire.Command) {
	t.Helper()
	for _, c := range list {
		c.TimeUs = wire.Micros(day0)
		entry := marshal(t, &wire.Entry{Commands: []*wire.Command{c}})
		if err := m.raft.Apply(entry, time.Second).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

func keepProposing(t *testing.T, members ...*member) *commands {
	c := &commands{stopped: make(chan struct{})}
	c.running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-c.stopped:
				return
			case <-time.After(20 * time.Millisecond):
			}
			command := sentCommands(t, fmt.Sprint("going-on-", i), 1, 1000)[0]
			command.TimeUs = wire.Micros(day0)
			for _, m := range members {
				_ = m.raft.Apply(marshal(t, &wire.Entry{Commands: []*wire.Command{command}}), time.Second) // the leader takes it
			}
		}
	})
	return c
}

func (c *commands) stop() {
	close(c.stopped)
	c.running.Wait()
}

// caughtUp waits until a member has applied what the leader has.
func caughtUp(t *testing.T, leader, m *member) {
	t.Helper()
	if err := leader.raft.Barrier(time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	want := leader.raft.AppliedIndex()
	for range 1000 {
		if m.raft.AppliedIndex() >= want && m.group.state.Index() >= leader.group.state.Index() {
			return
		}
		time.Sleep(100 * time.Millisecond) // of virtual time
	}
	t.Fatalf("%s is at %d of %d", m.id, m.raft.AppliedIndex(), want)
}

func sameState(t *testing.T, a, b *member) {
	t.Helper()
	one, two := ofRange(dump(t, a.db)), ofRange(dump(t, b.db))
	if !maps.Equal(one, two) {
		t.Errorf("%s has %d keys, %s %d, or others", a.id, len(one), b.id, len(two))
	}
}

// stopAll ends a cluster, whose members then have the same in memory and could
// start again.
func stopAll(t *testing.T, members []*member) {
	t.Helper()
	for _, m := range members {
		m.stop(t)
		if err := m.group.check(); err != nil {
			t.Error(err)
		}
	}
	want := members[0].group.state.String()
	for _, m := range members[1:] {
		if got := m.group.state.String(); got != want {
			t.Errorf("in memory of %s:\n%s\nof %s:\n%s", m.id, got, members[0].id, want)
		}
	}
}

// truncated founds a cluster of which the third member knows nothing, runs commands
// and truncates the logs of the others.
func truncated(t *testing.T) (members []*member, first *member) {
	t.Helper()
	members = newCluster(t)
	for _, m := range members[:2] {
		m.found(t)
		m.start(t)
	}
	first = leader(t, members[:2]...)
	propose(t, first, sentCommands(t, "before", 60, 2000))
	for _, m := range members[:2] {
		caughtUp(t, first, m)
		if err := m.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
	}
	// What the state has beyond the snapshot's index.
	propose(t, first, sentCommands(t, "beyond", 20, 2000))
	if begin, _ := first.group.log.FirstIndex(); begin < 100 {
		t.Fatalf("log begins at entry %d", begin)
	}
	return members, first
}

// TestInstallSnapshot: a member that starts empty behind a truncated log gets the
// state while commands go on, skips the entries that the state has, ends with the
// same state, and starts again from what it has.
func TestInstallSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members, first := truncated(t)
		empty := members[2]
		going := keepProposing(t, members[:2]...)
		empty.start(t)
		time.Sleep(10 * time.Second)
		going.stop()
		caughtUp(t, first, empty)
		sameState(t, first, empty)
		m := empty.group.tools.metrics
		if got := counted(t, m.transfersReceived); got < 1 {
			t.Errorf("%v states received", got)
		}
		if got := counted(t, m.replaySkipped); got < 1 {
			t.Errorf("%v entries skipped: the state was not newer than its index", got)
		}
		for range 2 { // the second start is after a snapshot of its own
			empty.stop(t)
			empty.restart(t)
			propose(t, first, sentCommands(t, fmt.Sprint(first.raft.AppliedIndex()), 3, 10))
			caughtUp(t, first, empty)
			sameState(t, first, empty)
			if err := empty.raft.Snapshot().Error(); err != nil {
				t.Error(err)
			}
		}
		caughtUp(t, first, members[0])
		caughtUp(t, first, members[1])
		stopAll(t, members)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestRecoveredBehindItsState: a member that was sent a state, none of the entries after the
// state's index, and is its group's only one then, takes commands that change something.
func TestRecoveredBehindItsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members, _ := truncated(t)
		left := members[2]
		cut := func(from io.Reader) io.Reader {
			return io.MultiReader(from, readerFunc(func([]byte) (int, error) {
				for _, m := range members[:2] {
					m.transport.Disconnect(raft.ServerAddress(left.id))
					left.transport.Disconnect(raft.ServerAddress(m.id))
				}
				return 0, io.EOF
			}))
		}
		for _, m := range members[:2] {
			m.transport.tap.Store(&cut)
		}
		left.start(t)
		time.Sleep(10 * time.Second)
		for _, m := range members {
			m.stop(t)
		}
		snapshot, _, err := left.group.snapshots.read()
		if err != nil {
			t.Fatal(err)
		}
		last, _ := left.group.log.LastIndex()
		if have := left.group.state.Index(); max(last, snapshot.Index) >= have {
			t.Fatalf("the log ends at %d, the state at %d: the test shows nothing", last, have)
		}
		if err := voteAlone(raftnet.Replica{Node: string(left.id)}, left.group.log, left.group.log, snapshot.Index); err != nil {
			t.Fatal(err)
		}
		left.others = nil
		left.restart(t)
		leader(t, left)
		left.group.raft = left.raft
		if err := left.group.catchUp(); err != nil {
			t.Fatal(err)
		}
		channels, subscriptions := left.group.state.Counts()
		propose(t, left, sentCommands(t, "after", 3, 10))
		if c, s := left.group.state.Counts(); c == channels && s == subscriptions {
			t.Errorf("three commands changed nothing: %d channels, %d subscriptions", c, s)
		}
	})
}

// TestNewestEntryOfState: a member that was sent the state, and no entry after it, has the index
// and the term of the state's last one: a recovery keeps what is newest.
func TestNewestEntryOfState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members, first := truncated(t)
		for _, m := range members[:2] {
			caughtUp(t, first, m)
			if err := m.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		empty := members[2]
		empty.start(t)
		time.Sleep(10 * time.Second)
		wantIndex, wantTerm := newestEntry(first.raft)
		if index, term := newestEntry(empty.raft); index != wantIndex || term != wantTerm {
			t.Errorf("entry %d of term %d, want %d of %d", index, term, wantIndex, wantTerm)
		}
		stopAll(t, members)
	})
}

// TestLeaderStopsSending: the leader stops in the middle of the stream. What came is
// forgotten, the next leader sends its own state, and the first one comes back.
func TestLeaderStopsSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members, _ := truncated(t)
		empty := members[2]
		var cut atomic.Pointer[member] // the first that sends
		half := make(chan struct{})
		for _, m := range members[:2] {
			tap := func(from io.Reader) io.Reader {
				if cut.CompareAndSwap(nil, m) {
					defer close(half)
				}
				if cut.Load() != m {
					return from
				}
				return io.MultiReader(io.LimitReader(from, 2000), iotest.ErrReader(errors.New("connection lost")))
			}
			m.transport.tap.Store(&tap)
		}
		going := keepProposing(t, members[:2]...)
		empty.start(t)
		<-half
		first, second := cut.Load(), members[0]
		if second == first {
			second = members[1]
		}
		first.stop(t)
		next := leader(t, second, empty)
		time.Sleep(10 * time.Second)
		going.stop()
		caughtUp(t, next, empty)
		caughtUp(t, next, second)
		sameState(t, second, empty)
		m := empty.group.tools.metrics
		if refused, got := counted(t, m.transfersRefused), counted(t, m.transfersReceived); refused < 1 || got < 1 {
			t.Errorf("%v streams refused, %v received", refused, got)
		}
		if left := leftovers(t, empty.cfg.files, transferDir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		first.restart(t)
		last := leader(t, members...)
		for _, m := range members {
			caughtUp(t, last, m)
		}
		sameState(t, second, first)
		stopAll(t, members)
	})
}

// flipped reads what another reader has, with one bit of a byte turned.
type flipped struct {
	io.Reader
	at int // bytes before that one
}

func (f *flipped) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if 0 <= f.at && f.at < n {
		p[f.at] ^= 1
	}
	f.at -= n
	return n, err
}

// TestStateDamagedOnItsWay: what arrives of a state that was cut or flipped on its way is
// forgotten, and the replica is filled again within a minute.
func TestStateDamagedOnItsWay(t *testing.T) {
	for name, damage := range map[string]func(from io.Reader) io.Reader{
		"cut":     func(from io.Reader) io.Reader { return io.LimitReader(from, 2000) },
		"flipped": func(from io.Reader) io.Reader { return &flipped{from, 2000} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				members, first := truncated(t)
				empty := members[2]
				var sent atomic.Int32
				const damaged = 3
				for _, m := range members[:2] {
					tap := func(from io.Reader) io.Reader {
						if sent.Add(1) > damaged {
							return from
						}
						return damage(from)
					}
					m.transport.tap.Store(&tap)
				}
				began := time.Now()
				empty.start(t)
				caughtUp(t, first, empty)
				if took := time.Since(began); took > time.Minute {
					t.Errorf("filled after %s", took)
				}
				sameState(t, first, empty)
				m := empty.group.tools.metrics
				if refused, got := counted(t, m.transfersRefused), counted(t, m.transfersReceived); refused != damaged || got != 1 {
					t.Errorf("%v states refused, %v received, want %d and 1", refused, got, damaged)
				}
				if left := leftovers(t, empty.cfg.files, transferDir); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				stopAll(t, members)
			})
		})
	}
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var metric dto.Metric
	if err := c.Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}
