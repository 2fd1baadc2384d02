package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// changes has the leader of the meta group change the cluster's table. It says what the health
// of the nodes and their logs forbid; what the table itself forbids tables.Change says.
type changes struct {
	*metaCalls
	survey   *survey
	changing sync.Mutex // held while a change is checked and made
}

// callChange has a meta command carried out; it is answered with the table after it.
const callChange = "change"

func newChanges(calls *metaCalls, survey *survey) *changes {
	c := &changes{metaCalls: calls, survey: survey}
	calls.servers[callChange] = func(ctx context.Context, query []byte) (proto.Message, error) {
		command := &wire.MetaCommand{}
		err := proto.Unmarshal(query, command)
		if err == nil {
			err = checkChange(command)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: meta command: %w", ErrInvalid, err)
		}
		return c.changeHere(ctx, command)
	}
	return c
}

// change has the leader of the meta group carry out a command, here if this node is that, and
// returns the table after it. Commands may come twice: the second one is refused, or changes
// nothing.
func (c *changes) change(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		table, err := c.changeOnce(ctx, command)
		if !errors.Is(err, errElsewhere) {
			return table, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, c.late(fmt.Errorf("the meta group has no leader: %w", context.Cause(ctx)))
		}
	}
}

func (c *changes) changeOnce(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	running := c.meta.raft()
	if running == nil { // this node starts, and others ask it already
		return nil, errElsewhere
	}
	_, leader := running.LeaderWithID()
	switch leader {
	case c.meta.seat().id: // as that of a node alone always is
		return c.changeHere(ctx, command)
	case "":
		return nil, errElsewhere
	}
	content, err := proto.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("encode meta command: %w", err)
	}
	return c.askTable(ctx, raftnet.NodeID(string(leader)), callChange, content)
}

// changeHere carries out a command if this node leads the meta group and knows all that was
// decided before, and returns the table after it; else the error is errElsewhere.
func (c *changes) changeHere(ctx context.Context, command *wire.MetaCommand) (*wire.Meta, error) {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	if !c.meta.decides() || tables.Epoch(c.meta.fsm.meta()) < tables.Epoch(c.known.Load()) {
		return nil, errElsewhere // or its group was recovered without it
	}
	err := ended(ctx, func() error {
		c.changing.Lock()
		defer c.changing.Unlock()
		if ctx.Err() != nil { // its caller has gone: what it was made for may be past
			return context.Cause(ctx)
		}
		if err := c.mayChange(ctx, command); err != nil {
			return err
		}
		if err := allow(tables.VersionOf(c.meta.fsm.meta()), metaVersion(command)); err != nil {
			return err
		}
		return c.meta.propose(command)
	})
	if errors.Is(err, raft.ErrNotLeader) {
		err = errElsewhere
	}
	if err != nil {
		return nil, err
	}
	return c.meta.fsm.meta(), nil
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
func (c *changes) admitNode(ctx context.Context, promise *wire.Promise) (*wire.Meta, error) {
	join := &wire.Join{Node: promise.Node}
	if tables.VersionOf(c.known.Load()) > tables.FirstVersion {
		join.Support = promise.Support
	}
	return c.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_Join{Join: join}})
}

// damaged tells the cluster that a replica of a range is damaged.
func (c *changes) damaged(ctx context.Context, id uint32, replica string) error {
	_, err := c.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_RangeDamaged{RangeDamaged: &wire.MoveReplica{Range: id, Replica: replica}}})
	return err
}
