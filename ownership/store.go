package ownership

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// Store is this node's part of the cluster's state. Its methods may be called
// from any goroutine.
type Store struct {
	cfg     Config
	tools   tools
	cluster string

	meta   *metaGroup
	log    *sharedlog.Log
	state  *pebble.DB
	flush  *flusher
	groups []*group // by range ID
	of     [channel.Buckets]*group

	cancel context.CancelFunc // ends loops
	loops  sync.WaitGroup
	close  sync.Once
	ended  error // of Close

	gate struct {
		sync.RWMutex // held for reading by reads, for writing while state closes
		closed       bool
	}
}

// drainWithin bounds how long Close waits for commands under way.
const drainWithin = 3 * time.Second

// Cluster returns the cluster's ID, 32 hex digits made at its birth: cursors of
// another cluster mean nothing here.
func (s *Store) Cluster() string { return s.cluster }

// Close refuses new commands, waits for those under way, and stops. It may be
// called more than once.
func (s *Store) Close() error {
	s.close.Do(func() { s.ended = s.shutdown() })
	return s.ended
}

// shutdown also cleans up after an Open that failed half way.
func (s *Store) shutdown() error {
	s.cancel()
	s.loops.Wait()
	s.drain()
	errs := make([]error, len(s.groups))
	var stopped sync.WaitGroup
	for i, g := range s.groups {
		stopped.Go(func() { errs[i] = g.stop() })
	}
	stopped.Wait()
	err := errors.Join(errs...)
	if s.meta != nil {
		err = errors.Join(err, s.meta.close())
	}
	s.gate.Lock()
	s.gate.closed = true
	s.gate.Unlock()
	if s.state != nil {
		// What is not flushed would be replayed at the next start.
		err = errors.Join(err, s.lastFlush(), s.state.Close())
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	s.tools.metrics.unregister()
	return err
}

// lastFlush spares the next start a replay. A disk without room for it does with
// the log.
func (s *Store) lastFlush() error {
	if s.cfg.Volume.Level() == volume.Critical {
		return nil
	}
	if err := s.flush.flush(); !errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil
}

func (s *Store) drain() {
	deadline := time.NewTimer(drainWithin)
	defer deadline.Stop()
	waits := make([]<-chan struct{}, 0, len(s.groups))
	for _, g := range s.groups {
		if g.raft != nil {
			waits = append(waits, g.refuse())
		}
	}
	for _, wait := range waits {
		select {
		case <-wait:
		case <-deadline.C:
			s.tools.log.Warn("stopped with commands under way")
			return
		}
	}
}

// reading keeps the state open until done is called.
func (s *Store) reading() (done func(), err error) {
	s.gate.RLock()
	if s.gate.closed {
		s.gate.RUnlock()
		return nil, ErrClosed
	}
	return s.gate.RUnlock, nil
}

// Counts returns the number of channels and of subscriptions in the ranges of
// this node.
func (s *Store) Counts() (channels, subscriptions uint64) {
	for _, g := range s.groups {
		channels += g.fsm.hot.channels.Load()
		subscriptions += g.fsm.hot.subscriptions.Load()
	}
	return channels, subscriptions
}

// UpdateBytes returns the bytes of the updates kept in the ranges of this node.
func (s *Store) UpdateBytes() (bytes uint64) {
	for _, g := range s.groups {
		bytes += g.fsm.hot.updateBytes.Load()
	}
	return bytes
}

// Ranges returns the ranges in the order of their buckets.
func (s *Store) Ranges() []RangeStatus {
	ranges := make([]RangeStatus, len(s.groups))
	for i, g := range s.groups {
		ranges[i] = g.status()
	}
	return ranges
}

// Unsnapshotted returns the bytes of log entries that no snapshot covers: a start
// replays them.
func (s *Store) Unsnapshotted() (bytes uint64) {
	for _, g := range s.groups {
		bytes += g.fsm.hot.behind.Load()
	}
	return bytes
}

// tooFarBehind is how many times Config.SnapshotBytes may be without a snapshot. With
// snapshots it comes to about two of what the log asks for one at: SnapshotBytes, or
// half a memtable if that is less. A node that is slow for a while is no less ready.
const tooFarBehind = 4

// Ready returns nil when all ranges of this node have a leader and are caught up,
// or an ErrUnavailable that names one that has not; or ErrBehind.
func (s *Store) Ready() error {
	for _, g := range s.groups {
		if !g.serving.Load() {
			return fmt.Errorf("range %d: %w", g.id, ErrUnavailable)
		}
	}
	if behind, most := s.Unsnapshotted(), tooFarBehind*s.cfg.SnapshotBytes; behind > most {
		return fmt.Errorf("%w: no snapshot covers %d bytes of it, want %d at most", ErrBehind, behind, most)
	}
	return nil
}

// Closed returns a stamp: every update with this stamp or a smaller one, of any
// range, is applied and visible, and none will follow. It never falls, and nothing
// that is applied waits for a wall clock that was set back to come to it: ranges
// without commands take over the newest time of the others.
func (s *Store) Closed() uint64 {
	newest := uint64(0)
	for _, g := range s.groups {
		newest = max(newest, g.clock.newest())
	}
	closed := uint64(math.MaxUint64)
	for _, g := range s.groups {
		closed = min(closed, g.clock.closedTime(newest))
	}
	return closed
}

// propose sends a command through a range's log and returns its result. The
// error is ErrClosed, ErrUnavailable, ErrTooLarge, ErrInvalid, or the context's.
func (s *Store) propose(ctx context.Context, g *group, command *wire.Command) (result, error) {
	content, err := proto.Marshal(command)
	if err != nil {
		return result{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	p, err := s.submit(ctx, g, content)
	if err != nil {
		return result{}, err
	}
	return s.await(ctx, p)
}

// submit queues an encoded command without its time: commands submitted one after
// the other are applied in that order.
func (s *Store) submit(ctx context.Context, g *group, command []byte) (*proposal, error) {
	if len(command) > maxCommand {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(command))
	}
	p := newProposal(command)
	if err := g.queue.push(ctx, p); err != nil {
		return nil, s.late(err)
	}
	return p, nil
}

func (s *Store) await(ctx context.Context, p *proposal) (result, error) {
	select {
	case r := <-p.done:
		return r, s.late(r.err)
	case <-ctx.Done():
		return result{}, s.late(context.Cause(ctx))
	}
}

// errLate is the cause of a context that within ended.
var errLate = fmt.Errorf("no answer in time: %w", ErrUnavailable)

// within bounds a call's time.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errLate)
}

// late counts an unknown outcome.
func (s *Store) late(err error) error {
	if errors.Is(err, ErrUnavailable) {
		s.tools.metrics.unavailable.Inc()
	}
	return err
}
