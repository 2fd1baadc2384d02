package peer

import (
	"context"
	"net"
	"time"
)

// Impatient is a stream that gives up on another end that neither reads nor writes, and
// when its context ends.
type Impatient struct {
	net.Conn
	Ctx    context.Context
	Within time.Duration // how long one read or write may take
}

// EndWith has what is under way fail when the context ends, until stop is called.
func (i Impatient) EndWith() (stop func() bool) {
	return context.AfterFunc(i.Ctx, func() { _ = i.SetDeadline(time.Unix(1, 0)) })
}

func (i Impatient) Write(b []byte) (int, error) {
	if err := i.wait(i.SetWriteDeadline); err != nil {
		return 0, err
	}
	return i.Conn.Write(b)
}

func (i Impatient) Read(b []byte) (int, error) {
	if err := i.wait(i.SetReadDeadline); err != nil {
		return 0, err
	}
	return i.Conn.Read(b)
}

// wait sets a deadline, unless the context has ended: if it ends later, EndWith's comes
// last.
func (i Impatient) wait(set func(time.Time) error) error {
	if err := set(time.Now().Add(i.Within)); err != nil {
		return err
	}
	return context.Cause(i.Ctx)
}
