package ownership

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// TestSinceOf: a range reads for all chosen channels what a node of before is asked for one after
// the other, from any place on.
func TestSinceOf(t *testing.T) {
	ctx := context.Background()
	clock, cfg := newFakeClock(), testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	var chosen []channel.ID
	var places []channel.Cursor
	for i, version := range []uint64{0, 1, 2, 5, state.KeepVersions + 9} {
		for _, gone := range []bool{false, true} {
			w := wish(fmt.Sprintf("http://example.com/%d%t", i, gone), "", stream)
			chosen = append(chosen, w.Channel)
			subscribe(t, s, w)
			grow(t, s, w.Channel, version)
			if gone {
				if err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: version, Version: version, Gone: true}); err != nil {
					t.Fatal(err)
				}
			}
			all, _, err := s.Updates(w.Channel, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range all {
				places = append(places, u.Cursor())
			}
			clock.advance(time.Minute)
		}
	}
	chosen = append(chosen, channel.IDOf("http://example.com/never"))
	clock.advance(1000 * time.Hour)
	pass(newSweeper(s))
	updates, lost := 0, 0
	for _, after := range append(places, channel.Cursor{}) {
		for _, r := range s.Table() {
			got, err := s.SinceOf(ctx, r, inside(r, chosen), after, 7)
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.View().sinceEach(ctx, inside(r, chosen), after, got.Closed, 7)
			for i := range want.Updates {
				want.Updates[i].At = got.Updates[i].At // there is none of a notice
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("range %d behind %v: %+v, want %+v, %v", r.ID, after, got, want, err)
			}
			updates, lost = updates+len(got.Updates), lost+len(got.Lost)
		}
	}
	if updates == 0 || lost == 0 {
		t.Errorf("%d updates and %d losses were read", updates, lost)
	}
}

func inside(r channel.Range, ids []channel.ID) (all []channel.ID) {
	for _, id := range ids {
		if r.Has(id.Bucket()) {
			all = append(all, id)
		}
	}
	return all
}

// TestSinceOfNodes: every node reads chosen channels of all ranges, and does so too where the
// others have the program of before, which takes the question for one about all updates.
func TestSinceOfNodes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 1, nil)
	var chosen []channel.ID
	want := make(map[channel.ID]uint64)
	for i := range 24 {
		x := wish(fmt.Sprintf("http://example.com/%d", i), "", stream)
		if err := w.nodes[0].store.Subscribe(ctx, []NewSubscription{x})[0].Err; err != nil {
			t.Fatal(err)
		}
		leader := w.leading(x.Channel.Bucket())
		if leader == nil {
			t.Fatal("a range has no leader")
		}
		grow(t, leader.store, x.Channel, uint64(i%5))
		if i%3 > 0 {
			chosen, want[x.Channel] = append(chosen, x.Channel), max(uint64(i%5), 1)
		}
	}
	shows := func(n *townNode) {
		t.Helper()
		for _, r := range n.store.Table() {
			last := make(map[channel.ID]uint64)
			for after, more := (channel.Cursor{}), true; more; {
				kept, err := n.store.SinceOf(ctx, r, inside(r, chosen), after, 2)
				if err != nil || kept.More && len(kept.Updates) != 2 {
					t.Fatalf("range %d at %s: %+v, %v", r.ID, n.name, kept, err)
				}
				for _, u := range kept.Updates {
					if u.Version != max(last[u.Channel], 1)+1 || string(u.Data) != string(updateData(u.Channel, u.Version)) || u.Patch != nil {
						t.Errorf("at %s: %+v after version %d", n.name, u, last[u.Channel])
					}
					last[u.Channel], after = u.Version, u.Cursor()
				}
				more = kept.More
			}
			for _, id := range inside(r, chosen) {
				if max(last[id], 1) != want[id] {
					t.Errorf("channel %s at %s ends with version %d, want %d", id, n.name, last[id], want[id])
				}
			}
		}
	}
	for _, n := range w.nodes {
		shows(n)
	}
	var asked atomic.Int32
	for _, n := range w.nodes {
		n.store.calls.add("since", func(_ context.Context, r channel.Range, content []byte) ([]byte, error) {
			asked.Add(1)
			var q struct {
				After       channel.Cursor
				Limit, Form int
			}
			if err := json.Unmarshal(content, &q); err != nil {
				return nil, err
			}
			page, err := n.store.readSince(n.store.of(r.From).local(), sinceQuery{After: q.After, Limit: q.Limit})
			if err != nil {
				return nil, err
			}
			return page.encode(q.Form)
		})
	}
	for _, n := range w.nodes {
		shows(n)
	}
	if asked.Load() == 0 {
		t.Error("no node of before was asked")
	}
}
