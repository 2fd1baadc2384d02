package ownership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Before a replica's state is written into a file and sent, its receiver is asked whether it
// has room. A node sends one state and receives one at a time; raft asks again for those that
// have to wait for too long.

const (
	// turnWithin bounds how long a state waits to be sent, or received, for another one.
	turnWithin = 20 * time.Second
	// roomWithin bounds the question whether a node takes a state, which waits for its turn.
	roomWithin = 3 * time.Second
)

// turns has the states of a node's replicas go one after the other, each way.
type turns struct {
	*metaCalls
	volume             *volume.Volume // nil: there is room
	sending, receiving chan struct{}  // each full while one does
}

// callRoom has a node take a state; it is answered with the table known there.
const callRoom = "room"

func newTurns(calls *metaCalls, volume *volume.Volume) *turns {
	t := &turns{metaCalls: calls, volume: volume, sending: make(chan struct{}, 1), receiving: make(chan struct{}, 1)}
	calls.servers[callRoom] = func(ctx context.Context, query []byte) (proto.Message, error) {
		room := &wire.Room{}
		if err := proto.Unmarshal(query, room); err != nil {
			return nil, fmt.Errorf("%w: room: %w", ErrInvalid, err)
		}
		return t.known.Load(), t.roomFor(ctx, room)
	}
	return t
}

var (
	errSending   = errors.New("another state is being sent")
	errReceiving = errors.New("another state is being received")
	errBarred    = errors.New("the state is damaged")
)

// turn waits for a turn, which ends when done is called; else the error is busy.
func turn(ctx context.Context, turns chan struct{}, busy error) (done func(), err error) {
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, busy
	}
}

// receive waits until a state may be received. It may be called on nil.
func (t *turns) receive() (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnWithin)
	defer cancel()
	return turn(ctx, t.receiving, errReceiving)
}

// prepare is what [raftnet.Hooks] calls before a state is sent.
type prepare = func(ctx context.Context, to raftnet.Replica, stream io.Reader) (size int64, done func(), err error)

// prepare returns what has a replica's state sent: when its turn has come, and the receiver
// has said that it takes it, it is written into a file.
func (t *turns) prepare(g *group) prepare {
	return func(ctx context.Context, to raftnet.Replica, stream io.Reader) (int64, func(), error) {
		waiting, cancel := context.WithTimeout(ctx, turnWithin)
		defer cancel()
		done, err := turn(waiting, t.sending, errSending)
		if err != nil {
			return 0, nil, err
		}
		if err = t.askRoom(ctx, g, to); err == nil {
			var size int64
			if size, err = stream.(*spooled).spool(); err == nil && g.barred.Load() {
				err = errBarred // found while it waited, or was written
			}
			if err == nil {
				return size, done, nil
			}
		}
		done()
		return 0, nil, err
	}
}

// askRoom asks a node whether it takes the state of its replica. One of a program that does
// not know the question is sent it as before.
func (t *turns) askRoom(ctx context.Context, g *group, to raftnet.Replica) error {
	size, err := g.fsm.transfer.size()
	if err != nil {
		return err
	}
	query, err := proto.Marshal(&wire.Room{Range: g.id, Replica: string(to.ID()), Bytes: size})
	if err != nil {
		return fmt.Errorf("encode room: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, roomWithin+configureWithin)
	defer cancel()
	if _, err := t.askTable(ctx, to.Node, callRoom, query); err != nil && !errors.Is(err, ErrInvalid) {
		return err
	}
	return nil
}

// roomFor returns nil if this node takes a state now, ErrNoSpace if it has no room for it, or
// ErrUnavailable.
func (t *turns) roomFor(ctx context.Context, room *wire.Room) error {
	way, err := t.routeOf(uint64(room.Range))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if g := way.local(); g == nil || string(g.seat.id) != room.Replica {
		return fmt.Errorf("%w: replica %s is not on this node", ErrUnavailable, room.Replica)
	}
	if v := t.volume; v != nil {
		if status := v.Status(); status.Free < status.Reserve+room.Bytes+room.Bytes/4 {
			t.tools.metrics.transfersRefused.Inc()
			return fmt.Errorf("%w: no room for the state of range %d, which takes about %d bytes: %d are free, of which %d are kept for what there is",
				ErrNoSpace, room.Range, room.Bytes, status.Free, status.Reserve)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, roomWithin)
	defer cancel()
	done, err := turn(ctx, t.receiving, errReceiving)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	done()
	return nil
}
