package ownership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// TestThreeNodes: what one node acknowledges, every node shows, and still does when the
// node is gone, and when it is back.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 1, nil)
	cluster := w.nodes[0].store.Cluster()
	made := make(map[string]channel.ID)
	for i := range 30 {
		n := w.nodes[i%3]
		r := n.store.Subscribe(ctx, []NewSubscription{wish(fmt.Sprintf("http://example.com/%d", i), "", webhook)})[0]
		if r.Err != nil {
			t.Fatalf("subscribe at %s: %v", n.name, r.Err)
		}
		made[r.ID] = r.Channel
	}
	shows := func(n *townNode) {
		t.Helper()
		if n.store.Cluster() != cluster {
			t.Errorf("%s is of cluster %s, not %s", n.name, n.store.Cluster(), cluster)
		}
		for id, ch := range made {
			if s, err := n.store.View().Subscription(ctx, id); err != nil || s.Channel != ch || s.Sink != webhook {
				t.Errorf("subscription %s at %s: %+v, %v", id, n.name, s, err)
			}
		}
		channels, err := n.store.View().Channels(ctx, nil, 100)
		if err != nil || len(channels) != len(made) {
			t.Errorf("%d channels at %s, %v; want %d", len(channels), n.name, err, len(made))
		}
		ids := append(slices.Sorted(maps.Keys(made)), state.SubscriptionID(5, 1<<40))
		for _, exist := range []bool{false, true} {
			begin, err := n.store.View().Beginnings(ctx, ids, exist)
			if err != nil || len(begin) != len(ids) || !begin[len(made)].Missing {
				t.Fatalf("beginnings at %s: %+v, %v", n.name, begin, err)
			}
			for i, id := range ids[:len(made)] {
				if want := (channel.Beginning{Channel: made[id], From: begin[i].From}); begin[i] != want || exist == (begin[i].From == 2) {
					t.Errorf("subscription %s at %s begins at %+v", id, n.name, begin[i])
				}
			}
		}
		listed := 0
		for q := (SubscriptionQuery{Limit: 7}); ; {
			page, next, err := n.store.View().Subscriptions(ctx, q)
			if err != nil {
				t.Errorf("list at %s: %v", n.name, err)
			}
			if listed += len(page); next == "" {
				break
			}
			q.After = next
		}
		if listed != len(made) {
			t.Errorf("%d subscriptions listed at %s, want %d", listed, n.name, len(made))
		}
	}
	for _, n := range w.nodes {
		shows(n)
	}
	w.nodes[2].stop()
	for i := range 12 {
		n := w.nodes[i%2]
		r := n.store.Subscribe(ctx, []NewSubscription{wish(fmt.Sprintf("http://example.com/later/%d", i), fmt.Sprint("key", i), webhook)})[0]
		if r.Err != nil {
			t.Fatalf("subscribe at %s after a stop: %v", n.name, r.Err)
		}
		made[r.ID] = r.Channel
	}
	shows(w.nodes[0])
	shows(w.nodes[1])
	w.open(w.nodes[2])
	shows(w.nodes[2])
	if _, err := w.nodes[2].store.View().Channel(ctx, channel.IDOf("http://example.com/nothing")); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("a channel that does not exist: %v", err)
	}
	w.agree()
}

// TestPowerLossOfAll: what was acknowledged is there when all nodes have lost what their
// disks had not synced.
func TestPowerLossOfAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 2, nil)
	made := make(map[string]bool)
	for round := range 3 {
		for i := range 20 {
			r := w.nodes[i%3].store.Subscribe(ctx, []NewSubscription{wish(fmt.Sprintf("http://example.com/%d/%d", round, i), "", stream)})[0]
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if made[r.ID] {
				t.Errorf("%s was given twice", r.ID)
			}
			made[r.ID] = true
		}
		w.losePower(w.nodes...)
		w.open(w.nodes...)
		for id := range made {
			if _, err := w.nodes[round].store.View().Subscription(ctx, id); err != nil {
				t.Errorf("after %d losses of power: %s: %v", round+1, id, err)
			}
		}
	}
	w.agree()
}

// TestMinority: a node that is cut off answers within five seconds that it cannot, and
// never with what was true before; the others go on; it catches up when it is back.
func TestMinority(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 3, nil)
	w0 := wish("http://example.com/first", "", stream)
	first := subscribe(t, w.nodes[0].store, w0)
	r := w.nodes[0].store.of(w0.Channel.Bucket())
	eventually(t, "a leader", func() error {
		if r.leader() == "" {
			return errors.New("none")
		}
		return nil
	})
	var alone *townNode
	for _, n := range w.nodes {
		if n.store.of(w0.Channel.Bucket()).serves() {
			alone = n
		}
	}
	others := slices.DeleteFunc(slices.Clone(w.nodes), func(n *townNode) bool { return n == alone })
	w.net.Partition([]string{alone.name}, []string{others[0].name, others[1].name})
	eventually(t, "the majority goes on", func() error { return others[0].store.Unsubscribe(ctx, first.ID) })
	for what, call := range map[string]func() error{
		"read":  func() error { _, err := alone.store.View().Subscription(ctx, first.ID); return err },
		"write": func() error { return alone.store.Subscribe(ctx, []NewSubscription{w0})[0].Err },
	} {
		began := time.Now()
		err := call()
		if took := time.Since(began); !errors.Is(err, ErrUnavailable) || took > 5*time.Second {
			t.Errorf("%s at the minority: %v after %s", what, err, took)
		}
	}
	if _, err := alone.store.Subscription(first.ID); err != nil {
		t.Errorf("the node that was cut off has learned of the end: %v", err) // or the test shows nothing
	}
	w.net.HealAll()
	eventually(t, "the end is known everywhere", func() error {
		if _, err := alone.store.View().Subscription(ctx, first.ID); !errors.Is(err, channel.ErrNotFound) {
			return fmt.Errorf("a deleted subscription: %w", err)
		}
		return nil
	})
	w.agree()
}

// TestClosedAcrossNodes: a stamp that one node has closed is never followed by an update
// below it, whichever leads next, however its clock is; and a range without commands is
// closed on demand, at every node.
func TestClosedAcrossNodes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newTown(t, 3, 4, nil)
	for i, n := range w.nodes {
		n.skew.Store(int64(time.Duration(i-1) * 1500 * time.Millisecond))
	}
	s := subscribe(t, w.nodes[0].store, wish("http://example.com/feed", "", stream))
	id := w.nodes[0].store.of(s.Channel.Bucket()).ID
	var newest uint64
	for version := uint64(1); version < 7; version++ {
		leader := w.nodes[version%3]
		w.lead(leader, s.Channel.Bucket())
		c, err := leader.store.Channel(s.Channel)
		if err != nil {
			t.Fatal(err)
		}
		if err := leader.store.Commit(ctx, nextCommit(c)); err != nil {
			t.Fatal(err)
		}
		for _, n := range w.nodes {
			eventually(t, "the update at "+n.name, func() error {
				updates, closed, _, err := n.store.Since(ctx, n.store.byID(id).Range, channel.Cursor{}, 100)
				if err == nil && len(updates) != int(version-1) {
					err = fmt.Errorf("%d updates up to %d, want %d", len(updates), closed, version-1)
				}
				if err == nil && version > 1 && updates[version-2].Stamp <= newest {
					t.Fatalf("update %d has stamp %d, but %d was closed", version, updates[version-2].Stamp, newest)
				}
				return err
			})
		}
		newest = max(newest, leader.store.ClosedIn(leader.store.byID(id).Range))
		demanded := newest + 1000
		for _, n := range w.nodes {
			eventually(t, "a demand at "+n.name, func() error {
				changed := n.store.Changed(n.store.byID(id).Range)
				if n.store.ClosedIn(n.store.byID(id).Range) >= demanded {
					return nil
				}
				n.store.Demand(n.store.byID(id).Range, demanded)
				select {
				case <-changed:
				case <-time.After(time.Second):
				}
				return fmt.Errorf("closed up to %d, demanded %d", n.store.ClosedIn(n.store.byID(id).Range), demanded)
			})
			newest = max(newest, n.store.ClosedIn(n.store.byID(id).Range))
		}
	}
}

// TestWrongClock: a node whose clock is far off leads nothing and says why, and leads
// again when the clock is right.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	w := newTown(t, 3, 5, nil)
	wrong := w.nodes[1]
	leads := func() (n int) {
		for _, g := range wrong.store.groups() {
			if g.serving.Load() {
				n++
			}
		}
		return n
	}
	wrong.skew.Store(int64(time.Hour))
	eventually(t, "it leads nothing", func() error {
		err := wrong.store.Ready()
		if err == nil || !strings.Contains(err.Error(), "the clock is 1h0m0") || leads() > 0 {
			return fmt.Errorf("ready: %v; leads %d", err, leads())
		}
		return nil
	})
	subscribe(t, wrong.store, wish("http://example.com/", "", stream))
	wrong.skew.Store(0)
	eventually(t, "it may lead again", wrong.store.Ready)
}

func TestSkewOf(t *testing.T) {
	for _, test := range []struct {
		offsets []time.Duration
		want    time.Duration
	}{
		{nil, 0},
		{[]time.Duration{time.Hour}, 0}, // either may be wrong
		{[]time.Duration{time.Second, -time.Second}, 0},
		{[]time.Duration{time.Hour, time.Hour + time.Second}, -time.Hour},
		{[]time.Duration{time.Hour, 0, time.Second}, 0},
		{[]time.Duration{-time.Minute, -time.Minute, -time.Minute, time.Hour}, time.Minute},
	} {
		if got := skewOf(test.offsets); got != test.want {
			t.Errorf("%v: %v, want %v", test.offsets, got, test.want)
		}
	}
}

// TestLostAnswer: a call whose answer is lost on the way is made again, unless it must
// not be carried out twice.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newTown(t, 2, 9, nil)
	w0 := wish("http://example.com/", "", stream)
	subscribe(t, w.nodes[0].store, w0)
	asking, leading := w.nodes[0], w.nodes[1]
	if asking.store.of(w0.Channel.Bucket()).serves() {
		asking, leading = leading, asking
	}
	for name, want := range map[string]struct {
		runs int32
		err  error
	}{"again": {2, nil}, "once": {1, ErrUnavailable}} {
		var runs atomic.Int32
		at := make(map[*townNode]Call[int, int])
		for _, n := range w.nodes {
			at[n] = NewCall(n.store, name, func(ctx context.Context, _ channel.Range, query int) (int, error) {
				if runs.Add(1) == 1 {
					w.net.ResetHost(leading.name)
					<-ctx.Done()
				}
				return query + 1, nil
			})
		}
		call := at[asking]
		if name == "once" {
			call = call.Once()
		}
		answer, err := call.At(context.Background(), w0.Channel.Bucket(), 41)
		if !errors.Is(err, want.err) || err == nil && answer != 42 || runs.Load() != want.runs {
			t.Errorf("%s: %d, %v, run %d times; want %v and %d", name, answer, err, runs.Load(), want.err, want.runs)
		}
	}
}
