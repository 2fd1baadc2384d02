package peer

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network of one listener, without a real connection.
type pipes struct {
	accepted chan net.Conn
	closed   context.Context
	close    func()
}

func newPipes() *pipes {
	p := &pipes{accepted: make(chan net.Conn)}
	p.closed, p.close = context.WithCancel(context.Background())
	return p
}

func (p *pipes) Dial(ctx context.Context, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accepted <- there:
		return here, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestStreamOutlivesHello: a stream may take longer than the first write of its connection.
func TestStreamOutlivesHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		node := func(name string) *Node {
			n, err := New(Config{Self: Identity{"c1", name, name + ".1"}, Network: network})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		a, b := node("a"), node("b")
		b.HandleStream(testStream, func(_ context.Context, _ Call, stream net.Conn) { _, _ = io.Copy(stream, stream) })
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := b.Serve(ctx, network); err != nil {
				t.Error(err)
			}
		})
		a.SetPeers([]Peer{{ID: "b.1", Name: "b", Address: "b"}})
		stream, err := a.Stream(ctx, "b.1", testStream, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(writeWithin / 2)
			sent, got := "still here", make([]byte, 10)
			if _, err := io.WriteString(stream, sent); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(stream, got); err != nil || string(got) != sent {
				t.Fatalf("%q, %v", got, err)
			}
		}
		stream.Close()
		a.Close()
		cancel()
		serving.Wait()
		b.Close()
	})
}
