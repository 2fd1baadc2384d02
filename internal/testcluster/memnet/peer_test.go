package memnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

const echo peer.Kind = peer.FirstKind

// node is a node of package peer on a host.
type node struct {
	*peer.Node
	peer peer.Peer
}

// serve runs a node on a host until the function that it returns is called.
func serve(t *testing.T, n *Network, name string, credentials *peer.Credentials) (node, func()) {
	t.Helper()
	config := peer.Config{Self: peer.Identity{Cluster: "c1", Name: name, ID: name + ".1"}, Network: n.Host(name), Credentials: credentials}
	p, err := peer.New(config)
	if err != nil {
		t.Fatal(err)
	}
	p.Handle(echo, func(_ context.Context, c peer.Call) ([]byte, error) { return c.Payload, nil })
	listener, err := n.Host(name).Listen(":8411")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := p.Serve(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	stop := func() {
		cancel()
		serving.Wait()
		p.Close()
	}
	return node{p, peer.Peer{ID: name + ".1", Name: name, Address: name + ":8411"}}, stop
}

// TestPeers: two nodes call each other; with one direction cut each misses pings, since
// these need both, gives up its connections, and answers again soon after the cut.
func TestPeers(t *testing.T) {
	dir := t.TempDir()
	if _, err := peer.MakeCertificates(dir, []string{"a", "b"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprintf("secured %v", secured), func(t *testing.T) {
			load := func(name string) (c *peer.Credentials) {
				if secured {
					var err error
					now := time.Now()
					if c, err = peer.LoadCredentials(dir, name, func() time.Time { return now }); err != nil {
						t.Fatal(err)
					}
				}
				return c
			}
			ofA, ofB := load("a"), load("b")
			synctest.Test(t, func(t *testing.T) { checkPeers(t, ofA, ofB) })
		})
	}
}

func checkPeers(t *testing.T, ofA, ofB *peer.Credentials) {
	n := New(1)
	n.SetLinks(Link{Latency: 5 * time.Millisecond, Jitter: 5 * time.Millisecond})
	a, stopA := serve(t, n, "a", ofA)
	defer stopA()
	b, stopB := serve(t, n, "b", ofB)
	defer stopB()
	a.SetPeers([]peer.Peer{b.peer})
	b.SetPeers([]peer.Peer{a.peer})
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Call(ctx, b.peer.ID, peer.Log, echo, 0, []byte("hi"))
		return err
	}
	missed := func() [2]int {
		ofB, _ := a.Health(b.peer.ID)
		ofA, _ := b.Health(a.peer.ID)
		return [2]int{ofB.Missed, ofA.Missed}
	}
	time.Sleep(3 * time.Second)
	if h, _ := a.Health(b.peer.ID); call() != nil || missed() != [2]int{} || h.RTT < 10*time.Millisecond || h.RTT > 20*time.Millisecond {
		t.Errorf("before the cut: %v missed, %+v, call %v", missed(), h, call())
	}
	n.Cut("b", "a")
	time.Sleep(10 * time.Second)
	if m := missed(); m[0] < 9 || m[1] < 9 || call() == nil {
		t.Errorf("10 s after b to a was cut: %v missed, call %v", m, call())
	}
	n.Heal("b", "a")
	time.Sleep(4 * time.Second)
	if err := call(); err != nil || missed() != [2]int{} {
		t.Errorf("4 s after the cut: %v missed, call %v", missed(), err)
	}
}

// TestDraw: faults are drawn from the seed alone, by a golden value, and what begins
// ends.
func TestDraw(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	hosts := []string{"a", "b", "c", "d", "e"}
	var drawn []string
	seen := make(map[Kind]bool)
	n := New(1)
	for range 60 {
		f := Draw(random, hosts)
		seen[f.Kind] = true
		if len(drawn) < 6 {
			drawn = append(drawn, f.String())
		}
		for _, from := range f.Sides[0] {
			if slices.Contains(f.Sides[1], from) {
				t.Errorf("%s: %s is on both sides", f, from)
			}
		}
		f.Begin(n)
		cut := 0
		for _, l := range n.mu.links {
			if isCut, _, _ := l.state(); isCut {
				cut++
			}
		}
		if f.Kind == Slow {
			there, _ := n.both(f.Sides[0][0], f.Sides[1][0])
			if as := there.mu.as; as.Latency < 100*time.Millisecond || as.Bandwidth == 0 {
				t.Errorf("%s: the link is %+v", f, as)
			}
		}
		want := map[Kind]int{Cut: 1, Isolate: 8, Split: 2 * len(f.Sides[0]) * len(f.Sides[1])}[f.Kind]
		if cut != want {
			t.Errorf("%s: %d directions are cut, want %d", f, cut, want)
		}
		f.End(n)
		for p, l := range n.mu.links {
			if isCut, latency, _ := l.state(); isCut || latency != 0 {
				t.Errorf("%s: %v is still cut, or slow", f, p)
			}
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("only %v were drawn", seen)
	}
	if got := strings.Join(drawn, "\n"); got != golden {
		t.Errorf("drew\n%s\nwant\n%s", got, golden)
	}
}

// TestResetFault: the connections between the two hosts are reset.
func TestResetFault(t *testing.T) {
	n := New(1)
	a, _ := connected(t, n)
	Draw(rand.New(rand.NewPCG(1, 1)), []string{"a", "b"}, Reset).Begin(n)
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
}

const golden = `reset [c] [b]
isolate [a] [d b c e]
split [a c e] [d b]
split [e a] [c d b]
split [e b] [c d a]
isolate [a] [b c e d]`
