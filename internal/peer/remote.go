package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// remote is another node as this one calls it: a connection per lane, made when it
// is needed.
type remote struct {
	node *Node
	peer Peer
	ctx  context.Context // ends with the peer
	end  context.CancelCauseFunc
	sick healthLog

	mu struct {
		sync.Mutex
		links map[Lane]*link
	}
}

func newRemote(n *Node, p Peer) *remote {
	r := &remote{node: n, peer: p}
	r.ctx, r.end = context.WithCancelCause(n.running)
	r.mu.links = make(map[Lane]*link)
	for _, lane := range lanes {
		r.mu.links[lane] = &link{}
	}
	return r
}

// link is the connection in one lane, or an attempt at one.
type link struct {
	dialling chan struct{} // closed when the attempt under way has ended; nil: none
	up       connection    // nil: none
	failures int           // attempts in a row that failed
	retry    time.Time     // no attempt before
	err      error         // of the last attempt
}

// connection is what a dialled connection is used by: a caller, or a session of
// streams.
type connection interface {
	close(error)
	done() <-chan struct{}
}

func (c *caller) done() <-chan struct{} { return c.ended }

const (
	dialWithin = 2 * time.Second // TLS and hello too
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// connected returns the connection of a lane, dialling when there is none. While
// attempts fail it answers at once with the last one's error, but for one attempt in
// each pause, exponentially longer up to lastRetry.
func (r *remote) connected(ctx context.Context, lane Lane) (connection, error) {
	for {
		up, wait, err := r.tryConnected(lane)
		if up != nil || err != nil {
			return up, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w to %s: %w", ErrNotSent, r.peer.Name, context.Cause(ctx))
		case <-r.ctx.Done():
			return nil, fmt.Errorf("%w to %s: %w", ErrNotSent, r.peer.Name, context.Cause(r.ctx))
		}
	}
}

func (r *remote) tryConnected(lane Lane) (up connection, wait <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.mu.links[lane]
	switch {
	case r.ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%w to %s: %w", ErrNotSent, r.peer.Name, context.Cause(r.ctx))
	case l.up != nil:
		return l.up, nil, nil
	case l.dialling != nil:
		return nil, l.dialling, nil
	case time.Now().Before(l.retry):
		return nil, nil, fmt.Errorf("%w to %s at %s: %w", ErrNotSent, r.peer.Name, r.peer.Address, l.err)
	}
	l.dialling = make(chan struct{})
	r.node.all.Go(func() { r.dial(lane) })
	return nil, l.dialling, nil
}

// dial makes one attempt at a lane's connection, and serves it until it ends.
func (r *remote) dial(lane Lane) {
	ctx, cancel := context.WithTimeout(r.ctx, dialWithin)
	up, run, err := r.node.dial(ctx, r.peer, lane)
	cancel()
	r.dialled(lane, up, err)
	if err != nil {
		return
	}
	stop := context.AfterFunc(r.ctx, func() { up.close(context.Cause(r.ctx)) })
	run()
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.mu.links[lane]; l.up == up {
		l.up = nil
	}
}

// dialled notes how an attempt ended, and lets those go on that wait for it.
func (r *remote) dialled(lane Lane, up connection, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.mu.links[lane]
	before := causeOf(l.err)
	close(l.dialling)
	l.dialling, l.up, l.err = nil, up, err
	if err == nil {
		l.failures = 0
		return
	}
	l.retry = time.Now().Add(min(firstRetry<<min(l.failures, 10), lastRetry))
	l.failures++
	r.node.metrics.dialFailures.Inc()
	if causeOf(err) != before { // one that is away may come back as one that refuses
		r.node.config.Logger.Warn("node cannot be reached", "peer", r.peer.Name, "address", r.peer.Address, "lane", lane, "error", err)
	}
}

// causeOf returns the text of the innermost error, which names no port that differs from
// attempt to attempt; empty for none.
func causeOf(err error) string {
	if err == nil {
		return ""
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// caller returns the connection of a lane of calls.
func (r *remote) caller(ctx context.Context, lane Lane) (*caller, error) {
	up, err := r.connected(ctx, lane)
	if err != nil {
		return nil, err
	}
	c, ok := up.(*caller)
	if !ok {
		return nil, fmt.Errorf("%w: lane %s has no calls", ErrNotSent, lane)
	}
	return c, nil
}

// drop closes the connections that there are: new ones are made when needed.
func (r *remote) drop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.mu.links {
		if l.up != nil {
			l.up.close(err)
			l.up = nil
		}
	}
}

func (r *remote) close(err error) {
	r.end(err)
	r.drop(err)
}
