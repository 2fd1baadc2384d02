package ownership

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// confirmer makes sure that a leader still leads, for linearizable reads.
//
// It asks the other voters for their terms. A majority of voters, this node's replica
// among them, that are at no later term than its own after the read has arrived, have
// not elected another leader before it arrived: so nothing was acknowledged that this
// replica has not applied. Raft's own VerifyLeader counts answers to heartbeats that
// were sent before.
//
// Reads that wait at the same time share their questions: one frame per peer for all
// of their ranges.
type confirmer struct {
	net    *network
	termOf func(group uint64) (uint64, bool) // of a replica of this node

	mu struct {
		sync.Mutex
		waiting []*confirmation
		running bool
	}
}

// confirmWithin bounds one round of questions.
const confirmWithin = 500 * time.Millisecond

// confirmation is one read's wish.
type confirmation struct {
	term  uint64
	asks  map[string]uint64 // the group of the replica on each other node that votes
	needs int               // of those, to say that they are at no later term
	over  chan struct{}     // closed when ok is decided
	ok    bool

	mu      sync.Mutex
	open    int // of asks, without an answer
	decided bool
}

// vote counts one node's answer; ok says that it is at no later term.
func (c *confirmation) vote(ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if ok {
		c.needs--
	}
	if !c.decided && (c.needs <= 0 || c.open < c.needs) {
		c.decided, c.ok = true, c.needs <= 0
		close(c.over)
	}
}

// confirm returns nil when a replica of this node has led its range at an instant after
// the call, errElsewhere when it may not have. The term is the one in which it serves: raft may
// be at the next leader's already, while what follows its notices is still at work on an earlier
// one.
func (c *confirmer) confirm(ctx context.Context, g *group) error {
	term := g.led.Load()
	if !g.serving.Load() {
		return errElsewhere
	}
	wish, err := newConfirmation(g, term)
	if err != nil {
		return err
	}
	if wish.needs > 0 {
		c.add(wish)
		select {
		case <-wish.over:
			if !wish.ok {
				return errElsewhere
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !g.serving.Load() || g.raft.CurrentTerm() != term {
		return errElsewhere
	}
	return nil
}

func newConfirmation(g *group, term uint64) (*confirmation, error) {
	wish := &confirmation{term: term, asks: make(map[string]uint64), over: make(chan struct{})}
	voters := 0
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if server.ID == g.seat.id {
			continue
		}
		replica, err := raftnet.ParseID(g.id, server.ID)
		if err != nil {
			return nil, fmt.Errorf("range %d: %w", g.id, err)
		}
		wish.asks[replica.Node] = replica.Group()
	}
	wish.open, wish.needs = len(wish.asks), voters/2 // and this node's own
	return wish, nil
}

// add has a wish asked for with the next round.
func (c *confirmer) add(wish *confirmation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.waiting = append(c.mu.waiting, wish)
	if !c.mu.running {
		c.mu.running = true
		go c.run()
	}
}

// run asks round after round while reads wait. A round ends when its reads have their
// answers; a slow peer's is not waited for then.
func (c *confirmer) run() {
	for {
		c.mu.Lock()
		wishes := c.mu.waiting
		c.mu.waiting = nil
		c.mu.running = len(wishes) > 0
		c.mu.Unlock()
		if len(wishes) == 0 {
			return
		}
		c.round(wishes)
	}
}

func (c *confirmer) round(wishes []*confirmation) {
	byNode := make(map[string][]*confirmation)
	for _, wish := range wishes {
		for node := range wish.asks {
			byNode[node] = append(byNode[node], wish)
		}
	}
	for node, wishes := range byNode {
		go c.ask(node, wishes)
	}
	for _, wish := range wishes {
		<-wish.over // within confirmWithin
	}
}

// ask asks one node for the terms of its replicas.
func (c *confirmer) ask(node string, wishes []*confirmation) {
	terms, err := c.termsAt(node, wishes)
	for i, wish := range wishes {
		wish.vote(err == nil && terms[i] != 0 && terms[i] <= wish.term)
	}
}

func (c *confirmer) termsAt(node string, wishes []*confirmation) ([]uint64, error) {
	question := &wire.Terms{}
	for _, wish := range wishes {
		question.Replicas = append(question.Replicas, wish.asks[node])
	}
	content, err := proto.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("encode terms: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), confirmWithin)
	defer cancel()
	reply, err := c.net.peers.Call(ctx, node, peer.Control, kindTerms, 0, content)
	if err != nil {
		return nil, err
	}
	answer := &wire.Terms{}
	if err := proto.Unmarshal(reply, answer); err != nil || len(answer.Terms) != len(wishes) {
		return nil, fmt.Errorf("%d terms of %s, want %d: %w", len(answer.Terms), node, len(wishes), err)
	}
	return answer.Terms, nil
}

// serve answers another node's question.
func (c *confirmer) serve(_ context.Context, call peer.Call) ([]byte, error) {
	question := &wire.Terms{}
	if err := proto.Unmarshal(call.Payload, question); err != nil {
		return nil, fmt.Errorf("decode terms: %w", err)
	}
	answer := &wire.Terms{}
	for _, group := range question.Replicas {
		term, _ := c.termOf(group)
		answer.Terms = append(answer.Terms, term)
	}
	return proto.Marshal(answer)
}
