package ownership

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// router has the ranges of the cluster, the replicas of this node among them, and sends
// commands and calls to their leaders.
type router struct {
	tools   tools
	net     *network // nil in a cluster of one
	state   *state.DB
	open    atomic.Pointer[[]*group]  // see groups
	routes  atomic.Pointer[routes]    // nil before the founding
	started atomic.Bool               // the replicas of this node run
	known   atomic.Pointer[wire.Meta] // the newest table; nil in a cluster of one, and before the founding
	version atomic.Uint32             // of the state machine: which commands may be proposed
	repairs *repairs                  // nil in a cluster of one
	calls   calls
	terms   *confirmer
	cluster string          // ID; of open
	closing atomic.Bool     // new commands are refused
	running context.Context // ends when the store is closed
	loops   sync.WaitGroup  // those that end with running
}

// groups returns the replicas of this node, by range ID.
func (rt *router) groups() []*group {
	if open := rt.open.Load(); open != nil {
		return *open
	}
	return nil
}

// of returns the range that has a bucket.
func (rt *router) of(b channel.Bucket) *route { return rt.routes.Load().of[b] }

// inOrder returns all ranges in the order of their buckets.
func (rt *router) inOrder() []*route { return rt.routes.Load().ordered }

// byID returns a range, nil if there is none.
func (rt *router) byID(id uint32) *route {
	if rs := rt.routes.Load(); uint64(id) < uint64(len(rs.byID)) {
		return rs.byID[id]
	}
	return nil
}

// setRoutes goes by the ranges of a table from now on. What waits for one that was split looks
// again.
func (rt *router) setRoutes(table *wire.Meta) error {
	before := rt.routes.Load()
	rs, err := newRoutes(table, before)
	if err != nil {
		return err
	}
	rt.routes.Store(rs)
	if before == nil {
		return nil
	}
	for _, r := range before.ordered {
		if rs.byID[r.ID] != r {
			r.watch.changed.ring()
			if g := r.local(); g != nil {
				g.clock.changed.ring()
			}
		}
	}
	return nil
}

// routeOf finds the range that another node means.
func (rt *router) routeOf(id uint64) (*route, error) {
	if rt.started.Load() && id <= math.MaxUint32 {
		if r := rt.byID(uint32(id)); r != nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no range %d here", id)
}

// errDivided says that a range has other buckets than the caller believes.
var errDivided = fmt.Errorf("%w: the range was split", ErrUnavailable)

// errElsewhere says that a command or a read was certainly not carried out, since the
// node asked does not lead the range or was not reached: it may be sent to another one.
var errElsewhere = errors.New("not carried out by a leader")

// Pauses between attempts to find the leader of a range.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 200 * time.Millisecond
)

// lead finds the leader of the range with a bucket for a call: here is called while this node
// leads it, there with the node that may, and both again, after a pause, as long as they return
// errElsewhere: meanwhile the bucket may have come to another range. The error is that of the
// last call, or ErrUnavailable when the context ends first.
func (rt *router) lead(ctx context.Context, b channel.Bucket, here func(*group) error, there func(r *route, node string) error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		r := rt.of(b)
		err := rt.leadOnce(r, here, there)
		if !errors.Is(err, errElsewhere) {
			return err
		}
		elected := r.elected()
		if rest(ctx, pause, func() bool { return rt.of(b) != r || r.elected() != elected }) {
			pause = firstRetry / 2 // it is about to serve
		}
		if ctx.Err() != nil {
			return rt.late(fmt.Errorf("range %d has no leader: %w", r.ID, context.Cause(ctx)))
		}
	}
}

// rest waits for a pause, until ctx ends, or until this node has news.
func rest(ctx context.Context, pause time.Duration, news func() bool) bool {
	for end := time.Now().Add(pause); ; {
		select {
		case <-time.After(min(firstRetry, max(time.Until(end), 0))):
		case <-ctx.Done():
			return false
		}
		if news() {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
	}
}

func (rt *router) leadOnce(r *route, here func(*group) error, there func(r *route, node string) error) error {
	if rt.closing.Load() {
		return ErrClosed
	}
	if g := r.serving(); g != nil {
		return here(g)
	}
	if rt.net == nil {
		return errElsewhere
	}
	node := r.leader()
	if node == rt.net.self() {
		r.learn("")
		return errElsewhere
	}
	return there(r, node)
}

// propose sends a command through the log of the range with a bucket and returns its result.
// The error is ErrClosed, ErrUnavailable, ErrTooLarge, ErrInvalid, or the context's.
func (rt *router) propose(ctx context.Context, b channel.Bucket, command *wire.Command) (state.Result, error) {
	if err := allow(rt.version.Load(), commandVersion(command)); err != nil {
		return state.Result{}, err
	}
	content, err := proto.Marshal(command)
	if err != nil {
		return state.Result{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return rt.await(ctx, rt.submit(ctx, b, content))
}

// sent is a command on its way.
type sent struct {
	bucket  channel.Bucket
	command []byte    // encoded, without its time
	p       *proposal // in a log of this node; nil for one that has its state.Result, or an error
	done    state.Result
	err     error
}

// submit sends an encoded command without its time to the leader of the range with a bucket:
// commands submitted one after the other are applied in that order, as long as that leads.
func (rt *router) submit(ctx context.Context, b channel.Bucket, command []byte) *sent {
	c := &sent{bucket: b, command: command}
	if len(command) > maxCommand {
		c.err = fmt.Errorf("%w: %d bytes", ErrTooLarge, len(command))
		return c
	}
	c.err = rt.lead(ctx, b,
		func(g *group) (err error) {
			if !g.state.Range().Has(b) { // the log would have an entry for each attempt, until the table knows
				return errElsewhere
			}
			c.p, err = rt.enqueue(ctx, g, command)
			return err
		},
		func(r *route, node string) (err error) { c.done, err = rt.forward(ctx, r, node, command); return err },
	)
	return c
}

// await returns a command's result. A command that was certainly not carried out, since this
// node does not lead any more or its bucket is another range's, is submitted again.
func (rt *router) await(ctx context.Context, c *sent) (state.Result, error) {
	if c.p == nil || c.err != nil {
		return c.done, c.err
	}
	r, err := rt.answered(ctx, c.p)
	if errors.Is(err, errElsewhere) {
		select {
		case <-time.After(firstRetry):
		case <-ctx.Done():
			return r, rt.late(context.Cause(ctx))
		}
		return rt.await(ctx, rt.submit(ctx, c.bucket, c.command))
	}
	return r, err
}

// enqueue hands a command to the log of a replica of this node.
func (rt *router) enqueue(ctx context.Context, g *group, command []byte) (*proposal, error) {
	p := newProposal(command)
	err := g.queue.push(ctx, p)
	if errors.Is(err, ErrClosed) && !rt.closing.Load() { // the replica has left this node
		return nil, errElsewhere
	}
	if err != nil {
		return nil, rt.late(err)
	}
	return p, nil
}

func (rt *router) answered(ctx context.Context, p *proposal) (state.Result, error) {
	select {
	case r := <-p.done:
		if errors.Is(r.Err, state.ErrMoved) {
			return state.Result{}, errElsewhere
		}
		return r, rt.late(r.Err)
	case <-ctx.Done():
		return state.Result{}, rt.late(context.Cause(ctx))
	}
}

// errLate is the cause of a context that within ended.
var errLate = fmt.Errorf("no answer in time: %w", ErrUnavailable)

// within bounds a call's time.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errLate)
}

// late counts an unknown outcome.
func (rt *router) late(err error) error {
	if errors.Is(err, ErrUnavailable) {
		rt.tools.metrics.unavailable.Inc()
	}
	return err
}

// do sends a command that any node may propose to the leader of its range.
func (rt *router) do(ctx context.Context, b channel.Bucket, command *wire.Command) error {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	_, err := rt.propose(ctx, b, command)
	return err
}

// doHere sends a command that only the leader of its range may propose. It is not
// forwarded: a node that no longer leads made it from a state that may be outdated.
func (rt *router) doHere(ctx context.Context, r *route, command *wire.Command) error {
	ctx, cancel := within(ctx, answerWithin)
	defer cancel()
	if err := allow(rt.version.Load(), commandVersion(command)); err != nil {
		return err
	}
	content, err := proto.Marshal(command)
	g := r.serving()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case len(content) > maxOwn:
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, len(content))
	case rt.closing.Load():
		return ErrClosed
	case g == nil:
		return rt.late(fmt.Errorf("range %d is not led here: %w", r.ID, ErrUnavailable))
	}
	p, err := rt.enqueue(ctx, g, content)
	if err == nil {
		_, err = rt.answered(ctx, p)
	}
	if errors.Is(err, errElsewhere) {
		err = rt.late(fmt.Errorf("range %d is not led here any more: %w", r.ID, ErrUnavailable))
	}
	return err
}

// termOf returns the term of one of this node's replicas, false if it has not that one.
func (rt *router) termOf(group uint64) (uint64, bool) {
	r, err := rt.routeOf(group >> 32)
	if err != nil {
		return 0, false
	}
	g := r.local()
	if g == nil {
		return 0, false
	}
	replica, err := raftnet.ParseID(r.ID, g.seat.id)
	if err != nil || replica.Group() != group {
		return 0, false
	}
	return g.raft.CurrentTerm(), true
}
