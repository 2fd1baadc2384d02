package ownership

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestRoom: bad-input.md, row "disk full on the receiver of a state". A state is not even
// written into a file for a node that has no room for it; others go on, and it is sent when
// there is room.
func TestRoom(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	free.Store(1 << 30)
	const full = "node-2"
	looking, stop := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	t.Cleanup(func() { stop(); loops.Wait() })
	w := newTown(t, 3, 51, func(c *Config) {
		if c.Node != full {
			return
		}
		v, err := volume.Open(volume.Config{
			Dir: t.TempDir(), Reserve: 16 << 20, Fatal: c.Fatal,
			Usage: func(string) (uint64, uint64, error) { return free.Load(), 1 << 40, nil },
		})
		if err != nil {
			t.Error(err)
			return
		}
		loops.Go(func() { v.Run(looking) })
		c.Volume = v
	})
	n := w.nodes[2]
	made := w.filled(40, "before")
	for _, other := range w.nodes[:2] {
		other.store.snapshotAll() // or the log would be sent
	}
	n.stop()
	n.must(n.disk.RemoveAll(n.disk.PathJoin(n.dir, "log")))
	free.Store(16<<20 + 100) // more than the reserve, less than it and a state
	w.open(n)
	eventually(t, "states are refused", func() error {
		if testutil.ToFloat64(n.store.tools.metrics.transfersRefused) == 0 {
			return errors.New("none is")
		}
		return nil
	})
	for id, ch := range w.filledAt(w.nodes[:2], 10, "meanwhile") {
		made[id] = ch
	}
	for _, other := range w.nodes[:2] {
		if sent := testutil.ToFloat64(other.store.tools.metrics.transfersSent); sent > 0 {
			t.Errorf("%s has written %v states for a node without room", other.name, sent)
		}
	}
	if err := n.store.Ready(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without its replicas the node is ready: %v", err)
	}
	free.Store(1 << 30)
	w.settled(3, w.nodes...)
	if n.received() == 0 {
		t.Error("no state was received when there was room")
	}
	n.shows(made)
}

// TestRoomFor: what a node answers to the question whether it takes a state.
func TestRoomFor(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 52, nil)
	s := w.nodes[0].store
	replica := string(s.groups()[0].seat.id)
	ctx := context.Background()
	ask := func(room *wire.Room) error { return s.turns.roomFor(ctx, room) }
	wantError(t, ask(&wire.Room{Replica: replica, Bytes: math.MaxUint64 / 4}), nil) // without a volume there is no limit
	s.turns.volume = roomy(t, 26)                                                   // MiB, 16 of them the reserve
	wantError(t, ask(&wire.Room{Replica: replica, Bytes: 8 << 20}), nil)
	wantError(t, ask(&wire.Room{Replica: replica, Bytes: 8<<20 + 1}), ErrNoSpace)
	wantError(t, ask(&wire.Room{Replica: replica + "1", Bytes: 1}), ErrUnavailable)
	wantError(t, ask(&wire.Room{Range: 99, Replica: replica, Bytes: 1}), ErrUnavailable)
	done, err := s.turns.receive()
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	wantError(t, s.turns.roomFor(soon, &wire.Room{Replica: replica, Bytes: 1}), errReceiving)
	done()
	wantError(t, ask(&wire.Room{Replica: replica, Bytes: 1}), nil)
	s.turns.volume = nil
}
