package ownership

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/transfer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// TestReadersOfARestore: while a state is replaced, over and over, whoever reads
// sees one state or the other whole, and the counts of one of them.
func TestReadersOfARestore(t *testing.T) {
	cfg := testConfig(t)
	cfg.Ranges = 1
	s := open(t, cfg)
	w := wish("http://example.com/", "", stream)
	subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	few := pairsOf(t, s)
	for range 40 {
		subscribe(t, s, w)
	}
	grow(t, s, w.Channel, 9)
	states := [][]pair{few, pairsOf(t, s)}
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				subscribers, err := s.Subscribers(w.Channel, 0, 100)
				page, _, err2 := s.Subscriptions(SubscriptionQuery{Limit: 100})
				updates, _, err3 := s.Updates(w.Channel, 0, 100)
				if err != nil || err2 != nil || err3 != nil {
					t.Error(err, err2, err3)
					return
				}
				got := fmt.Sprint(len(subscribers), len(page), len(updates))
				if n := len(subscribers); n != 1 && n != 41 || len(page) != 1 && len(page) != 41 || len(updates) != 1 && len(updates) != 8 {
					t.Errorf("subscribers, page, updates: %s", got)
					return
				}
			}
		})
	}
	for i := range 20 {
		restore(t, s, states[i%2])
	}
	close(stop)
	readers.Wait()
	if _, n := s.Counts(); n != 41 {
		t.Errorf("%d subscriptions counted, want 41", n)
	}
	subscribe(t, s, w)
	if _, n := s.Counts(); n != 42 {
		t.Errorf("%d subscriptions after one more, want 42", n)
	}
}

type pair struct{ key, value []byte }

// pairsOf are the keys and values of a store's only range.
func pairsOf(t *testing.T, s *Store) (pairs []pair) {
	t.Helper()
	f := s.groups()[0].fsm
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: f.transfer.start(), UpperBound: f.transfer.end()})
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		pairs = append(pairs, pair{bytes.Clone(iter.Key()), bytes.Clone(iter.Value())})
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return pairs
}

// restore puts a state in place by raft's own way to do so.
func restore(t *testing.T, s *Store, pairs []pair) {
	t.Helper()
	g := s.groups()[0]
	identity := &wire.Identity{}
	if err := state.Get(s.db, state.IdentityKey(), identity); err != nil {
		t.Fatal(err)
	}
	next := g.raft.LastIndex() + 1
	var stream bytes.Buffer
	out, err := transfer.NewWriter(&stream, &wire.TransferHeader{
		From: uint32(g.all.From), To: uint32(g.rng().To), Cluster: identity.Cluster, Applied: &wire.Applied{Index: next, TimeUs: g.state.Time()},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if err := out.Add(p.key, p.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	meta := &raft.SnapshotMeta{Version: 1, Index: next - 1, Size: int64(stream.Len())}
	if err := g.raft.Restore(meta, &stream, answerWithin); err != nil {
		t.Fatal(err)
	}
}
