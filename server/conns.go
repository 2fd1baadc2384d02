package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// conns bounds the open connections of a server: net/http takes some 18 KiB for
// each, whatever its client does. For one connection too many the oldest is
// closed of those that wait for their client: to send a request, the rest of its
// body, or to read an answer. A client that is slow makes room for one that is
// not, however many slow ones there are.
type conns struct {
	most    int
	metrics *metrics

	mu struct {
		sync.Mutex
		open    int
		waiting *list.List // of waiting, the oldest first
		places  map[net.Conn]*list.Element
	}
}

// waiting is a connection that waits for its client.
type waiting struct {
	conn  net.Conn
	since time.Time
}

func newConns(most int, metrics *metrics) *conns {
	c := &conns{most: most, metrics: metrics}
	c.mu.waiting = list.New()
	c.mu.places = make(map[net.Conn]*list.Element)
	return c
}

// state is the server's [http.Server.ConnState]. A connection is new or idle
// until the header of a request has been read whole.
func (c *conns) state(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		c.waits(conn)
	default:
		c.works(conn)
	}
}

// waits notes that a connection waits for its client from now on, and reports
// whether it did not before.
func (c *conns) waits(conn net.Conn) (begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waits := c.mu.places[conn]; waits {
		return false
	}
	c.mu.places[conn] = c.mu.waiting.PushBack(waiting{conn, time.Now()})
	return true
}

// works notes that it is not for its client to do something, or that it is closed.
func (c *conns) works(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, waits := c.mu.places[conn]; waits {
		c.mu.waiting.Remove(place)
		delete(c.mu.places, conn)
	}
}

// evict closes a connection that has waited for its client for some time, and
// reports whether it has.
func (c *conns) evict(conn net.Conn, least time.Duration) bool {
	c.mu.Lock()
	place, waits := c.mu.places[conn]
	long := waits && time.Since(place.Value.(waiting).since) >= least
	if long {
		c.mu.waiting.Remove(place)
		delete(c.mu.places, conn)
	}
	c.mu.Unlock()
	if long {
		c.metrics.connsEvicted.Inc()
		conn.Close()
	}
	return long
}

// admit makes room for a connection and reports whether there is any.
func (c *conns) admit() bool {
	for {
		oldest, ok := c.enter()
		if ok || oldest == nil {
			return ok
		}
		c.metrics.connsEvicted.Inc()
		oldest.Close() // and so leaves
	}
}

// enter takes a place if there is one, or else returns the connection to close.
func (c *conns) enter() (oldest net.Conn, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.open < c.most {
		c.mu.open++
		c.metrics.conns.Inc()
		return nil, true
	}
	front := c.mu.waiting.Front()
	if front == nil {
		return nil, false
	}
	oldest = c.mu.waiting.Remove(front).(waiting).conn
	delete(c.mu.places, oldest)
	return oldest, false
}

func (c *conns) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.open--
	c.metrics.conns.Dec()
}

// limitListener admits connections.
type limitListener struct {
	net.Listener
	conns *conns
}

// Accept returns the next connection that there is room for.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.conns.admit() {
			return &limitedConn{Conn: conn, conns: l.conns, leave: sync.OnceFunc(l.conns.leave)}, nil
		}
		l.conns.metrics.connsRefused.Inc()
		conn.Close()
	}
}

type limitedConn struct {
	net.Conn
	conns   *conns
	leave   func()
	framing framing
}

// Read shows what it reads to framing.
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.framing.feed(p[:n])
	return n, err
}

// Write waits for a client that does not read.
func (c *limitedConn) Write(p []byte) (int, error) {
	if c.conns.waits(c) { // else it waits for more than this write
		defer c.conns.works(c)
	}
	return c.Conn.Write(p)
}

// CloseWrite says that no more answers come. net/http does so before it closes a
// connection with bytes unread, so that the client can read its answer.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close may be called more than once. The connection leaves first: a client that connects
// again as soon as it sees the end finds room.
func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
