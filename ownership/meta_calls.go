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
	callRoom   = "room"   // take a state; answered with the table known here
)

// serveMeta carries out a call of the meta group that another member has sent.
func (s *Store) serveMeta(ctx context.Context, call peer.Call) ([]byte, error) {
	question := &wire.Question{}
	if err := proto.Unmarshal(call.Payload, question); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	answer := &wire.Answer{}
	content, err := s.answerMeta(ctx, question)
	if err == nil {
		answer.Content, err = proto.Marshal(content)
	}
	switch {
	case errors.Is(err, errElsewhere):
		answer = &wire.Answer{Elsewhere: true}
	case err != nil:
		answer = &wire.Answer{Failure: failureOf(err)}
	}
	return proto.Marshal(answer)
}

func (s *Store) answerMeta(ctx context.Context, question *wire.Question) (proto.Message, error) {
	if !s.started.Load() {
		return nil, errElsewhere
	}
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
		err := proto.Unmarshal(question.Query, command)
		if err == nil {
			err = checkChange(command)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: meta command: %w", ErrInvalid, err)
		}
		return s.changeHere(ctx, command)
	case callSupport:
		return s.cfg.versions.support(), nil
	case callLog:
		of := &wire.MoveReplica{}
		if err := proto.Unmarshal(question.Query, of); err != nil {
			return nil, fmt.Errorf("%w: question for a log: %w", ErrInvalid, err)
		}
		return s.logHere(of.Range), nil
	case callRecoverMeta:
		return &wire.Meta{}, s.recoverMetaHere(ctx)
	case callRoom:
		room := &wire.Room{}
		if err := proto.Unmarshal(question.Query, room); err != nil {
			return nil, fmt.Errorf("%w: room: %w", ErrInvalid, err)
		}
		return s.known.Load(), s.roomFor(ctx, room)
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
	_, leader := s.meta.raft().LeaderWithID()
	if leader == s.meta.seat().id {
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
	content, err := s.askMeta(ctx, node, kind, query)
	if err != nil {
		return nil, err
	}
	table := &wire.Meta{}
	if err := proto.Unmarshal(content, table); err != nil {
		return nil, fmt.Errorf("%w: table of %s: %w", ErrUnavailable, nodeName(node), err)
	}
	s.learn(table)
	return table, nil
}

// changeHere carries out a command if this node leads the meta group.
func (s *Store) changeHere(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	if s.meta.raft().State() != raft.Leader || epochOf(s.meta.fsm.meta()) < epochOf(s.known.Load()) {
		return nil, errElsewhere // or its group was recovered without it
	}
	err := ended(ctx, func() error {
		s.driver.changing.Lock()
		defer s.driver.changing.Unlock()
		if ctx.Err() != nil { // its caller has gone: what it was made for may be past
			return context.Cause(ctx)
		}
		if err := s.mayChange(ctx, command); err != nil {
			return err
		}
		if err := allow(versionOf(s.meta.fsm.meta()), metaVersion(command)); err != nil {
			return err
		}
		return s.meta.propose(command)
	})
	if errors.Is(err, raft.ErrNotLeader) {
		err = errElsewhere
	}
	if err != nil {
		return nil, err
	}
	return s.meta.fsm.meta(), nil
}

// ended waits for a call of raft's, which may come to no end while raft stops or a write of its
// log hangs. After an error of ctx the call goes on, until raft has stopped.
func ended(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// admitNode takes a fresh node in, for package founding. In a cluster at the first version the
// command does not say what the node's program applies, which older programs would refuse.
func (s *Store) admitNode(ctx context.Context, promise *wire.Promise) (*wire.Meta, error) {
	join := &wire.Join{Node: promise.Node}
	if versionOf(s.known.Load()) > firstVersion {
		join.Support = promise.Support
	}
	return s.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_Join{Join: join}})
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
// for its table: raft does not tell a replica that it was removed. One that has a leader asks a
// node that is silent, which may have removed it.
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
		other := s.tableFrom()
		if other == "" {
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

// tableFrom chooses a node to ask for its table, empty for none.
func (s *Store) tableFrom() string {
	_, leader := s.meta.raft().LeaderWithID()
	var others []string
	for _, n := range s.known.Load().Nodes {
		if n.Id != s.net.self() && NodeState(n.State) != NodeRemoved && (leader == "" || s.silent(n.Id)) {
			others = append(others, n.Id)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return others[rand.IntN(len(others))]
}
