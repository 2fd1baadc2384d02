package peer

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
)

// Call is a request from another node. Its payload is the handler's own.
type Call struct {
	From    Identity
	Group   uint64
	Payload []byte
}

const maxErrorText = 1 << 10 // bytes of an error that goes back

var errTooLong = errors.New("reply is longer than its lane takes")

// Handler carries out a call. The context ends with the caller's patience, or with
// the connection. The error goes back as a [*RemoteError], by its text: what callers
// branch on belongs into the reply.
type Handler func(ctx context.Context, call Call) (reply []byte, err error)

// server is the acceptor's end of a connection in one lane: it reads calls and
// answers them, each in a goroutine of its own.
type server struct {
	conn    net.Conn
	remote  Identity
	limits  limits
	handler func(from Identity, kind Kind) Handler
	out     *outbox
}

// run serves the connection until it fails, the remote closes it or ctx ends, and
// returns when all its handlers have.
func (s *server) run(ctx context.Context, r *bufio.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })() // the reads below end so
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		if s.out.write(s.conn) != nil {
			cancel()
		}
	})
	err := s.read(ctx, r, &all)
	s.out.end(net.ErrClosed)
	return err
}

func (s *server) read(ctx context.Context, r *bufio.Reader, all *sync.WaitGroup) error {
	room := make(chan struct{}, s.limits.calls)
	for {
		f, err := readFrame(r, s.limits.payload)
		if err != nil {
			return err
		}
		handler := s.handler(s.remote, f.kind)
		if handler == nil || f.role != roleCall {
			if err := s.answer(ctx, frame{kind: f.kind, role: roleNone, group: f.group, call: f.call}); err != nil {
				return err
			}
			continue
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		all.Go(func() {
			s.serve(ctx, handler, f)
			<-room
		})
	}
}

func (s *server) serve(ctx context.Context, handler Handler, f frame) {
	limited, cancel := context.WithTimeout(ctx, min(f.limit, longestCall))
	defer cancel()
	payload, err := handler(limited, Call{From: s.remote, Group: f.group, Payload: f.payload})
	if ctx.Err() != nil {
		return // what the handler says now is that it was cut off: for its caller the outcome is unknown
	}
	answer := frame{kind: f.kind, role: roleReply, group: f.group, call: f.call, payload: payload}
	if err == nil && len(payload) > s.limits.payload {
		err = errTooLong
	}
	if err != nil {
		text := err.Error()
		answer.role, answer.payload = roleError, []byte(text[:min(len(text), maxErrorText)])
	}
	_ = s.answer(ctx, answer) // a connection that ended tells its caller enough
}

func (s *server) answer(ctx context.Context, f frame) error {
	return s.out.put(ctx, appendFrame(nil, f))
}
