package raftnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testRange = 7

// member is a node with one replica, all in memory.
type member struct {
	t        *testing.T
	replica  Replica
	peers    *peer.Node
	net      *Net
	listener net.Listener
	serving  sync.WaitGroup
	cancel   context.CancelFunc
	stalled  atomic.Bool

	transport *Transport
	raft      *raft.Raft
	fsm       *lines
	logs      *raft.InmemStore
}

// lines is a state machine that keeps the commands.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Apply(e *raft.Log) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(e.Data))
	return nil
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func (l *lines) Snapshot() (raft.FSMSnapshot, error) { return snapshot(l.text()), nil }

func (l *lines) Restore(r io.ReadCloser) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = strings.Split(string(content), "\n")
	return nil
}

type snapshot string

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := io.WriteString(sink, string(s)); err != nil {
		return err
	}
	return sink.Close()
}

func (snapshot) Release() {}

var errRefusedCommand = errors.New("refused command")

func newMember(t *testing.T, i int) *member {
	t.Helper()
	name := fmt.Sprintf("n%d", i)
	m := &member{t: t, replica: Replica{testRange, name + ".x", uint32(i)}}
	var err error
	if m.peers, err = peer.New(peer.Config{Self: peer.Identity{Name: name, ID: m.replica.Node}}); err != nil {
		t.Fatal(err)
	}
	m.net = New(m.peers)
	if m.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.serving.Go(func() {
		if err := m.peers.Serve(ctx, m.listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(m.close)
	return m
}

func (m *member) peer() peer.Peer {
	self := m.peers.Self()
	return peer.Peer{ID: self.ID, Name: self.Name, Address: m.listener.Addr().String()}
}

func (m *member) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = m.replica.ID()
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout, c.CommitTimeout = time.Second, time.Second, time.Second, 20*time.Millisecond
	c.Logger = hclog.NewNullLogger()
	c.TrailingLogs = 1
	return c
}

func (m *member) start() {
	m.t.Helper()
	var err error
	m.logs = raft.NewInmemStore()
	log := NewLog(m.logs)
	m.transport, err = m.net.Transport(m.replica, Hooks{
		Barred: m.stalled.Load,
		Leader: func() (raft.ServerID, uint64) {
			_, leader := m.raft.LeaderWithID()
			return leader, m.raft.CurrentTerm()
		},
		CheckCommand: func(e *raft.Log) error {
			if bytes.Equal(e.Data, []byte("bad")) {
				return errRefusedCommand
			}
			return nil
		},
		Log: log,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.fsm = &lines{}
	if m.raft, err = raft.NewRaft(m.config(), m.fsm, log, m.logs, raft.NewInmemSnapshotStore(), m.transport); err != nil {
		m.t.Fatal(err)
	}
}

func (m *member) stop() {
	if m.raft == nil {
		return
	}
	m.net.Close(m.replica)
	if err := m.raft.Shutdown().Error(); err != nil {
		m.t.Error(err)
	}
	m.raft = nil
}

func (m *member) close() {
	m.stop()
	m.cancel()
	m.peers.Close()
	m.serving.Wait()
}

// cluster starts n members with one range.
func cluster(t *testing.T, n int) []*member {
	t.Helper()
	var members []*member
	var peers []peer.Peer
	var servers []raft.Server
	for i := range n {
		m := newMember(t, i+1)
		members, peers = append(members, m), append(peers, m.peer())
		servers = append(servers, raft.Server{ID: m.replica.ID(), Address: m.replica.Address()})
	}
	for _, m := range members {
		m.peers.SetPeers(peers)
		m.start()
	}
	if err := members[0].raft.BootstrapCluster(raft.Configuration{Servers: servers}).Error(); err != nil {
		t.Fatal(err)
	}
	commit(t, members, "first")
	await(t, "all have the founding", func() bool { // else they could not elect another
		for _, m := range members {
			if m.fsm.text() != "first" {
				return false
			}
		}
		return true
	})
	return members
}

// await waits for a condition that others bring about.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within 30 s: %s", what)
		case <-ticker.C:
		}
	}
}

func leaderOf(t *testing.T, members []*member) (leader *member) {
	t.Helper()
	await(t, "a leader", func() bool {
		for _, m := range members {
			if m.raft != nil && m.raft.State() == raft.Leader && m.raft.VerifyLeader().Error() == nil {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// commit has a command committed, by whichever member leads.
func commit(t *testing.T, members []*member, command string) {
	t.Helper()
	await(t, "a commit", func() bool {
		return leaderOf(t, members).raft.Apply([]byte(command), 5*time.Second).Error() == nil
	})
}

func TestReplication(t *testing.T) {
	members := cluster(t, 3)
	leaderOf(t, members)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { commit(t, members, strings.Repeat("x", 300_000)+fmt.Sprint(i)) })
	}
	all.Wait()
	await(t, "all replicas have the commands", func() bool {
		want := members[0].fsm.text()
		return len(want) > 20*300_000 && members[1].fsm.text() == want && members[2].fsm.text() == want
	})
	var target *member
	await(t, "a handover", func() bool {
		leader := leaderOf(t, members)
		target = otherThan(leader, members)
		if leader.raft.LeadershipTransferToServer(target.replica.ID(), target.replica.Address()).Error() != nil {
			return false
		}
		for deadline := time.Now().Add(2 * time.Second); target.raft.State() != raft.Leader && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // it counts votes yet
		}
		return target.raft.State() == raft.Leader
	})
	commit(t, members, "after")
}

func otherThan(m *member, members []*member) *member {
	if members[0] != m {
		return members[0]
	}
	return members[1]
}

// TestState: a replica that lost everything comes back under a new number, and is
// filled by a state; messages for the old number reach none.
func TestState(t *testing.T) {
	members := cluster(t, 3)
	for i := range 50 {
		commit(t, members, fmt.Sprint("command ", i))
	}
	leader := leaderOf(t, members)
	lost := otherThan(leader, members)
	old := lost.replica
	lost.stop()
	if err := leader.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := leader.raft.RemoveServer(old.ID(), 0, 5*time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	lost.replica.Number = 9
	lost.start()
	if err := leader.raft.AddNonvoter(lost.replica.ID(), lost.replica.Address(), 0, 5*time.Second).Error(); err != nil {
		t.Fatal(err)
	}
	await(t, "the new replica is filled", func() bool { return lost.fsm.text() == leader.fsm.text() })
	first, err := lost.logs.FirstIndex()
	if err != nil || first == 1 {
		t.Errorf("it was filled by the log from %d on: %v", first, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = leader.peers.Call(ctx, old.Node, peer.Control, kindVote, old.Group(), nil)
	if err == nil || !strings.Contains(err.Error(), ErrNoReplica.Error()) {
		t.Errorf("a message for the old number: %v", err)
	}
}

// TestStalledLeader: one whose log hangs sends no heartbeats, and another leads.
func TestStalledLeader(t *testing.T) {
	members := cluster(t, 3)
	leader := leaderOf(t, members)
	leader.stalled.Store(true)
	await(t, "another leads", func() bool { return leaderOf(t, members) != leader })
}

// TestStrangeMessages: what raft would panic on, or obey, never reaches it.
func TestStrangeMessages(t *testing.T) {
	members := cluster(t, 3)
	leader := leaderOf(t, members)
	follower := otherThan(leader, members)
	term := follower.raft.CurrentTerm()
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(leader.replica.ID()), Addr: []byte(leader.replica.Node)}
	other := header
	other.ID = []byte(follower.replica.ID())
	entry := func(change func(*raft.Log)) []byte {
		e := &raft.Log{Index: 1000, Term: term, Type: raft.LogCommand, Data: []byte("x")}
		change(e)
		return encodeAppend(&raft.AppendEntriesRequest{RPCHeader: header, Term: term, PrevLogEntry: 999, PrevLogTerm: 1, Entries: []*raft.Log{e}})
	}
	for name, test := range map[string]struct {
		kind    peer.Kind
		message []byte
	}{
		"empty":                         {kindAppend, nil},
		"cut":                           {kindAppend, entry(func(*raft.Log) {})[:20]},
		"too long":                      {kindAppend, append(entry(func(*raft.Log) {}), 0)},
		"another's name":                {kindVote, encodeVote(&raft.RequestVoteRequest{RPCHeader: other, Term: term + 1})},
		"unknown type":                  {kindAppend, entry(func(e *raft.Log) { e.Type = 77 })},
		"an index that does not follow": {kindAppend, entry(func(e *raft.Log) { e.Index = 1001 })},
		"an entry of a later term":      {kindAppend, entry(func(e *raft.Log) { e.Term = term + 1 })},
		"an entry of an earlier term":   {kindAppend, entry(func(e *raft.Log) { e.Term = 0 })},
		"a configuration of nothing":    {kindAppend, entry(func(e *raft.Log) { e.Type = raft.LogConfiguration })},
		"a configuration without voters": {kindAppend, entry(func(e *raft.Log) {
			e.Type, e.Data = raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{})
		})},
		"a command that will not apply":  {kindAppend, entry(func(e *raft.Log) { e.Data = []byte("bad") })},
		"heartbeats without an end":      {kindHeartbeats, []byte{9, 1, 1}},
		"a handover of an earlier term":  {kindHandover, encodeHandover(handover{header, term - 1})},
		"a handover by one that follows": {kindHandover, encodeHandover(handover{raft.RPCHeader{ProtocolVersion: 3, ID: []byte("z/1"), Addr: []byte("z")}, term})},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := leader.peers.Call(ctx, follower.replica.Node, peer.Log, test.kind, follower.replica.Group(), test.message)
		cancel()
		var refused *peer.RemoteError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	commit(t, members, "still")
}

// TestOldTerms: what a leader sent in a term that is over has no effect when it comes
// again, whatever it carries.
func TestOldTerms(t *testing.T) {
	members := cluster(t, 3)
	old := leaderOf(t, members)
	term, last := old.raft.CurrentTerm(), old.raft.LastIndex()
	var next *member
	await(t, "another leads", func() bool {
		if leader := leaderOf(t, members); leader != old {
			next = leader
			return true
		}
		target := otherThan(old, members)
		_ = old.raft.LeadershipTransferToServer(target.replica.ID(), target.replica.Address()).Error() // tried again
		return false
	})
	follower := members[0]
	for follower == old || follower == next {
		follower = members[slices.Index(members, follower)+1]
	}
	commit(t, members, "second")
	await(t, "the follower has the next leader's commit", func() bool { return follower.fsm.text() == "first\nsecond" })
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(old.replica.ID()), Addr: []byte(old.replica.Node)}
	to := follower.replica.ID()
	for name, send := range map[string]func() (obeyed bool, err error){
		"heartbeat": func() (bool, error) {
			answer := raft.AppendEntriesResponse{}
			err := old.transport.AppendEntries(to, "", &raft.AppendEntriesRequest{RPCHeader: header, Term: term}, &answer)
			return answer.Success, err
		},
		"entry": func() (bool, error) {
			answer := raft.AppendEntriesResponse{}
			err := old.transport.AppendEntries(to, "", &raft.AppendEntriesRequest{
				RPCHeader: header, Term: term, PrevLogEntry: last, PrevLogTerm: term, LeaderCommitIndex: last + 1,
				Entries: []*raft.Log{{Index: last + 1, Term: term, Type: raft.LogCommand, Data: []byte("old")}},
			}, &answer)
			return answer.Success, err
		},
		"vote": func() (bool, error) {
			answer := raft.RequestVoteResponse{}
			err := old.transport.RequestVote(to, "", &raft.RequestVoteRequest{
				RPCHeader: header, Term: term, LastLogIndex: last + 1000, LastLogTerm: term, LeadershipTransfer: true,
			}, &answer)
			return answer.Granted, err
		},
		"state": func() (bool, error) {
			answer := raft.InstallSnapshotResponse{}
			state := stateOf4(old)
			state.Term, state.LastLogTerm = term, term
			err := old.transport.InstallSnapshot(to, "", &state, &answer, strings.NewReader("lost"))
			return answer.Success, err
		},
		"handover": func() (bool, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := old.peers.Call(ctx, follower.replica.Node, peer.Control, kindHandover, follower.replica.Group(), encodeHandover(handover{header, term}))
			var refused *peer.RemoteError
			if errors.As(err, &refused) {
				return false, nil
			}
			return err == nil, err
		},
	} {
		await(t, name+": an answer", func() bool {
			obeyed, err := send()
			if obeyed {
				t.Errorf("%s of term %d was obeyed in term %d", name, term, follower.raft.CurrentTerm())
			}
			return err == nil
		})
	}
	var entry raft.Log
	if err := follower.logs.GetLog(last+1, &entry); err != nil || entry.Term <= term {
		t.Errorf("the follower has entry %d of term %d: %v", last+1, entry.Term, err)
	}
	commit(t, members, "third")
	await(t, "the follower follows", func() bool { return follower.fsm.text() == "first\nsecond\nthird" })
}

// TestDeposedLeader: a leader that a heartbeat deposes writes nothing in the term of the next one:
// two entries would have the same index and term.
func TestDeposedLeader(t *testing.T) {
	members := cluster(t, 3)
	for round := range 2 {
		old := leaderOf(t, members)
		next := otherThan(old, members)
		term := old.raft.CurrentTerm() + 10
		header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(next.replica.ID()), Addr: []byte(next.replica.Node)}
		await(t, "a heartbeat of the next leader is obeyed", func() bool {
			answer := raft.AppendEntriesResponse{}
			err := next.transport.AppendEntries(old.replica.ID(), "", &raft.AppendEntriesRequest{RPCHeader: header, Term: term}, &answer)
			return err == nil && answer.Success
		})
		command := fmt.Sprint("late ", round)
		if err := old.raft.Apply([]byte(command), 0).Error(); err == nil {
			t.Fatalf("%q was taken by a leader that is deposed", command)
		}
		last, err := old.logs.LastIndex()
		if err != nil {
			t.Fatal(err)
		}
		for i := last; i > last-min(last, 5); i-- {
			var entry raft.Log
			if err := old.logs.GetLog(i, &entry); err == nil && string(entry.Data) == command {
				t.Fatalf("entry %d, %q of a leader that term %d has deposed, is of term %d", i, command, term, entry.Term)
			}
		}
		commit(t, members, fmt.Sprint("command ", round))
	}
}

// TestHeartbeats: of those that go in one message each has the answer of its own replica.
func TestHeartbeats(t *testing.T) {
	members := cluster(t, 2)
	leader := leaderOf(t, members)
	follower := otherThan(leader, members)
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(leader.replica.ID()), Addr: []byte(leader.replica.Node)}
	good := raft.AppendEntriesRequest{RPCHeader: header, Term: leader.raft.CurrentTerm()}
	entries := good
	entries.Entries = []*raft.Log{{Index: 1, Term: 1, Type: raft.LogNoop}}
	here, nowhere := follower.replica.Group(), Replica{testRange + 1, follower.replica.Node, 1}.Group()
	await(t, "a heartbeat that does not meet one of raft's own", func() bool {
		answers, err := leader.net.callBeats(follower.replica.Node, []*beat{
			{group: nowhere, message: encodeAppend(&good)},
			{group: here, message: encodeAppend(&good)},
			{group: nowhere, message: []byte{1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := decodeAppended(answers[1].message)
		if answers[0].err == nil || answers[2].err == nil {
			t.Fatalf("a replica that is not there answers: %v, %v", answers[0], answers[2])
		}
		return answers[1].err == nil && err == nil && a.Success
	})
	busy, err := follower.net.Transport(Replica{testRange + 2, follower.replica.Node, 1}, Hooks{Leader: func() (raft.ServerID, uint64) { return "", 0 }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	busy.SetHeartbeatHandler(func(raft.RPC) { t.Error("a heartbeat that changes the term goes past the main loop") })
	to := Replica{testRange + 2, leader.replica.Node, 1}
	news := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(to.ID()), Addr: []byte(to.Node)}, Term: 1}
	await(t, "an answer beside a replica whose main loop is busy", func() bool {
		answers, err := leader.net.callBeats(follower.replica.Node, []*beat{{group: busy.self.Group(), message: encodeAppend(&news)}, {group: here, message: encodeAppend(&good)}})
		if err != nil {
			t.Fatal(err)
		}
		if answers[0].err == nil {
			t.Error("an answer of a replica whose main loop is busy")
		}
		return answers[1].err == nil
	})
	for what, message := range map[string][]byte{"entries": encodeAppend(&entries), "garbage": {1}} {
		answers, err := leader.net.callBeats(follower.replica.Node, []*beat{{group: here, message: message}})
		if err != nil || answers[0].err == nil {
			t.Errorf("%s among heartbeats: %v, %v", what, answers, err)
		}
	}
}

// TestBeatTick: heartbeats to all nodes go with the tick that the first of them begins.
func TestBeatTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers, err := peer.New(peer.Config{Self: peer.Identity{Name: "n1", ID: "n1.x"}})
		if err != nil {
			t.Fatal(err)
		}
		defer peers.Close()
		n, begun := New(peers), time.Now()
		var sending sync.WaitGroup
		for i, test := range []struct {
			node       string
			begin, end time.Duration
		}{{"n2.x", 0, beatTick}, {"n3.x", beatTick / 4, beatTick}, {"n2.x", beatTick / 2, beatTick}, {"n3.x", 2 * beatTick, 3 * beatTick}} {
			sending.Go(func() {
				time.Sleep(test.begin)
				_, err := n.sendBeat(t.Context(), test.node, uint64(i), nil)
				if after := time.Since(begun); !errors.Is(err, peer.ErrUnknown) || after != test.end {
					t.Errorf("to %s, from %s on: after %s, %v", test.node, test.begin, after, err)
				}
			})
		}
		sending.Wait()
	})
}

// TestStrangeStates: a state with a bad head is refused before any of it is stored.
func TestStrangeStates(t *testing.T) {
	members := cluster(t, 2)
	leader := leaderOf(t, members)
	follower := otherThan(leader, members)
	good := stateOf4(leader)
	for name, change := range map[string]func(*raft.InstallSnapshotRequest){
		"no configuration":           func(s *raft.InstallSnapshotRequest) { s.Configuration = nil },
		"a configuration of garbage": func(s *raft.InstallSnapshotRequest) { s.Configuration = []byte{0xC1, 0xFF} },
		"negative size":              func(s *raft.InstallSnapshotRequest) { s.Size = -1 },
		"before the first entry":     func(s *raft.InstallSnapshotRequest) { s.LastLogIndex = 0 },
		"of a later term":            func(s *raft.InstallSnapshotRequest) { s.LastLogTerm = 6 },
		"of another version":         func(s *raft.InstallSnapshotRequest) { s.SnapshotVersion = 0 },
		"by another":                 func(s *raft.InstallSnapshotRequest) { s.ID = []byte(follower.replica.ID()) },
	} {
		request := good
		change(&request)
		err := leader.transport.InstallSnapshot(follower.replica.ID(), "", &request, &raft.InstallSnapshotResponse{}, strings.NewReader("data"))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := follower.raft.LastIndex(); got >= 100 {
		t.Errorf("a bad state moved the follower to %d", got)
	}
}

// stateOf4 is the head of a state of four bytes.
func stateOf4(from *member) raft.InstallSnapshotRequest {
	return raft.InstallSnapshotRequest{
		RPCHeader:       raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(from.replica.ID()), Addr: []byte(from.replica.Node)},
		SnapshotVersion: raft.SnapshotVersionMax, Term: 5, LastLogIndex: 100, LastLogTerm: 4, ConfigurationIndex: 1, Size: 4,
		Configuration: raft.EncodeConfiguration(from.raft.GetConfiguration().Configuration()),
	}
}

// TestCloseEndsStates: a state that stands still on its way holds up neither end that
// stops.
func TestCloseEndsStates(t *testing.T) {
	for name, closes := range map[string]func(leader, follower *member){
		"sender":   func(leader, _ *member) { leader.stop() },
		"receiver": func(_, follower *member) { follower.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			members := cluster(t, 2)
			leader := leaderOf(t, members)
			follower := otherThan(leader, members)
			request := stateOf4(leader)
			sent := make(chan error, 1)
			go func() {
				half := strings.NewReader("da") // the receiver waits for the rest, the sender for an answer
				sent <- leader.transport.InstallSnapshot(follower.replica.ID(), "", &request, &raft.InstallSnapshotResponse{}, half)
			}()
			await(t, "the state to begin", func() bool { return follower.raft.CurrentTerm() == request.Term })
			began := time.Now()
			closes(leader, follower)
			if err := <-sent; err == nil {
				t.Error("half a state was taken")
			}
			if took := time.Since(began); took > idleWithin/2 {
				t.Errorf("stopping took %v", took)
			}
		})
	}
}
