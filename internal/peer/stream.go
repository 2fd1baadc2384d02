package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// StreamHandler serves a stream from another node, and returns when it is done with
// it. The context ends with the connection. The stream is closed after it.
type StreamHandler func(ctx context.Context, opened Call, stream net.Conn)

// session is the bulk lane's connection: streams over one connection, each with a
// window of its own, so that a slow one holds up no other.
type session struct {
	*yamux.Session
	once  sync.Once
	cause error
}

func sessionConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false // pings on the control lane find dead peers
	c.ConnectionWriteTimeout = writeWithin
	c.StreamOpenTimeout = dialWithin
	c.StreamCloseTimeout = writeWithin
	c.LogOutput = io.Discard
	return c
}

// prefixed is a connection of which something was read ahead.
type prefixed struct {
	net.Conn
	reader *bufio.Reader
}

func (p *prefixed) Read(b []byte) (int, error) { return p.reader.Read(b) }

// bulkOf is a connection for a session, which bounds its writes by itself: the bound of the
// hello's would end it.
func bulkOf(conn net.Conn, reader *bufio.Reader) (net.Conn, error) {
	return &prefixed{conn, reader}, conn.SetWriteDeadline(time.Time{})
}

func openSession(conn net.Conn, reader *bufio.Reader) (*session, error) {
	below, err := bulkOf(conn, reader)
	if err != nil {
		return nil, err
	}
	opened, err := yamux.Client(below, sessionConfig())
	if err != nil {
		return nil, err
	}
	return &session{Session: opened}, nil
}

func (s *session) done() <-chan struct{} { return s.CloseChan() }

func (s *session) close(err error) {
	s.once.Do(func() { s.cause = err })
	_ = s.Close() // its connection ends whatever it says
}

func (s *session) wait() { <-s.CloseChan() }

// Stream opens a stream to another node. Kind, group and payload choose and tell its
// handler, as in [Node.Call]; the errors are those too. The stream must be closed.
func (n *Node) Stream(ctx context.Context, to string, kind Kind, group uint64, payload []byte) (net.Conn, error) {
	if len(payload) > maxOpening {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrNotSent, len(payload), maxOpening)
	}
	r, err := n.remote(to)
	if err != nil {
		return nil, err
	}
	up, err := r.connected(ctx, bulk)
	if err != nil {
		return nil, err
	}
	s, ok := up.(*session)
	if !ok {
		return nil, fmt.Errorf("%w: lane %s has no streams", ErrNotSent, bulk)
	}
	stream, err := s.OpenStream()
	if err != nil {
		return nil, fmt.Errorf("%w to %s: %w", ErrNotSent, r.peer.Name, err)
	}
	if err := writeAll(stream, appendFrame(nil, frame{kind: kind, group: group, payload: payload})); err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("%w, to %s: %w", ErrLost, r.peer.Name, err)
	}
	return stream, stream.SetDeadline(time.Time{})
}

const (
	maxOpening = 64 << 10 // bytes of a stream's payload
	maxStreams = 256      // open ones of one connection
)

// serveStreams serves the streams of one connection until it ends.
func (n *Node) serveStreams(ctx context.Context, conn net.Conn, reader *bufio.Reader, from Identity) {
	below, err := bulkOf(conn, reader)
	if err != nil {
		return
	}
	opened, err := yamux.Server(below, sessionConfig())
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = opened.Close() })()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	room := make(chan struct{}, maxStreams)
	for {
		stream, err := opened.AcceptStream()
		if err != nil {
			return
		}
		select {
		case room <- struct{}{}:
		default:
			_ = stream.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			defer stream.Close()
			n.serveStream(ctx, stream, from)
		})
	}
}

func (n *Node) serveStream(ctx context.Context, stream net.Conn, from Identity) {
	if stream.SetReadDeadline(time.Now().Add(dialWithin)) != nil {
		return
	}
	reader := bufio.NewReader(stream)
	f, err := readFrame(reader, maxOpening)
	if err != nil || stream.SetReadDeadline(time.Time{}) != nil {
		if errors.Is(err, errFrame) {
			n.metrics.broken.Inc()
		}
		return
	}
	handler := n.streamHandlers[f.kind]
	if handler == nil || n.config.Admit(from) != nil {
		return
	}
	handler(ctx, Call{From: from, Group: f.group, Payload: f.payload}, &prefixed{stream, reader})
}
