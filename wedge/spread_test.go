package wedge

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// wide is a world in which all nodes poll one channel, and the first one owns it.
func wide(t *testing.T, nodes, fanout int) (*world, engine.Order) {
	w := newWorldThat(t, nodes, 0, fanout)
	order := w.order(w.ranges[0], 1, nodes)
	w.nodes[0].lead(w.ranges[0], 1, order)
	synctest.Wait()
	w.wantWidth(order.Channel, nodes)
	return w, order
}

// change has a node report the next version of a channel.
func (w *world) change(order engine.Order, by *node, version uint64, base *deltas.Core) *deltas.Core {
	w.Helper()
	core := page(w.T, 20+int(version))
	report := engine.Report{Channel: order.Channel, Incarnation: 1, Begun: time.Now(), BaseVersion: version - 1, Base: base, Core: core}
	if answer, err := by.poller.Report(w.Context(), report); err != nil || answer.Version != version {
		w.Fatalf("version %d: %+v, %v", version, answer, err)
	}
	return core
}

// wantTold wants every node that lives but the one that saw the version to be told of it
// once.
func (w *world) wantTold(version uint64, by *node) {
	w.Helper()
	for _, n := range w.nodes {
		told := 0
		for _, news := range n.engine.learned() {
			if news.Version == version {
				told++
			}
		}
		want := 1
		if n == by || !n.alive {
			want = 0
		}
		if told != want {
			w.Errorf("version %d: %s was told of it %d times, want %d", version, n.name, told, want)
		}
	}
}

// Every poller is told of each version once, along a tree of few levels, whoever dies.
func TestSpread(t *testing.T) {
	for _, test := range []struct{ nodes, fanout, levels int }{{5, 2, 2}, {64, 2, 6}, {64, 8, 2}, {64, 63, 1}} {
		t.Run(fmt.Sprintf("%d nodes, fan-out %d", test.nodes, test.fanout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, order := wide(t, test.nodes, test.fanout)
				seer := w.nodes[1]
				base := w.change(order, seer, 1, nil)
				synctest.Wait()
				w.wantTold(1, seer)
				if levels := w.levels(); levels > test.levels {
					t.Errorf("news went %d levels down, want at most %d", levels, test.levels)
				}
				for i := 2; i < test.nodes; i += 7 { // dead, and not yet noticed to be
					w.set(w.nodes[i], false)
				}
				w.change(order, seer, 2, base)
				time.Sleep(time.Second)
				synctest.Wait()
				w.wantTold(2, seer)
			})
		})
	}
}

// levels returns the most levels down that a node was told of something.
func (w *world) levels() (most int) {
	for _, n := range w.nodes {
		var m dto.Metric
		if err := n.poller.metrics.levels.Write(&m); err != nil {
			w.Fatal(err)
		}
		if h := m.GetHistogram(); h.GetSampleCount() > 0 {
			most = max(most, int(math.Round(h.GetSampleSum()/float64(h.GetSampleCount())))) // of one version: each is told once
		}
	}
	return most
}

// Branches part nodes evenly, into as many parts as the fan-out says.
func TestBranches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]string, rapid.IntRange(0, 100).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = fmt.Sprint(i)
		}
		fanout := rapid.IntRange(1, 40).Draw(t, "fan-out")
		parts := branches(nodes, fanout)
		if len(parts) != min(fanout, len(nodes)) || !slices.Equal(slices.Concat(parts...), nodes) {
			t.Fatalf("%d nodes in %d: %v", len(nodes), fanout, parts)
		}
		for _, part := range parts {
			if n := len(nodes) / len(parts); len(part) < n || len(part) > n+1 {
				t.Fatalf("%d nodes in %d: a part of %d", len(nodes), fanout, len(part))
			}
		}
	})
}

// News of a term that is over, of another range's channel and for too many are not passed
// on; those of a range that the poller has no orders of are.
func TestBadSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, order := wide(t, 3, 1)
		w.nodes[0].lead(w.ranges[0], 5, order)
		synctest.Wait()
		news := encodeNews(&engine.News{Channel: order.Channel, Incarnation: 1, Version: 1})
		many := make([]string, mostSpread+1)
		for _, test := range []struct {
			name string
			r    channel.Range
			term uint64
			to   []string
			fail bool
			want int // nodes that are told
		}{
			{"an earlier term", w.ranges[0], 4, []string{"n2"}, false, 0},
			{"another range", w.ranges[1], 5, []string{"n2"}, true, 0},
			{"too many", w.ranges[0], 5, many, true, 0},
			{"this term", w.ranges[0], 5, []string{"n2"}, false, 2},
			{"a later term", w.ranges[0], 6, []string{"n2"}, false, 0},
		} {
			before := len(w.nodes[1].engine.learned()) + len(w.nodes[2].engine.learned())
			m := &wire.Spread{Session: Session{Range: test.r, Term: test.term}.encode(), News: news, To: test.to}
			_, err := callNode(t.Context(), w.nodes[0].owner.config, "n1", &wire.Request{Of: &wire.Request_Spread{Spread: m}})
			synctest.Wait()
			told := len(w.nodes[1].engine.learned()) + len(w.nodes[2].engine.learned()) - before
			if (err != nil) != test.fail || told != test.want {
				t.Errorf("%s: %v, %d told; want a failure: %v, %d told", test.name, err, told, test.fail, test.want)
			}
		}
	})
}
