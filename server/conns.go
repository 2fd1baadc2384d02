package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// conns bounds the open connections of a server: net/http takes some 18 KiB for
// each, whatever its client does. For one connection too many the oldest is
// closed of those that have no request under way: a client that is slow to ask
// makes room for one that asks, however many slow ones there are.
type conns struct {
	most    int
	metrics *metrics

	mu struct {
		sync.Mutex
		open    int
		waiting *list.List // of net.Conn without a request under way, the oldest first
		places  map[net.Conn]*list.Element
	}
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
	c.mu.Lock()
	defer c.mu.Unlock()
	place, waits := c.mu.places[conn]
	switch {
	case (state == http.StateNew || state == http.StateIdle) && !waits:
		c.mu.places[conn] = c.mu.waiting.PushBack(conn)
	case state == http.StateActive && waits, state == http.StateClosed && waits, state == http.StateHijacked && waits:
		c.mu.waiting.Remove(place)
		delete(c.mu.places, conn)
	}
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

// enter takes a place if there is one, or else names who is to go.
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
	oldest = c.mu.waiting.Remove(front).(net.Conn)
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
			return &limitedConn{Conn: conn, leave: sync.OnceFunc(l.conns.leave)}, nil
		}
		l.conns.metrics.connsRefused.Inc()
		conn.Close()
	}
}

type limitedConn struct {
	net.Conn
	leave func()
}

// Close may be called more than once.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
