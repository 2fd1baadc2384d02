package memnet

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestDialAcrossCut: an attempt to connect waits for either direction, as long as its
// context lets it.
func TestDialAcrossCut(t *testing.T) {
	for _, cut := range []pair{{"a", "b"}, {"b", "a"}} {
		synctest.Test(t, func(t *testing.T) {
			n := New(1)
			listener, err := n.Host("b").Listen("b:7")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			n.Cut(cut.from, cut.to)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if _, err := n.Host("a").Dial(ctx, "b:7"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
			time.AfterFunc(time.Minute, n.HealAll)
			began = time.Now()
			c, err := n.Host("a").Dial(t.Context(), "b:7")
			if err != nil || time.Since(began) != time.Minute {
				t.Fatalf("%v after %s", err, time.Since(began))
			}
			_ = c.Close()
		})
	}
}

func TestDialFails(t *testing.T) {
	n := New(1)
	n.Host("b")
	for address, want := range map[string]error{"b:7": syscall.ECONNREFUSED, "c:7": errNoHost} {
		if _, err := n.Host("a").Dial(t.Context(), address); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
	listener, err := n.Host("b").Listen(":7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Host("b").Listen("b:7"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second listener: %v", err)
	}
	if _, err := n.Host("b").Listen("a:8"); err == nil {
		t.Error("b listens as a")
	}
	c, err := n.Host("a").Dial(t.Context(), "b:7")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that was not accepted: %v", err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	again, err := n.Host("b").Listen(":7")
	if err != nil {
		t.Fatalf("the port of a closed listener: %v", err)
	}
	chosen, err := n.Host("b").Listen(":0")
	if err != nil || chosen.Addr().String() == "b:0" || again.Addr().String() != "b:7" {
		t.Errorf("listeners on %s and %s, %v", again.Addr(), chosen.Addr(), err)
	}
}
