package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The ways in which a call fails. What is not sent has certainly not been carried
// out; of what is lost the outcome is unknown.
var (
	ErrNotSent = errors.New("call was not sent")
	ErrLost    = errors.New("call was sent, its outcome is unknown")
)

// RemoteError is the error that the other node's handler returned.
type RemoteError struct{ Text string }

func (e *RemoteError) Error() string { return e.Text }

// caller is the dialler's end of a connection in one lane: it sends calls and pairs
// the answers with them.
type caller struct {
	conn   net.Conn
	remote Identity
	limits limits
	out    *outbox
	ended  chan struct{} // closed when the connection is of no use any more

	mu struct {
		sync.Mutex
		last  uint64
		calls map[uint64]chan frame
		err   error // why it ended
	}
}

func newCaller(conn net.Conn, remote Identity, l limits) *caller {
	c := &caller{conn: conn, remote: remote, limits: l, out: newOutbox(l.queued), ended: make(chan struct{})}
	c.mu.calls = make(map[uint64]chan frame)
	return c
}

// run serves the connection until it fails or is closed.
func (c *caller) run(r *bufio.Reader) {
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := c.out.write(c.conn); err != nil {
			c.close(err)
		}
	})
	c.close(c.read(r))
	writing.Wait()
}

func (c *caller) read(r *bufio.Reader) error {
	for {
		f, err := readFrame(r, c.limits.payload)
		if err != nil {
			return err
		}
		c.mu.Lock()
		answer := c.mu.calls[f.call]
		delete(c.mu.calls, f.call)
		c.mu.Unlock()
		if answer != nil { // else its caller has gone
			answer <- f
		}
	}
}

// close ends the connection; calls under way are lost.
func (c *caller) close(err error) {
	c.mu.Lock()
	first := c.mu.err == nil
	if first {
		c.mu.err = err
	}
	c.mu.Unlock()
	if !first {
		return
	}
	_ = c.conn.Close() // what it would say, err has said
	c.out.end(err)
	close(c.ended)
}

func (c *caller) closedBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.err
}

// call sends a request and waits for its answer, until the context ends.
func (c *caller) call(ctx context.Context, kind Kind, group uint64, payload []byte) ([]byte, error) {
	if len(payload) > c.limits.payload {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrNotSent, len(payload), c.limits.payload)
	}
	f := frame{kind: kind, group: group, limit: callLimit(ctx), payload: payload}
	answer := make(chan frame, 1)
	c.mu.Lock()
	c.mu.last++
	f.call = c.mu.last
	c.mu.calls[f.call] = answer
	c.mu.Unlock()
	if err := c.out.put(ctx, appendFrame(nil, f)); err != nil {
		c.forget(f.call)
		return nil, fmt.Errorf("%w to %s: %w", ErrNotSent, c.remote, err)
	}
	select {
	case f := <-answer:
		return c.answered(f)
	case <-ctx.Done():
		c.forget(f.call)
		return nil, fmt.Errorf("%w, to %s: %w", ErrLost, c.remote, context.Cause(ctx))
	case <-c.ended:
		select {
		case f := <-answer: // it came just before
			return c.answered(f)
		default:
			return nil, fmt.Errorf("%w, to %s: %w", ErrLost, c.remote, c.closedBy())
		}
	}
}

func (c *caller) answered(f frame) ([]byte, error) {
	switch f.role {
	case roleReply:
		return f.payload, nil
	case roleError:
		return nil, &RemoteError{string(f.payload)}
	case roleNone:
		return nil, fmt.Errorf("%w: node %s does not serve calls of kind %d", ErrNotSent, c.remote, f.kind)
	}
	return nil, fmt.Errorf("%w, to %s: answered by a frame of role %d", ErrLost, c.remote, f.role)
}

func (c *caller) forget(call uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.calls, call)
}

// longestCall is the limit of a call whose context has none.
const longestCall = 30 * time.Second

func callLimit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return longestCall
	}
	return min(time.Until(deadline), longestCall)
}
