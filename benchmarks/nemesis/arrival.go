//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// arrivals is a listener whose connections know when the kernel received what was read from
// them last. On a busy machine this process learns of it a tenth of a second later or more,
// which is no fault of the node that asked.
type arrivals struct{ net.Listener }

func (l arrivals) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &arrival{Conn: accepted}
	if c.raw, err = accepted.(*net.TCPConn).SyscallConn(); err != nil {
		return nil, err
	}
	var failed error
	err = c.raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
	})
	if failed != nil {
		err = fmt.Errorf("ask for times of arrival: %w", failed)
	}
	return c, err
}

// arrival is one of its connections.
type arrival struct {
	net.Conn
	raw  syscall.RawConn
	last time.Time // of reading, which one goroutine does at a time
}

// Read implements [net.Conn].
func (c *arrival) Read(p []byte) (n int, err error) {
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

type arrivalKey struct{}

// withArrival is for [http.Server.ConnContext].
func withArrival(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, arrivalKey{}, c)
}

// arrivedOf returns when the kernel received a request, now if it did not say.
func arrivedOf(ctx context.Context) time.Time {
	if c, ok := ctx.Value(arrivalKey{}).(*arrival); ok && !c.last.IsZero() {
		return c.last
	}
	return time.Now()
}
