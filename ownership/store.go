package ownership

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"github.com/seed-91e7e7c1/corona/ownership/sharedlog"
	"google.golang.org/protobuf/proto"
)

// Store is this node's part of the cluster's state. Its methods may be called
// from any goroutine. Those of [state.Reader] read this node's replicas.
type Store struct {
	*reads
	cfg     Config
	tools   tools
	cluster string

	meta   *metaGroup
	net    *network     // nil in a cluster of one
	nodes  []*wire.Node // of the cluster, by ID; none in a cluster of one
	skew   atomic.Int64 // how far the clock is off, in nanoseconds, while that is too far; else 0
	calls  calls
	views  viewCalls
	terms  *confirmer
	log    *sharedlog.Log
	db     *pebble.DB // of state
	state  *state.DB
	flush  *flusher
	groups []*group // replicas of this node, by range ID
	of     [channel.Buckets]*route
	routes atomic.Pointer[[]*route]      // by range ID; nil until the replicas of this node run
	logRef atomic.Pointer[sharedlog.Log] // log, for other nodes' calls; nil before it is open

	running context.Context    // of loops
	cancel  context.CancelFunc // ends them
	loops   sync.WaitGroup
	close   sync.Once
	closing atomic.Bool // new commands are refused
	ended   error       // of Close
}

// reads are the methods of Store that read this node's replicas.
type reads = state.Reader

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
	s.closing.Store(true)
	s.cancel()
	s.loops.Wait()
	s.handOver()
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
	if s.net != nil {
		s.net.close()
	}
	if s.state != nil {
		s.state.Close()
		// What is not flushed would be replayed at the next start.
		err = errors.Join(err, s.lastFlush(), s.db.Close())
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

// Counts returns the number of channels and of subscriptions in the ranges of
// this node.
func (s *Store) Counts() (channels, subscriptions uint64) {
	for _, g := range s.groups {
		moreChannels, moreSubscriptions := g.state.Counts()
		channels, subscriptions = channels+moreChannels, subscriptions+moreSubscriptions
	}
	return channels, subscriptions
}

// UpdateBytes returns the bytes of the updates kept in the ranges of this node.
func (s *Store) UpdateBytes() (bytes uint64) {
	for _, g := range s.groups {
		bytes += g.state.UpdateBytes()
	}
	return bytes
}

// Ranges returns the ranges in the order of their buckets.
func (s *Store) Ranges() []RangeStatus {
	routes := *s.routes.Load()
	ranges := make([]RangeStatus, len(routes))
	for i, r := range routes {
		ranges[i] = r.status()
	}
	return ranges
}

// Unsnapshotted returns the bytes of log entries that no snapshot covers: a start
// replays them.
func (s *Store) Unsnapshotted() (bytes uint64) {
	for _, g := range s.groups {
		bytes += g.fsm.behind.Load()
	}
	return bytes
}

// tooFarBehind is up to how many times Config.SnapshotBytes may be without a snapshot.
// While snapshots succeed it is about twice what the log asks for one at
// (SnapshotBytes, or half a memtable if that is less); the rest lets a node be slow for
// a while.
const tooFarBehind = 4

// Ready returns nil when all ranges of this node have a leader that serves, as far as
// it knows, or an ErrUnavailable that names one that has not; or ErrBehind.
func (s *Store) Ready() error {
	for _, g := range s.groups {
		if !g.serving.Load() && (s.net == nil || !g.follows()) {
			return fmt.Errorf("range %d: %w", g.id, ErrUnavailable)
		}
	}
	if err := s.checkClock(); err != nil {
		return err
	}
	if behind, most := s.Unsnapshotted(), tooFarBehind*s.cfg.SnapshotBytes; behind > most {
		return fmt.Errorf("%w: no snapshot covers %d bytes of it, want %d at most", ErrBehind, behind, most)
	}
	return nil
}

// Table returns all ranges of the cluster in the order of their buckets.
func (s *Store) Table() []channel.Range {
	routes := *s.routes.Load()
	table := make([]channel.Range, len(routes))
	for i, r := range routes {
		table[i] = r.Range
	}
	return table
}

// propose sends a command through a range's log and returns its result. The
// error is ErrClosed, ErrUnavailable, ErrTooLarge, ErrInvalid, or the context's.
func (s *Store) propose(ctx context.Context, r *route, command *wire.Command) (state.Result, error) {
	content, err := proto.Marshal(command)
	if err != nil {
		return state.Result{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s.await(ctx, s.submit(ctx, r, content))
}

// sent is a command on its way.
type sent struct {
	route   *route
	command []byte    // encoded, without its time
	p       *proposal // in a log of this node; nil for one that has its state.Result, or an error
	done    state.Result
	err     error
}

// submit sends an encoded command without its time to the leader of its range: commands
// submitted one after the other are applied in that order, as long as that leads.
func (s *Store) submit(ctx context.Context, r *route, command []byte) *sent {
	c := &sent{route: r, command: command}
	if len(command) > maxCommand {
		c.err = fmt.Errorf("%w: %d bytes", ErrTooLarge, len(command))
		return c
	}
	c.err = s.lead(ctx, r,
		func() (err error) { c.p, err = s.enqueue(ctx, r.local, command); return err },
		func(node string) (err error) { c.done, err = s.forward(ctx, r, node, command); return err },
	)
	return c
}

// await returns a command's result. A command that is certainly not in the log, since
// this node does not lead any more, is submitted again.
func (s *Store) await(ctx context.Context, c *sent) (state.Result, error) {
	if c.p == nil || c.err != nil {
		return c.done, c.err
	}
	r, err := s.answered(ctx, c.p)
	if errors.Is(err, errElsewhere) {
		return s.await(ctx, s.submit(ctx, c.route, c.command))
	}
	return r, err
}

// enqueue hands a command to the log of a replica of this node.
func (s *Store) enqueue(ctx context.Context, g *group, command []byte) (*proposal, error) {
	p := newProposal(command)
	if err := g.queue.push(ctx, p); err != nil {
		return nil, s.late(err)
	}
	return p, nil
}

func (s *Store) answered(ctx context.Context, p *proposal) (state.Result, error) {
	select {
	case r := <-p.done:
		return r, s.late(r.Err)
	case <-ctx.Done():
		return state.Result{}, s.late(context.Cause(ctx))
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
