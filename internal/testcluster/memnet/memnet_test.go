package memnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connected returns both ends of a connection from host a to host b.
func connected(t *testing.T, n *Network) (a, b net.Conn) {
	t.Helper()
	listener, err := n.Host("b").Listen("b:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if a, err = n.Host("a").Dial(t.Context(), listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// TestConn holds connections to what every net.Conn promises.
func TestConn(t *testing.T) {
	for name, link := range map[string]Link{"at once": {}, "far": {Latency: 100 * time.Microsecond, Jitter: 100 * time.Microsecond}} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				n := New(1)
				n.SetLinks(link)
				a, b := connected(t, n)
				return a, b, n.Close, nil
			})
		})
	}
}

// noise returns bytes that a seed draws.
func noise(seed uint64, length int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// send writes bytes in pieces and closes the connection.
func send(t *testing.T, c net.Conn, content []byte, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for len(content) > 0 {
		n := min(len(content), 1+random.IntN(40_000))
		if _, err := c.Write(content[:n]); err != nil {
			t.Error(err)
			return
		}
		content = content[n:]
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestIntegrity: whatever jitter, bandwidth and cuts there are, what is read is what was
// written, in both directions, and then the end.
func TestIntegrity(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			n := New(seed)
			n.SetLinks(Link{Latency: 20 * time.Millisecond, Jitter: 50 * time.Millisecond, Bandwidth: 1 << 20})
			a, b := connected(t, n)
			there, back := noise(seed, 1_000_000), noise(seed+100, 300_000)
			var all sync.WaitGroup
			receive := func(c net.Conn, want []byte) {
				got, err := io.ReadAll(io.LimitReader(c, int64(len(want))))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes arrived, not as the %d that were sent: %v", len(got), len(want), err)
				}
			}
			all.Go(func() {
				if _, err := b.Write(back); err != nil {
					t.Error(err)
				}
				receive(b, there)
				if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("at the end: %d bytes, %v", n, err)
				}
			})
			all.Go(func() {
				receive(a, back)
				send(t, a, there, seed)
			})
			random := rand.New(rand.NewPCG(seed, 2))
			for range 5 {
				fault := Draw(random, []string{"a", "b"}, Cut, Split, Slow)
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				fault.Begin(n)
				time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
				fault.End(n)
			}
			all.Wait()
		})
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		n.SetLinks(Link{Latency: 30 * time.Millisecond})
		n.SetLink("b", "a", Link{Latency: 70 * time.Millisecond, Bandwidth: 1000})
		began := time.Now()
		a, b := connected(t, n)
		check := func(what string, want time.Duration) {
			t.Helper()
			if took := time.Since(began); took != want {
				t.Errorf("%s took %s, want %s", what, took, want)
			}
			began = time.Now()
		}
		check("the handshake", 100*time.Millisecond)
		exchange(t, a, b)
		check("a small message", 30*time.Millisecond)
		if _, err := b.Write(make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		check("writing", 0)
		if _, err := io.ReadFull(a, make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		check("1000 bytes at 1000 bytes a second", 1070*time.Millisecond)
		n.SetLinks(Link{Latency: time.Second})
		exchange(t, b, a)
		check("a small message over slower links", time.Second)
	})
}

// exchange sends a message from one end to the other.
func exchange(t *testing.T, from, to net.Conn) {
	t.Helper()
	if _, err := io.WriteString(from, "hello"); err != nil {
		t.Error(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(to, got); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestOneWayCut: a hears b, and b does not hear a; what a sends arrives once the cut is
// healed, and meanwhile a may write a window.
func TestOneWayCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		n.SetLinks(Link{Latency: 10 * time.Millisecond})
		a, b := connected(t, n)
		exchange(t, a, b)
		if _, err := io.WriteString(a, "early"); err != nil { // on its way when the cut comes
			t.Error(err)
		}
		n.Cut("a", "b")
		exchange(t, b, a)
		if err := b.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		if got, err := b.Read(make([]byte, 5)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes across the cut, %v", got, err)
		}
		content := noise(1, window)
		var writing sync.WaitGroup
		written := 0
		writing.Go(func() {
			var err error
			if written, err = a.Write(content); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if written != 0 {
			t.Error("more than a window was written")
		}
		n.Heal("a", "b")
		if err := b.SetReadDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		began := time.Now()
		got := make([]byte, 5+window)
		if _, err := b.Read(got[:1]); err != nil || time.Since(began) != 10*time.Millisecond {
			t.Errorf("what was held back took %s, %v", time.Since(began), err)
		}
		if _, err := io.ReadFull(b, got[1:]); err != nil || !bytes.Equal(got, append([]byte("early"), content...)) {
			t.Errorf("after the cut other bytes arrived, %v", err)
		}
		writing.Wait()
	})
}

// TestNoAcknowledgements: with the way back cut bytes arrive, but the writer gets no
// further than a window, and goes on once the cut is healed.
func TestNoAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := connected(t, n)
		n.Cut("b", "a")
		var writing sync.WaitGroup
		writing.Go(func() {
			if _, err := a.Write(make([]byte, 2*window)); err != nil {
				t.Error(err)
			}
		})
		if _, err := io.ReadFull(b, make([]byte, window)); err != nil {
			t.Error(err)
		}
		if err := b.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		if got, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes beyond the window, %v", got, err)
		}
		n.Heal("b", "a")
		if err := b.SetReadDeadline(time.Time{}); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(b, make([]byte, window)); err != nil {
			t.Error(err)
		}
		writing.Wait()
	})
}

// TestHealWakes: a read that waits during a cut gets what was held back.
func TestHealWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := connected(t, n)
		n.Cut("a", "b")
		time.AfterFunc(time.Minute, func() { n.Heal("a", "b") })
		began := time.Now()
		exchange(t, a, b)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("what was sent during a cut of a minute took %s", took)
		}
	})
}

// TestHealTwice: acknowledgements that were held back count once.
func TestHealTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := connected(t, n)
		n.Cut("b", "a")
		exchange(t, a, b)
		n.Heal("b", "a")
		n.Heal("b", "a")
		if err := a.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Error(err)
		}
		if written, err := a.Write(make([]byte, window+1)); written != window || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes were written ahead, %v; want %d", written, err, window)
		}
	})
}

// TestArrivedBeforeCut: what has arrived can be read during a cut.
func TestArrivedBeforeCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := connected(t, n)
		if _, err := io.WriteString(a, "hello"); err != nil {
			t.Error(err)
		}
		n.Partition([]string{"a"}, []string{"b"})
		if _, err := io.ReadFull(b, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	})
}

// TestClose: the other end reads what was written, then the end, and can write no more;
// across a cut it learns of nothing.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		n.SetLinks(Link{Latency: 10 * time.Millisecond})
		a, b := connected(t, n)
		n.Cut("a", "b")
		if _, err := io.WriteString(a, "last"); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed again: %v", err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after Close: %v", err)
		}
		if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after Close: %v", err)
		}
		if _, err := b.Write([]byte("x")); err != nil {
			t.Errorf("b knows of what it cannot: %v", err)
		}
		stuck := make(chan error)
		go func() {
			_, err := b.Write(make([]byte, window))
			stuck <- err
		}()
		synctest.Wait()
		n.Heal("a", "b")
		if err := <-stuck; !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a write that waited: %v", err)
		}
		if got, err := io.ReadAll(b); err != nil || string(got) != "last" {
			t.Errorf("read %q, %v", got, err)
		}
		if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write to a closed connection: %v", err)
		}
		_ = b.Close()
		if len(n.mu.conns) != 0 {
			t.Error("a connection is kept that is closed at both ends")
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := connected(t, n)
		if _, err := io.WriteString(a, "unread"); err != nil {
			t.Error(err)
		}
		n.Partition([]string{"a"}, []string{"b"})
		listener, err := n.Host("c").Listen(":7")
		if err != nil {
			t.Fatal(err)
		}
		other, err := n.Host("a").Dial(t.Context(), "c:7")
		if err != nil {
			t.Fatal(err)
		}
		if n.Reset("b", "c") != 0 || n.Reset("b", "a") != 1 {
			t.Error("other connections than the one were reset")
		}
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, other, accepted)
		for _, c := range []net.Conn{a, b} {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v", err)
			}
			if _, err := c.Write(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("write: %v", err)
			}
		}
		n.HealAll()
		connected(t, n)
		if n.ResetHost("b") != 2 { // the first one is not closed yet
			t.Error("not all connections of b were reset")
		}
		exchange(t, accepted, other)
		n.Close()
		if _, err := other.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after the network's end: %v", err)
		}
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a listener after the network's end: %v", err)
		}
	})
}

// TestPartition: hosts of one side reach each other and hosts of no side; those of
// different sides do not.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		names := []string{"a", "b", "c", "d"}
		for _, name := range names {
			listener, err := n.Host(name).Listen(":7")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
		}
		reach := func(from, to string) bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			c, err := n.Host(from).Dial(ctx, to+":7")
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		}
		sides := [][]string{{"a", "b"}, {"c"}}
		apart := map[pair]bool{{"a", "c"}: true, {"b", "c"}: true, {"c", "a"}: true, {"c", "b"}: true}
		n.Partition(sides...)
		for _, from := range names {
			for _, to := range names {
				if got := reach(from, to); got == apart[pair{from, to}] {
					t.Errorf("%s reaches %s: %v", from, to, got)
				}
			}
		}
		n.Join(sides...)
		if !reach("a", "c") || !reach("c", "b") {
			t.Error("sides that were joined do not reach each other")
		}
	})
}

// TestSeed: one seed draws the same jitter, another one another.
func TestSeed(t *testing.T) {
	arrivals := func(seed uint64) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			n := New(seed)
			n.SetLinks(Link{Jitter: time.Second})
			a, b := connected(t, n)
			began := time.Now()
			for range 20 {
				exchange(t, a, b)
				all = append(all, time.Since(began))
			}
			a, b = connected(t, n)
			for range 20 {
				exchange(t, a, b)
				all = append(all, time.Since(began))
			}
		})
		return all
	}
	first, same, other := arrivals(1), arrivals(1), arrivals(2)
	differ := false
	for i := range first {
		if first[i] != same[i] {
			t.Fatalf("message %d arrived after %s and after %s", i, first[i], same[i])
		}
		differ = differ || first[i] != other[i]
	}
	if !differ {
		t.Error("two seeds draw the same jitter")
	}
	if first[1]-first[0] == first[21]-first[20] {
		t.Error("two connections draw the same jitter")
	}
}
