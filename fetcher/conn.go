package fetcher

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// conn is a connection to an origin, through many exchanges. At any time one
// fetch uses it, or it is idle in the pool.
type conn struct {
	net       net.Conn
	host      *host
	received  int64     // bytes of the exchange under way
	probe     probe     // of the TCP connection
	watch     watch     // of the context of the exchange under way
	idleSince time.Time // this and what follows is the pool's

	before, after *conn
}

// newConn wraps a connection; tcp is what lies under it, the same without TLS.
func newConn(c, tcp net.Conn) *conn {
	made := &conn{net: c}
	made.probe.init(tcp)
	return made
}

// begin puts the connection to work: until end, the deadline or ctx's
// cancellation makes every read and write fail.
func (c *conn) begin(ctx context.Context, deadline time.Time) error {
	c.received = 0
	if err := c.net.SetDeadline(deadline); err != nil {
		return err
	}
	c.watch.begin(ctx, c.net)
	return ctx.Err()
}

// end is begin's counterpart.
func (c *conn) end() { c.watch.end() }

// cut makes what is being read or written fail at once.
func (c *conn) cut() { c.watch.cut(c.net) }

// Read counts what is received.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.net.Read(p)
	c.received += int64(n)
	return n, err
}

func (c *conn) close() {
	c.watch.stop()
	// The exchange's own error says more than what closing could add.
	_ = c.net.Close()
}

// watch interrupts a connection when the context of the exchange that it carries
// is cancelled. The registration with the context outlives the exchange, so that a
// poller whose fetches all come with one context does not pay for it each time.
type watch struct {
	mu         sync.Mutex
	active     bool            // an exchange is under way
	done       <-chan struct{} // of the context that is registered
	unregister func() bool     // nil when none is
}

// past is a deadline that makes pending reads and writes fail at once.
var past = time.Unix(1, 0)

func (w *watch) begin(ctx context.Context, c net.Conn) {
	done := ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = true
	if done == w.done {
		return
	}
	w.drop()
	if done == nil {
		return
	}
	w.done = done
	w.unregister = context.AfterFunc(ctx, func() { w.interrupt(c, done) })
}

// interrupt runs when the context of done is cancelled, which may be long after
// the exchange that it belonged to.
func (w *watch) interrupt(c net.Conn, done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.done == done {
		// It can only fail when the connection has ended already.
		_ = c.SetDeadline(past)
	}
}

// cut interrupts the exchange that is under way, if one is.
func (w *watch) cut(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active {
		_ = c.SetDeadline(past) // as in interrupt
	}
}

func (w *watch) end() {
	w.mu.Lock()
	w.active = false
	w.mu.Unlock()
}

func (w *watch) stop() {
	w.mu.Lock()
	w.active = false
	w.drop()
	w.mu.Unlock()
}

func (w *watch) drop() {
	if w.unregister != nil {
		w.unregister()
	}
	w.done, w.unregister = nil, nil
}

// probe asks the kernel whether anything has arrived on an idle connection: its
// end, or bytes that belong to no response. Either way it cannot carry another
// exchange: late bytes of a body that was not to be there would be read as the next
// response, possibly of another channel.
type probe struct {
	raw   syscall.RawConn // nil: the connection is not the kernel's
	read  func(fd uintptr) bool
	quiet bool
}

func (p *probe) init(c net.Conn) {
	kernel, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := kernel.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	var one [1]byte
	p.read = func(fd uintptr) bool {
		p.quiet = nothingToRead(fd, one[:])
		return true
	}
}

// silent reports that nothing has arrived. It consumes a byte when something has.
func (p *probe) silent() bool {
	if p.raw == nil {
		return true
	}
	p.quiet = false
	return p.raw.Read(p.read) == nil && p.quiet
}
