package ownership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestScripted makes happen what TestFaults meets too seldom. All scripts run at the same
// time: mostly they wait.
func TestScripted(t *testing.T) {
	t.Parallel()
	var running sync.WaitGroup
	for name, script := range map[string]func(*testing.T){
		"vote": voteIsKept, "cut off": cutOffLeader, "first read": firstReadOfLeader, "deposed": readOfDeposedLeader, "busy": readOfBusyLeader,
		"lost leadership": lostLeadership, "IDs": idsAfterState, "conflict": conflictAtSnapshot, "meta conflict": conflictOfMeta, "newer command": newerCommand, "others' commit": commitOfOthers, "behind": behindIsNotReady,
	} {
		running.Go(func() { t.Run(name, script) })
	}
	running.Wait()
}

// voter is another node's raft that a test speaks for.
type voter struct {
	transport *raftnet.Transport
	self      raftnet.Replica
}

// impersonate takes the place of a stopped node towards another, in a range.
func (w *town) impersonate(n, other *townNode, r *route) *voter {
	w.t.Helper()
	var self, to Candidate
	for _, c := range w.seen {
		switch c.Name {
		case n.name:
			self = c
		case other.name:
			to = c
		}
	}
	id := peer.Identity{Cluster: other.store.Cluster(), Name: self.Name, ID: self.ID}
	peers, err := peer.New(peer.Config{Self: id, Network: w.net.Host(n.name)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(peers.Close)
	net := raftnet.New(peers)
	peers.SetPeers([]peer.Peer{{ID: to.ID, Name: to.Name, Address: to.Address}})
	v := &voter{}
	for _, replica := range r.replicas() {
		if replica.Node == self.ID {
			v.self = replica
		}
	}
	if v.transport, err = net.Transport(v.self, raftnet.Hooks{Barred: func() bool { return false }, Leader: func() (raft.ServerID, uint64) { return "", 0 }, Log: raftnet.NewLog(raft.NewInmemStore())}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = v.transport.Close() })
	return v
}

// ask asks a node for its vote in a term, as one whose log is longer.
func (v *voter) ask(of *townNode, b channel.Bucket, term uint64) (granted bool, err error) {
	request := &raft.RequestVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(v.self.ID()), Addr: []byte(v.self.Address())},
		Term:      term, LastLogIndex: 1 << 40, LastLogTerm: term - 1, LeadershipTransfer: true,
	}
	server, _ := of.store.of(b).server(string(of.store.meta.raftID))
	answer := &raft.RequestVoteResponse{}
	err = v.transport.RequestVote(server.ID, server.Address, request, answer)
	return answer.Granted, err
}

// voteIsKept: a node that has voted does not vote for another candidate in the same
// term after a loss of power: both would lead.
func voteIsKept(t *testing.T) {
	w := newTown(t, 3, 6, nil)
	const bucket = 0
	third := w.nodes[2]
	w.nodes[0].stop()
	w.nodes[1].stop()
	first := w.impersonate(w.nodes[0], third, third.store.of(bucket))
	second := w.impersonate(w.nodes[1], third, third.store.of(bucket))
	term := third.store.of(bucket).local().raft.CurrentTerm() + 10
	vote := func(v *voter) (granted bool) {
		t.Helper()
		eventually(t, "an answer to the wish for a vote", func() (err error) {
			granted, err = v.ask(third, bucket, term)
			return err
		})
		return granted
	}
	if !vote(first) {
		t.Fatalf("no vote in term %d", term)
	}
	w.losePower(third)
	w.open(third)
	if vote(second) {
		t.Errorf("two leaders in term %d: the vote was given to both", term)
	}
	if !vote(first) {
		t.Errorf("the vote in term %d is not given again", term) // or the test shows nothing
	}
}

// spokenTo leaves one node of three, and takes the place of another one towards it.
func (w *town) spokenTo(b channel.Bucket) (left *townNode, other *voter) {
	left = w.nodes[2]
	w.nodes[0].stop()
	w.nodes[1].stop()
	return left, w.impersonate(w.nodes[0], left, left.store.of(b))
}

// append sends a node an entry behind the last one that it has, as the leader of a term
// that has committed it.
func (v *voter) append(to *townNode, b channel.Bucket, term uint64, content []byte) (taken bool, err error) {
	var last raft.Log
	r := to.store.of(b)
	if err := r.local().log.GetLog(r.local().raft.LastIndex(), &last); err != nil {
		return false, err
	}
	entry := &raft.Log{Index: last.Index + 1, Term: term, Type: raft.LogCommand, Data: content}
	return v.send(to, r, &raft.AppendEntriesRequest{
		Term: term, PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: entry.Index, Entries: []*raft.Log{entry},
	})
}

// send sends a message with entries, or a commit index.
func (v *voter) send(to *townNode, r *route, request *raft.AppendEntriesRequest) (taken bool, err error) {
	request.RPCHeader = raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(v.self.ID()), Addr: []byte(v.self.Address())}
	server, _ := r.server(string(to.store.meta.raftID))
	answer := &raft.AppendEntriesResponse{}
	err = v.transport.AppendEntries(server.ID, server.Address, request, answer)
	return answer.Success, err
}

// commitOfOthers: an entry that a leader of before left alone is not committed by the commit index
// of the next one, which has another entry there that it has not sent yet.
func commitOfOthers(t *testing.T) {
	w := newTown(t, 3, 15, nil)
	x := wish("http://example.com/", "", stream)
	follower, v := w.spokenTo(x.Channel.Bucket())
	r := follower.store.of(x.Channel.Bucket())
	g := r.local()
	var last raft.Log
	if err := g.log.GetLog(g.raft.LastIndex(), &last); err != nil {
		t.Fatal(err)
	}
	term := g.raft.CurrentTerm() + 10
	entry := &raft.Log{Index: last.Index + 1, Term: term, Type: raft.LogCommand, Data: marshal(t, &wire.Entry{Commands: []*wire.Command{subscribeCommand(item(x.URL, stream))}})}
	alone := &raft.AppendEntriesRequest{Term: term, PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: last.Index, Entries: []*raft.Log{entry}}
	early := &raft.AppendEntriesRequest{Term: term + 1, PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: entry.Index}
	for _, request := range []*raft.AppendEntriesRequest{alone, early} {
		eventually(t, "a message is taken", func() error {
			if taken, err := v.send(follower, r, request); err != nil || !taken {
				return fmt.Errorf("taken %v, %w", taken, err)
			}
			return nil
		})
	}
	time.Sleep(200 * time.Millisecond) // what is committed is applied beside
	if applied := g.raft.AppliedIndex(); applied > last.Index {
		t.Errorf("entry %d is applied, which is behind entry %d, the last one that both leaders have", applied, last.Index)
	}
}

// behindIsNotReady: a node that has been started again is ready once its replica of a range has
// nearly all that the leader has committed.
func behindIsNotReady(t *testing.T) {
	w := newTown(t, 3, 16, nil)
	const bucket = 0
	behind, leader := w.spokenTo(bucket)
	behind.stop()
	w.open(behind)
	r := behind.store.of(bucket)
	g := r.local()
	var last raft.Log
	if err := g.log.GetLog(g.raft.LastIndex(), &last); err != nil {
		t.Fatal(err)
	}
	term := g.raft.CurrentTerm() + 10
	for _, step := range []struct {
		what    string
		request raft.AppendEntriesRequest
		ready   bool
	}{
		{"a heartbeat, which tells nothing", raft.AppendEntriesRequest{}, false},
		{"up to its last entry", raft.AppendEntriesRequest{PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: last.Index}, true},
		{"far beyond that", raft.AppendEntriesRequest{PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: last.Index + nearlyAll + 1}, false},
		{"one entry more", raft.AppendEntriesRequest{
			PrevLogEntry: last.Index, PrevLogTerm: last.Term, LeaderCommitIndex: last.Index + nearlyAll + 1,
			Entries: []*raft.Log{{Index: last.Index + 1, Term: term, Type: raft.LogNoop}},
		}, true},
	} {
		step.request.Term = term
		eventually(t, step.what, func() error {
			if taken, err := leader.send(behind, r, &step.request); err != nil || !taken {
				return fmt.Errorf("taken %v, %w", taken, err)
			}
			return nil
		})
		if err := g.upToDate(); (err == nil) != step.ready {
			t.Errorf("committed %s: %v, want ready %v", step.what, err, step.ready)
		}
	}
	eventually(t, "a leader that only sends heartbeats, as beside a state", func() error {
		if taken, err := leader.send(behind, r, &raft.AppendEntriesRequest{Term: term}); err != nil || !taken {
			t.Errorf("heartbeat: taken %v, %v", taken, err)
		}
		if !g.lags() {
			return errors.New("taken for caught up")
		}
		return nil
	})
}

// newerCommand: an entry of a newer program's leader is refused whole for one command in
// it that this program does not know: neither is the command beside it applied.
func newerCommand(t *testing.T) {
	w := newTown(t, 3, 13, nil)
	x := wish("http://example.com/", "", stream)
	b := x.Channel.Bucket()
	older, newer := w.spokenTo(b)
	g := older.store.of(b).local()
	term := g.raft.CurrentTerm() + 10
	known := marshal(t, &wire.Entry{Commands: []*wire.Command{subscribeCommand(item(x.URL, stream))}})
	unknown := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(known), 1, protowire.BytesType),
		protowire.AppendBytes(protowire.AppendTag(nil, 98, protowire.BytesType), nil))
	before := g.raft.LastIndex()
	var refused *peer.RemoteError
	if taken, err := newer.append(older, b, term, unknown); taken || !errors.As(err, &refused) {
		t.Errorf("a command of a newer program: taken %v, %v", taken, err)
	}
	if _, subscriptions := older.store.Counts(); g.raft.LastIndex() != before || subscriptions != 0 {
		t.Errorf("it is in the log, %d entries after %d, or half applied: %d subscriptions", g.raft.LastIndex(), before, subscriptions)
	}
	eventually(t, "the command beside it alone", func() error {
		if _, subscriptions := older.store.Counts(); subscriptions == 1 {
			return nil
		}
		taken, err := newer.append(older, b, term, known) // again: that it was made once is not asked here
		return fmt.Errorf("not applied: taken %v, %w", taken, err)
	})
}

// cutOffLeader: a leader that reaches no other node stops to lead.
func cutOffLeader(t *testing.T) {
	w := newTown(t, 3, 7, nil)
	const bucket = 0
	alone := w.nodes[0]
	w.lead(alone, bucket)
	alone.each(w.net.Cut)
	defer alone.each(w.net.Heal)
	eventually(t, "a leader that is cut off steps down", func() error {
		if alone.store.of(bucket).serves() {
			return fmt.Errorf("it leads in term %d", alone.store.of(bucket).local().raft.CurrentTerm())
		}
		return nil
	})
	eventually(t, "another leads", func() error {
		if w.leading(bucket) == nil {
			return errors.New("none")
		}
		return nil
	})
}

// firstReadOfLeader: a new leader shows at its first read what the one before has
// acknowledged, though it has not heard yet that this is committed, and disks are slow.
func firstReadOfLeader(t *testing.T) {
	w := newTown(t, 3, 8, nil)
	for round := range 3 {
		x := wish(fmt.Sprintf("http://example.com/%d", round), "", stream)
		first, next := w.nodes[round%2], w.nodes[1-round%2]
		w.lead(first, x.Channel.Bucket())
		for _, n := range w.nodes {
			n.slow.Store(int64(100 * time.Millisecond))
		}
		s := w.subscribe(first, x)
		handed := first.handOver(next, x.Channel.Bucket())
		for deadline := time.Now().Add(3 * time.Second); !next.store.of(x.Channel.Bucket()).serves() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := soon()
		_, err := next.store.View().Subscription(ctx, s.ID)
		cancel()
		if errors.Is(err, channel.ErrNotFound) {
			t.Errorf("a new leader does not show what was acknowledged: %v (handed over: %v)", err, handed)
		}
		for _, n := range w.nodes {
			n.slow.Store(0)
		}
	}
}

// level waits until all nodes have the same log of a range, and their leader has had time
// to hear of it: otherwise it would have to before it hands over.
func (w *town) level(b channel.Bucket) {
	w.t.Helper()
	eventually(w.t, "logs of the same length", func() error {
		want := w.nodes[0].store.of(b).local().raft.LastIndex()
		for _, n := range w.nodes {
			if have := n.store.of(b).local().raft.LastIndex(); have != want {
				return fmt.Errorf("%s has %d entries, %s %d", w.nodes[0].name, want, n.name, have)
			}
		}
		return nil
	})
	time.Sleep(50 * time.Millisecond)
}

// readOfDeposedLeader: a leader that has been followed by another one, and has not
// heard of it, does not show what is not so any more.
func readOfDeposedLeader(t *testing.T) {
	w := newTown(t, 3, 9, nil)
	reads := 0
	for round := range 3 {
		x := wish(fmt.Sprintf("http://example.com/%d", round), "", stream)
		first, next := w.nodes[round%2], w.nodes[1-round%2]
		w.lead(first, x.Channel.Bucket())
		s := w.subscribe(first, x)
		w.level(x.Channel.Bucket())
		heal := first.deafen()
		handing := make(chan error, 1)
		go func() { handing <- first.handOver(next, x.Channel.Bucket()) }()
		for deadline := time.Now().Add(2 * time.Second); !next.store.of(x.Channel.Bucket()).serves() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := soon()
		if err := next.store.Unsubscribe(ctx, s.ID); err == nil && first.store.of(x.Channel.Bucket()).serves() {
			reads++
			at, done := context.WithTimeout(ctx, time.Second)
			if _, err := first.store.View().Subscription(at, s.ID); err == nil {
				t.Error("stale read: a leader that another one has followed shows what was deleted")
			}
			done()
		}
		cancel()
		heal()
		<-handing // within an election's time
	}
	t.Logf("%d reads while two nodes took themselves for the leader", reads)
}

// readOfBusyLeader: a leader that another one has followed, and whose raft knows that, shows
// nothing while the rest of its node has not been told.
func readOfBusyLeader(t *testing.T) {
	w := newTown(t, 3, 11, nil)
	x := wish("http://example.com/", "", stream)
	first, next := w.nodes[0], w.nodes[1]
	w.lead(first, x.Channel.Bucket())
	s := w.subscribe(first, x)
	w.level(x.Channel.Bucket())
	g := first.store.of(x.Channel.Bucket()).local()
	g.clock.mu.Lock() // the group's watch waits for it
	unlock := sync.OnceFunc(g.clock.mu.Unlock)
	defer unlock()
	signal(g.fsm.restored)
	eventually(t, "another leader", func() error {
		if next.store.of(x.Channel.Bucket()).serves() && g.raft.State() == raft.Follower {
			return nil
		}
		return errors.Join(errors.New("there is none"), first.handOver(next, x.Channel.Bucket()))
	})
	ctx, cancel := soon()
	defer cancel()
	if err := next.store.Unsubscribe(ctx, s.ID); err != nil {
		t.Error(err)
	}
	if !g.serving.Load() {
		t.Error("the leader of before knows that it is none")
	}
	at, done := context.WithTimeout(ctx, time.Second)
	defer done()
	if _, err := first.store.View().Subscription(at, s.ID); err == nil {
		t.Error("stale read: a leader whose raft has heard of the next one shows what was deleted")
	}
	unlock()
	eventually(t, "the leader of before asks the next one", func() error {
		ctx, cancel := soon()
		defer cancel()
		if _, err := first.store.View().Subscription(ctx, s.ID); !errors.Is(err, channel.ErrNotFound) {
			return fmt.Errorf("subscription: %w", err)
		}
		return nil
	})
}

// lostLeadership: a command that a leader had in its log when it lost its leadership
// is not sent again: the next leader may commit it.
func lostLeadership(t *testing.T) {
	w := newTown(t, 3, 10, nil)
	x := wish("http://example.com/", "", stream)
	first := w.nodes[0]
	w.lead(first, x.Channel.Bucket())
	heal := first.deafen()
	outcome := make(chan error, 1)
	go func() {
		ctx, cancel := soon()
		defer cancel()
		outcome <- first.store.Subscribe(ctx, []NewSubscription{x})[0].Err
	}()
	eventually(t, "the leader steps down", func() error {
		if first.store.of(x.Channel.Bucket()).serves() {
			return errors.New("it leads")
		}
		return nil
	})
	heal()
	if err := <-outcome; err != nil && !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	eventually(t, "the subscription", func() error {
		ctx, cancel := soon()
		defer cancel()
		page, _, err := w.nodes[1].store.View().Subscriptions(ctx, SubscriptionQuery{Channel: &x.Channel, Limit: 10})
		if len(page) > 1 {
			t.Fatalf("asked for once, and there %d times", len(page))
		}
		if err == nil && len(page) == 0 {
			err = errors.New("it is not there") // all logs have it
		}
		return err
	})
}

// idsAfterState: a node that has been sent a state gives no ID a second time.
func idsAfterState(t *testing.T) {
	w := newTown(t, 3, 11, func(c *Config) { c.SnapshotBytes = 32 << 10 })
	b := channel.IDOf("http://example.com/").Bucket()
	behind := w.nodes[2]
	w.lead(w.nodes[0], b)
	behind.each(w.net.Cut)
	ids := make(map[string]bool)
	give := func(n *townNode, i int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		wishes := make([]NewSubscription, 64)
		for j := range wishes {
			wishes[j] = wish("http://example.com/", "", channel.Sink{Type: channel.SinkWebhook, URL: fmt.Sprintf("https://sink.example/%0500d", 64*i+j)})
		}
		for _, r := range n.store.Subscribe(ctx, wishes) {
			switch {
			case errors.Is(r.Err, ErrUnavailable): // on a machine with other work leadership may be lost
			case r.Err != nil:
				t.Fatal(r.Err)
			case ids[r.ID]:
				t.Fatalf("ID %s was given twice", r.ID)
			default:
				ids[r.ID] = true
			}
		}
	}
	for i := range 20 {
		give(w.nodes[0], i)
	}
	w.net.HealAll()
	eventually(t, "a state is received", func() error {
		if behind.received() == 0 {
			return errors.New("none")
		}
		return nil
	})
	w.lead(behind, b)
	before := len(ids)
	eventually(t, "IDs by "+behind.name, func() error {
		if give(behind, 20); len(ids) == before {
			return errors.New("none")
		}
		return nil
	})
	w.agree()
}
