//go:build linux

// Package arrival notes when nodes ask origins, by when the kernel received it: on a busy
// machine a process learns of a request a tenth of a second later or more, which is no
// fault of the node that asked.
package arrival

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is a listener of TCP whose connections know when the kernel received what was
// read from them last.
type Listener struct{ net.Listener }

// Listen listens at an address of TCP over IPv4.
func Listen(ctx context.Context, address string) (Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		return Listener{}, err
	}
	// Connections inherit this: set on them alone, it would come too late for what arrives
	// before they are accepted.
	if _, err := stamped(l.(*net.TCPListener)); err != nil {
		return Listener{}, errors.Join(err, l.Close())
	}
	return Listener{l}, nil
}

// Accept implements [net.Listener].
func (l Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted}
	c.raw, err = stamped(accepted.(*net.TCPConn))
	return c, err
}

// stamped has the kernel note when a socket receives something.
func stamped(socket syscall.Conn) (raw syscall.RawConn, err error) {
	if raw, err = socket.SyscallConn(); err != nil {
		return nil, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
	})
	if failed != nil {
		err = fmt.Errorf("ask for times of arrival: %w", failed)
	}
	return raw, err
}

// conn is one of its connections.
type conn struct {
	net.Conn
	raw  syscall.RawConn
	last time.Time // of reading, which one goroutine does at a time
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (n int, err error) {
	var control [128]byte
	size := 0
	if waited := c.raw.Read(func(fd uintptr) bool {
		n, size, _, _, err = unix.Recvmsg(int(fd), p, control[:], 0)
		return err != unix.EAGAIN
	}); waited != nil {
		return 0, waited
	}
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	if at, ok := arrivedAt(control[:size]); ok {
		c.last = at
	}
	return n, nil
}

// arrivedAt reads the kernel's time of arrival from control messages.
func arrivedAt(control []byte) (at time.Time, ok bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return at, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPING && len(m.Data) >= 16 {
			seconds, nanos := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			return time.Unix(int64(seconds), int64(nanos)), seconds != 0
		}
	}
	return at, false
}

type connKey struct{}

// WithConn is for [http.Server.ConnContext] of a server on a [Listener].
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Of returns when the kernel received a request, by its context; now if it did not say.
func Of(ctx context.Context) time.Time {
	if c, ok := ctx.Value(connKey{}).(*conn); ok && !c.last.IsZero() {
		return c.last
	}
	return time.Now()
}
