package originaudit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"time"
)

// accept serves a host's connections until the host is closed.
func (o *Origin) accept(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// No descriptors are left: waiting clients may get one yet.
			select {
			case <-ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		if !o.add(conn) {
			_ = conn.Close() // came too late
			return
		}
		o.running.Go(func() {
			o.serve(ctx, conn)
			o.remove(conn)
		})
	}
}

func (o *Origin) add(conn net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.mu.closed {
		o.mu.conns[conn] = true
	}
	return !o.mu.closed
}

func (o *Origin) remove(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.mu.conns, conn)
	_ = conn.Close() // everything was sent, or the client has gone
}

// serve answers one request after the other on a connection.
func (o *Origin) serve(ctx context.Context, conn net.Conn) {
	reader := bufio.NewReaderSize(conn, maxHead)
	for reused := false; ; reused = true {
		e, err := readRequest(reader)
		if err != nil {
			return
		}
		e.Host, e.Reused = conn.LocalAddr().String(), reused
		answer := o.begin(e)
		answer.complete(time.Now())
		if !o.send(ctx, conn, reader, e, &answer) {
			return
		}
	}
}

// send answers a request, and reports whether the connection goes on.
func (o *Origin) send(ctx context.Context, conn net.Conn, reader *bufio.Reader, e *Exchange, a *Answer) bool {
	whole := a.bytes()
	said := func() { e.Said, e.Silent, e.Answered = a.Said, len(whole) == 0 && a.Send == nil, time.Now() }
	if a.Send == nil {
		// Noted before it is sent: once the last byte is there, the reader may act on it.
		o.note(said)
		_, err := conn.Write(whole)
		if tcp, ok := conn.(*net.TCPConn); ok && a.Reset {
			_ = tcp.SetLinger(0) // else it ends as others do
		}
		return err == nil && !a.ends() && !strings.EqualFold(e.Fields.Get("Connection"), "close")
	}
	ctx, leave := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = reader.Peek(1) // whatever comes, the reader no longer waits
		leave()
	}()
	if err := a.Send(ctx, conn, whole); err != nil {
		a.Said = Said{} // the reader did not wait for all of it
	}
	o.note(said)
	_ = conn.Close() // so that nothing can come any longer
	<-left
	return false
}

// maxHead is the largest head of a request, in bytes.
const maxHead = 16 << 10

var errBadRequest = errors.New("not a request that a reader would send")

// readRequest reads a head, however odd its fields: they are judged later. Nothing
// follows it, since readers send no bodies.
func readRequest(reader *bufio.Reader) (*Exchange, error) {
	line, err := readLine(reader)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return nil, errBadRequest
	}
	e := &Exchange{Method: parts[0], Target: parts[1], Proto: parts[2]}
	for read := len(line); ; {
		line, err := readLine(reader)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return e, nil
		}
		if read += len(line); read > maxHead {
			return nil, errBadRequest
		}
		name, value, _ := strings.Cut(line, ":")
		e.Fields = append(e.Fields, Field{name, strings.Trim(value, " \t")})
	}
}

func readLine(reader *bufio.Reader) (string, error) {
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return string(bytes.TrimRight(line, "\r\n")), nil
}
