package ownership

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/testcluster/memnet"
)

// leasedAlone waits until a node has the lease of a bucket's range, and holds that no other
// has it then.
func (w *town) leasedAlone(n *townNode) {
	w.t.Helper()
	eventually(w.t, "a lease of "+n.name, func() error {
		if !n.store.Leased(0) {
			return errors.New("none")
		}
		return nil
	})
	for _, other := range w.nodes {
		if other != n && other.store.Leased(0) {
			w.t.Errorf("%s and %s have a lease", n.name, other.name)
		}
	}
}

// TestLeaseIsOverWithTheConfirmations: a leader that is cut off has no lease any more a
// Lease after that, though it may take itself for the leader; the next one gets its own.
func TestLeaseIsOverWithTheConfirmations(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 1, nil)
	old := w.nodes[0]
	w.lead(old, 0)
	w.leasedAlone(old)
	old.each(w.net.Cut)
	cut := time.Now()
	var next *townNode
	eventually(t, "another leader with a lease", func() error {
		if at := time.Now(); old.store.Leased(0) && at.After(cut.Add(Lease)) {
			t.Errorf("%s has a lease %s after it was cut off", old.name, at.Sub(cut))
		}
		for _, n := range w.nodes[1:] {
			if n.store.Leased(0) {
				next = n
				return nil
			}
		}
		return errors.New("none")
	})
	old.each(w.net.Heal)
	w.leasedAlone(next)
	w.lead(old, 0)
	w.leasedAlone(old)
}

// TestLeaseCountsFromTheHeartbeat: what a confirmation says is of when the heartbeat was
// sent, not of when the answer was read.
func TestLeaseCountsFromTheHeartbeat(t *testing.T) {
	t.Parallel()
	const latency = 100 * time.Millisecond
	w := newTown(t, 3, 2, nil)
	w.lead(w.nodes[0], 0)
	w.leasedAlone(w.nodes[0])
	w.net.SetLinks(memnet.Link{Latency: latency})
	began := time.Now()
	g := w.nodes[0].store.of[0].local
	eventually(t, "confirmations over slow links", func() error {
		now := time.Now()
		switch at := g.confirmed(now); {
		case at.Before(began):
			return errors.New("none")
		case now.Sub(at) < 2*latency:
			t.Fatalf("a heartbeat is confirmed %s after it was sent, over links of %s", now.Sub(at), latency)
		case now.Sub(began) < 3*time.Second:
			return errors.New("some")
		}
		return nil
	})
	if !w.nodes[0].store.Leased(0) {
		t.Error("no lease over slow links")
	}
}
