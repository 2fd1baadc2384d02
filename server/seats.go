package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// patience is how long a request may wait for its client before it makes room
// for another of its kind. It is longer than a node takes to answer a call, so
// that a batch whose client waits for an answer is not taken for a slow one.
const patience = 5 * time.Second

// seats bound how many requests of a kind that lasts are under way. For one too
// many the first makes room whose client is slow: to send the next line of a
// batch, or to read. It is safe for concurrent use.
type seats struct {
	most int
	mu   struct {
		sync.Mutex
		taken *list.List // of client, in the order of their coming
	}
}

func newSeats(most int) *seats {
	s := &seats{most: most}
	s.mu.taken = list.New()
	return s
}

// take reports whether there is a seat for a request; then it must leave it.
func (s *seats) take(r *http.Request) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.taken.Len() >= s.most && !s.makeRoom() {
		return nil, false
	}
	place := s.mu.taken.PushBack(clientOf(r))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.taken.Remove(place) // a request that made room has left already
	}, true
}

// makeRoom is called under the lock.
func (s *seats) makeRoom() bool {
	for place := s.mu.taken.Front(); place != nil; place = place.Next() {
		if c := place.Value.(client); c.conns != nil && c.conns.evict(c.conn, patience) {
			s.mu.taken.Remove(place)
			return true
		}
	}
	return false
}

// client is the connection that a request came over; zero when the Server is the
// handler of another [http.Server].
type client struct {
	conns *conns
	conn  net.Conn
}

type clientKey struct{}

// connContext is the server's [http.Server.ConnContext]: it lets handlers know
// their connection.
func (c *conns) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, client{c, conn})
}

func clientOf(r *http.Request) client {
	c, _ := r.Context().Value(clientKey{}).(client)
	return c
}

// waitForClient notes that the handler of a request waits for its client until
// over is called.
func waitForClient(r *http.Request) (over func()) {
	c := clientOf(r)
	if c.conns == nil {
		return func() {}
	}
	c.conns.waits(c.conn)
	return func() { c.conns.works(c.conn) }
}
