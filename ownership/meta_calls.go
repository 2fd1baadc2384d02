package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Calls of the meta group travel as those of a range whose ID is metaRange.
const (
	callTable  = "table"  // here is a table; answered with the one known here
	callChange = "change" // carry out a meta command; answered with the table after it
)

// serveMeta carries out a call of the meta group that another member has sent.
func (s *Store) serveMeta(ctx context.Context, call peer.Call) ([]byte, error) {
	question := &wire.Question{}
	if err := proto.Unmarshal(call.Payload, question); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	answer := &wire.Answer{}
	table, err := s.answerMeta(ctx, question)
	if err == nil {
		answer.Content, err = proto.Marshal(table)
	}
	switch {
	case errors.Is(err, errElsewhere):
		answer = &wire.Answer{Elsewhere: true}
	case err != nil:
		answer = &wire.Answer{Failure: failureOf(err)}
	}
	return proto.Marshal(answer)
}

func (s *Store) answerMeta(ctx context.Context, question *wire.Question) (*wire.Meta, error) {
	switch question.Kind {
	case callTable:
		table := &wire.Meta{}
		if err := proto.Unmarshal(question.Query, table); err != nil {
			return nil, fmt.Errorf("%w: table: %w", ErrInvalid, err)
		}
		s.learn(table)
		return s.known.Load(), nil
	case callChange:
		command := &wire.MetaCommand{}
		if err := proto.Unmarshal(question.Query, command); err != nil {
			return nil, fmt.Errorf("%w: meta command: %w", ErrInvalid, err)
		}
		return s.changeHere(ctx, command)
	default:
		return nil, fmt.Errorf("%w: the meta group knows no call %q", ErrInvalid, question.Kind)
	}
}

// change has the leader of the meta group carry out a command, and returns the table after
// it. Commands may come twice: the second one is refused, or changes nothing.
func (s *Store) change(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		table, err := s.changeOnce(ctx, command)
		if !errors.Is(err, errElsewhere) {
			return table, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, s.late(fmt.Errorf("the meta group has no leader: %w", context.Cause(ctx)))
		}
	}
}

func (s *Store) changeOnce(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	if s.net == nil {
		return nil, fmt.Errorf("%w: a node alone has no other nodes", ErrInvalid)
	}
	_, leader := s.meta.raft.LeaderWithID()
	if leader == s.meta.seat.id {
		return s.changeHere(ctx, command)
	}
	if leader == "" {
		return nil, errElsewhere
	}
	content, err := proto.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("encode meta command: %w", err)
	}
	return s.callMeta(ctx, nodeID(leader), callChange, content)
}

// callMeta makes a call of the meta group at another node, and returns the table that it
// answers with.
func (s *Store) callMeta(ctx context.Context, node, kind string, query []byte) (*wire.Meta, error) {
	question, err := proto.Marshal(&wire.Question{Kind: kind, Query: query})
	if err != nil {
		return nil, fmt.Errorf("encode call: %w", err)
	}
	reply, err := s.net.peers.Call(ctx, node, peer.Log, kindCall, metaRange, question)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errElsewhere, err)
	}
	answer, table := &wire.Answer{}, &wire.Meta{}
	if err := proto.Unmarshal(reply, answer); err != nil {
		return nil, fmt.Errorf("%w: answer of %s: %w", ErrUnavailable, nodeName(node), err)
	}
	if answer.Elsewhere {
		return nil, errElsewhere
	}
	if err := failureError(answer.Failure); err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(answer.Content, table); err != nil {
		return nil, fmt.Errorf("%w: table of %s: %w", ErrUnavailable, nodeName(node), err)
	}
	s.learn(table)
	return table, nil
}

// changeHere carries out a command if this node leads the meta group.
func (s *Store) changeHere(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	if s.meta.raft.State() != raft.Leader {
		return nil, errElsewhere
	}
	if err := s.mayChange(command); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.meta.propose(command) }() // ends with raft
	select {
	case err := <-done:
		if errors.Is(err, raft.ErrNotLeader) {
			return nil, errElsewhere
		}
		return s.meta.fsm.meta(), err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// admitNode takes a fresh node in, for package founding.
func (s *Store) admitNode(ctx context.Context, node *wire.Node) (*wire.Meta, error) {
	return s.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_Join{Join: &wire.Join{Node: node}}})
}

// announce tells all other nodes of the table, so that none waits until raft has told it.
func (s *Store) announce(ctx context.Context, table *wire.Meta) {
	content, err := proto.Marshal(table)
	if err != nil {
		return
	}
	for _, n := range table.Nodes {
		if n.Id == s.net.self() {
			continue
		}
		go func() { // ends within a call's limit
			ctx, cancel := context.WithTimeout(ctx, confirmWithin)
			defer cancel()
			_, _ = s.callMeta(ctx, n.Id, callTable, content) // a node that does not hear learns it from raft, or asks
		}()
	}
}

// askEvery is how often a node that hears from no leader of the meta group asks another one
// for its table: raft does not tell a replica that it was removed.
const askEvery = 2 * time.Second

// askTable asks until ctx ends.
func (s *Store) askTable(ctx context.Context) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if _, leader := s.meta.raft.LeaderWithID(); leader != "" {
			continue
		}
		nodes := s.known.Load().Nodes
		other := nodes[rand.IntN(len(nodes))].Id
		if other == s.net.self() {
			continue
		}
		table, err := s.founding.Newest(ctx, other)
		if err != nil {
			s.tools.log.Debug("node gives no table", "node", other, "error", err)
			continue
		}
		s.learn(table)
	}
}
