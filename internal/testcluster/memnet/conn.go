package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection. It implements [net.Conn].
type conn struct {
	network       *Network
	other         *conn
	local, remote Addr
	in, out       *flow
	writing       chan struct{} // holds a token while no Write is under way
	closed        chan struct{}
	closing       sync.Once
	reads, writes deadline
}

// connect makes both ends of a connection. Its flows draw their jitter from the
// network's seed and the connection's number.
func (n *Network) connect(dialler, acceptor Addr) (*conn, *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.made++
	there, back := n.link(pair{dialler.host, acceptor.host}), n.link(pair{acceptor.host, dialler.host})
	request := newFlow(there, back, seeded(n.seed, 2*n.mu.made))
	answer := newFlow(back, there, seeded(n.seed, 2*n.mu.made+1))
	d := newConn(n, dialler, acceptor, answer, request)
	a := newConn(n, acceptor, dialler, request, answer)
	d.other, a.other = a, d
	n.mu.conns[d], n.mu.conns[a] = true, true
	return d, a
}

func newConn(n *Network, local, remote Addr, in, out *flow) *conn {
	c := &conn{network: n, local: local, remote: remote, in: in, out: out, writing: make(chan struct{}, 1), closed: make(chan struct{})}
	c.writing <- struct{}{}
	c.reads.passed, c.writes.passed = make(chan struct{}), make(chan struct{})
	return c
}

// forget drops a connection of which both ends are closed.
func (n *Network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if isClosed(c.other.closed) {
		delete(n.mu.conns, c)
		delete(n.mu.conns, c.other)
	}
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	for {
		deadline := c.reads.wait()
		if err := c.check(deadline); err != nil {
			return 0, c.wrap("read", err)
		}
		n, w, err := c.in.read(p)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if err != nil {
			return 0, c.wrap("read", err)
		}
		c.rest(deadline, w.due, w.changed, nil)
	}
}

// Write implements [net.Conn]. It returns when all of p is on its way, within the
// window.
func (c *conn) Write(p []byte) (written int, err error) {
	for begun := false; !begun; {
		deadline := c.writes.wait()
		if err := c.check(deadline); err != nil {
			return 0, c.wrap("write", err)
		}
		select {
		case <-c.writing:
			begun = true
		case <-c.closed:
		case <-deadline:
		}
	}
	defer func() { c.writing <- struct{}{} }()
	for {
		n, err := c.writeSome(p)
		written += n
		if err != nil {
			return written, c.wrap("write", err)
		}
		if p = p[n:]; len(p) == 0 {
			return written, nil
		}
	}
}

// writeSome writes some of p, or waits until more may be possible.
func (c *conn) writeSome(p []byte) (int, error) {
	deadline := c.writes.wait()
	if err := c.check(deadline); err != nil {
		return 0, err
	}
	gone, w := c.in.ended()
	if gone {
		return 0, syscall.EPIPE
	}
	n, changed, err := c.out.write(p)
	if n == 0 && err == nil && len(p) > 0 {
		c.rest(deadline, w.due, w.changed, changed)
	}
	return n, err
}

// check says whether the connection is closed, or the deadline has passed.
func (c *conn) check(deadline <-chan struct{}) error {
	switch {
	case isClosed(c.closed):
		return net.ErrClosed
	case isClosed(deadline):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// rest waits for one of two changes, for the due time unless it is zero, for the deadline
// and for the connection's end.
func (c *conn) rest(deadline <-chan struct{}, due time.Time, changed, changedToo <-chan struct{}) {
	var timer <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-changed:
	case <-changedToo:
	case <-timer:
	case <-deadline:
	case <-c.closed:
	}
}

func (c *conn) wrap(op string, err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}

// Close implements [net.Conn]: the other end reads what was written, and then the end.
func (c *conn) Close() error {
	err := c.wrap("close", net.ErrClosed)
	c.closing.Do(func() {
		close(c.closed)
		c.out.finish()
		c.in.drop()
		c.network.forget(c)
		err = nil
	})
	return err
}

// LocalAddr implements [net.Conn].
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.reads, t) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writes, t) }

func (c *conn) setDeadline(d *deadline, t time.Time) error {
	if isClosed(c.closed) {
		return c.wrap("set", net.ErrClosed)
	}
	d.set(t)
	return nil
}

// deadline is a channel that is closed when a time has passed, which may be set again.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{} // replaced when a deadline that has passed is moved
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.passed // the timer's function has begun, and closes it
	}
	d.timer = nil
	left := time.Until(t)
	switch passed := isClosed(d.passed); {
	case !t.IsZero() && left <= 0:
		if !passed {
			close(d.passed)
		}
		return
	case passed:
		d.passed = make(chan struct{})
	}
	if !t.IsZero() {
		closing := d.passed
		d.timer = time.AfterFunc(left, func() { close(closing) })
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
