package ownership

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// compareAll has the nodes that lead buckets scrub them, and so have all their replicas compared.
func (w *town) compareAll(buckets map[channel.Bucket]bool) {
	for b := range buckets {
		if n := w.leading(b); n != nil {
			n.store.scrub.visit(context.Background(), b)
		}
	}
}

func (w *town) compared() (agreed, differ float64) {
	for _, n := range w.nodes {
		agreed += testutil.ToFloat64(n.store.tools.metrics.compared)
		differ += testutil.ToFloat64(n.store.tools.metrics.compareDiffers)
	}
	return agreed, differ
}

// TestCompare: replicas that are the same are found to be, while clients write; one that has
// another record, which is a right one by itself, is found to differ, at a follower and at
// the leader, and filled again.
func TestCompare(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 41, nil)
	made := w.filled(40, "before")
	buckets := make(map[channel.Bucket]bool)
	for _, id := range made {
		buckets[id.Bucket()] = true
	}
	writing := make(chan struct{})
	go func() { defer close(writing); w.filled(20, "meanwhile") }()
	eventually(t, "all buckets are compared", func() error {
		w.compareAll(buckets)
		if agreed, _ := w.compared(); agreed < float64(len(buckets)) {
			return fmt.Errorf("%v comparisons", agreed)
		}
		return nil
	})
	<-writing
	if agreed, differ := w.compared(); differ > 0 {
		t.Fatalf("%v replicas differ in %v comparisons, none was changed", differ, agreed)
	}
	var id channel.ID
	for _, id = range made {
		break
	}
	b := id.Bucket()
	w.lead(w.nodes[0], b)
	for i, n := range []*townNode{w.nodes[1], w.nodes[0]} { // a follower, the leader
		way := n.store.of(b)
		before := way.local().seat.id
		n.spoil(id)
		eventuallyWithin(t, placeWithin, "the replica is filled again", func() error {
			w.compareAll(map[channel.Bucket]bool{b: true})
			if r := n.store.known.Load().Ranges[way.ID]; len(r.Replicas) < 3 || slices.Contains(r.Replicas, string(before)) {
				return fmt.Errorf("replicas %v, damaged %v", r.Replicas, r.Damaged)
			}
			return nil
		})
		if _, differ := w.compared(); differ < float64(i+1) {
			t.Errorf("%v replicas were found to differ, want %d", differ, i+1)
		}
		w.agreeEach()
	}
	w.nodes[0].shows(made)
}

// spoil changes a record of a channel in the node's state.
func (n *townNode) spoil(id channel.ID) {
	n.town.t.Helper()
	db := n.store.db
	changed := false
	for key, value := range dump(n.town.t, db) {
		if key[2] != 'm' || key[3:3+channel.IDLen] != string(id[:]) {
			continue
		}
		record := &wire.Subscription{}
		if err := proto.Unmarshal([]byte(value), record); err != nil {
			n.town.t.Fatal(err)
		}
		record.SinkSecret = "whsec_y"
		if err := db.Set([]byte(key), marshal(n.town.t, record), pebble.NoSync); err != nil {
			n.town.t.Fatal(err)
		}
		changed = true
	}
	if !changed {
		n.town.t.Fatalf("no subscription of channel %s", id)
	}
}

// TestOdd: which replicas differ from a majority of all voters, not of those that have
// answered; each is named once, and reports of earlier entries count no more.
func TestOdd(t *testing.T) {
	sum := func(b byte) [sha256.Size]byte { return [sha256.Size]byte{b} }
	type step struct {
		replica string
		index   uint64
		sum     byte
		odd     []string
		agreed  bool
		bucket  channel.Bucket
	}
	for _, test := range []struct {
		name   string
		voters int
		steps  []step
	}{
		{"one differs, last", 3, []step{{"a", 9, 1, nil, false, 0}, {"b", 9, 1, nil, true, 0}, {"c", 9, 2, []string{"c"}, false, 0}}},
		{"one differs, first", 3, []step{{"a", 9, 2, nil, false, 0}, {"b", 9, 1, nil, false, 0}, {"c", 9, 1, []string{"a"}, true, 0}, {"c", 9, 1, nil, false, 0}}},
		{"all differ", 3, []step{{"a", 9, 1, nil, false, 0}, {"b", 9, 2, nil, false, 0}, {"c", 9, 3, nil, false, 0}}},
		{"two of two", 2, []step{{"a", 9, 1, nil, false, 0}, {"b", 9, 2, nil, false, 0}}},
		{"earlier entry", 3, []step{{"a", 9, 1, nil, false, 0}, {"b", 8, 2, nil, false, 0}, {"c", 8, 2, nil, false, 0}, {"b", 9, 1, nil, true, 0}}},
		{"later entry", 3, []step{{"a", 8, 2, nil, false, 0}, {"b", 9, 1, nil, false, 0}, {"c", 9, 1, nil, true, 0}}},
		{"two of five", 5, []step{{"a", 9, 2, nil, false, 0}, {"b", 9, 2, nil, false, 0}, {"c", 9, 1, nil, false, 0}, {"d", 9, 1, nil, false, 0}, {"e", 9, 1, []string{"a", "b"}, true, 0}}},
		{"two buckets in one entry", 3, []step{
			{"a", 9, 1, nil, false, 4}, {"b", 9, 1, nil, true, 4}, {"a", 9, 2, nil, false, 5}, {"c", 9, 1, nil, false, 4}, {"b", 9, 2, nil, true, 5},
			{"c", 9, 3, []string{"c"}, false, 5},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &comparer{}
			c.mu.ranges = make(map[uint32]*comparison)
			for _, s := range test.steps {
				odd, agreed := c.collect(7, hashReport{Replica: s.replica, Bucket: s.bucket, Index: s.index, Sum: sum(s.sum)}, test.voters)
				if !slices.Equal(odd, s.odd) || agreed != s.agreed {
					t.Errorf("after %s at entry %d: odd %v, agreed %v; want %v, %v", s.replica, s.index, odd, agreed, s.odd, s.agreed)
				}
			}
		})
	}
}
