package raftnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// The kinds of messages.
const (
	kindHeartbeats = peer.FirstKind + iota
	kindAppend
	kindVote
	kindPreVote
	kindHandover
	kindInstall // a stream
	// EndKind is the first kind that is free for other packages.
	EndKind
)

// How long answers are waited for. Messages that raft repeats soon have promptWithin.
const (
	promptWithin = 500 * time.Millisecond
	appendWithin = 10 * time.Second
)

// Net is a node's end of raft's messages, for all its replicas.
type Net struct {
	peers *peer.Node
	mu    struct {
		sync.Mutex
		replicas map[uint64]*Transport // by Replica.group
	}
	beats struct {
		sync.Mutex
		waiting map[string][]*beat // for the next tick, by node ID
	}
}

// ErrNoReplica says that a node does not have the replica that a message is for.
var ErrNoReplica = errors.New("no such replica here")

// New returns a node's end, and sets the handlers of its messages: so it comes before
// the peers are served.
func New(peers *peer.Node) *Net {
	n := &Net{peers: peers}
	n.mu.replicas, n.beats.waiting = make(map[uint64]*Transport), make(map[string][]*beat)
	peers.Handle(kindHeartbeats, n.heartbeats)
	peers.Handle(kindAppend, n.handler((*Transport).append))
	peers.Handle(kindVote, n.handler((*Transport).vote))
	peers.Handle(kindPreVote, n.handler((*Transport).preVote))
	peers.Handle(kindHandover, n.handler((*Transport).handover))
	peers.HandleStream(kindInstall, n.install)
	return n
}

// handler finds the replica that a call is for.
func (n *Net) handler(serve func(*Transport, context.Context, peer.Call) ([]byte, error)) peer.Handler {
	return func(ctx context.Context, call peer.Call) ([]byte, error) {
		t, err := n.replica(call.Group)
		if err != nil {
			return nil, err
		}
		return serve(t, ctx, call)
	}
}

func (n *Net) replica(group uint64) (*Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.mu.replicas[group]
	if t == nil {
		return nil, fmt.Errorf("%s: %w", replicaOf(n.peers.Self().ID, group), ErrNoReplica)
	}
	return t, nil
}

// Hooks are what a transport asks of the replica that it is of. All are called from
// any goroutine, and must not block.
type Hooks struct {
	// Barred reports that the replica must not lead, since it is damaged, or a write of
	// this node's log has been hanging for long: no heartbeats and entries are sent while
	// it does, and no votes are asked for. Raft would go on sending from goroutines that
	// do not write, and followers would wait for ever.
	Barred func() bool
	// Prepare is called before a state is sent to a replica, while ctx lasts, and returns
	// how many bytes the stream has that raft was given for it. Done is called when the
	// state has been sent, or could not be. Nil: the stream is as long as raft says.
	Prepare func(ctx context.Context, to Replica, stream io.Reader) (size int64, done func(), err error)
	// Leader returns the replica that raft takes for the leader, empty for none, and
	// raft's term.
	Leader func() (leader raft.ServerID, term uint64)
	// CheckCommand returns an error for a command that the state machine would refuse
	// to apply. It may keep nothing of the entry.
	CheckCommand func(*raft.Log) error
	// WantsState reports that the replica must be sent a state before it takes entries: it has no
	// place for what the first ones have changed. Nil: never.
	WantsState func() bool
	// Log is what raft has as the replica's log.
	Log *Log
}

// Transport returns the transport of a replica of this node. It must be closed.
func (n *Net) Transport(r Replica, hooks Hooks) (*Transport, error) {
	if self := n.peers.Self().ID; r.Node != self {
		return nil, fmt.Errorf("%s is not of node %s", r, self)
	}
	t := &Transport{net: n, self: r, hooks: hooks, inbox: make(chan raft.RPC)}
	t.open, t.close = context.WithCancelCause(context.Background())
	t.followers.of = make(map[raft.ServerID]Progress)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.replicas[r.Group()] != nil {
		return nil, fmt.Errorf("%s has a transport", r)
	}
	n.mu.replicas[r.Group()] = t
	return t, nil
}

// Close closes the transport of a replica of this node, if it has one.
func (n *Net) Close(r Replica) {
	if t, err := n.replica(r.Group()); err == nil {
		_ = t.Close() // has no error
	}
}

func (n *Net) remove(t *Transport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.replicas[t.self.Group()] == t {
		delete(n.mu.replicas, t.self.Group())
	}
}
