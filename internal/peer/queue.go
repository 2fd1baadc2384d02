package peer

import (
	"context"
	"net"
	"sync"
	"time"
)

// outbox is the queue of frames that one connection has still to write. Frames that
// wait together are written together. It is bounded in bytes: put waits when it is
// full.
type outbox struct {
	most int

	mu struct {
		sync.Mutex
		frames [][]byte
		bytes  int
		err    error         // set once: nothing is written any more
		room   chan struct{} // closed and replaced when frames were taken, or at the end
	}
	ready chan struct{} // holds a token while there may be frames
}

func newOutbox(most int) *outbox {
	o := &outbox{most: most, ready: make(chan struct{}, 1)}
	o.mu.room = make(chan struct{})
	return o
}

// put queues an encoded frame. Its error says that the frame will not be written:
// the context's cause, or why the connection ended.
func (o *outbox) put(ctx context.Context, encoded []byte) error {
	for {
		room, err := o.tryPut(encoded)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryPut returns what to wait for when there is no room.
func (o *outbox) tryPut(encoded []byte) (room <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.err != nil:
		return nil, o.mu.err
	case o.mu.bytes > 0 && o.mu.bytes+len(encoded) > o.most:
		return o.mu.room, nil
	}
	o.mu.frames = append(o.mu.frames, encoded)
	o.mu.bytes += len(encoded)
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return nil, nil
}

// take returns all frames that wait; ended says that there will be no more.
func (o *outbox) take() (frames [][]byte, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	frames = o.mu.frames
	o.mu.frames, o.mu.bytes = nil, 0
	o.makeRoom()
	return frames, o.mu.err != nil
}

// Locked.
func (o *outbox) makeRoom() {
	close(o.mu.room)
	o.mu.room = make(chan struct{})
}

// end refuses frames from now on, and drops those that wait.
func (o *outbox) end(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.err != nil {
		return
	}
	o.mu.err, o.mu.frames, o.mu.bytes = err, nil, 0
	o.makeRoom()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

const (
	// writeWithin bounds one write to a connection: a peer that reads nothing for as
	// long is of no use.
	writeWithin = 10 * time.Second
	writeBuffer = 64 << 10
)

// write writes frames to a connection until end is called or a write fails, which
// it returns. Small frames share a write, and with it a record of TLS.
func (o *outbox) write(c net.Conn) error {
	buffer := make([]byte, 0, writeBuffer)
	flush := func() error {
		if len(buffer) == 0 {
			return nil
		}
		err := writeAll(c, buffer)
		buffer = buffer[:0]
		return err
	}
	for range o.ready {
		frames, ended := o.take()
		if ended {
			return nil
		}
		for _, encoded := range frames {
			if len(buffer)+len(encoded) > cap(buffer) {
				if err := flush(); err != nil {
					return err
				}
			}
			if len(encoded) > cap(buffer) {
				if err := writeAll(c, encoded); err != nil {
					return err
				}
				continue
			}
			buffer = append(buffer, encoded...)
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

func writeAll(c net.Conn, b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}
