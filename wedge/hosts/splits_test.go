package hosts

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// TestSplit: when a range is split, what is held of the caps of hosts in both halves is held on,
// never more than there is, and goes on to be shared by the leaders of both; parts of hosts'
// channels stay known, and a refusal of a host that has moved reaches all nodes.
func TestSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, three...)
		w.lead(w.ranges[0], "a")
		w.lead(w.ranges[1], "b")
		half := w.ranges[0].To / 2
		stays := w.host(channel.Range{To: half}, 1)
		moves := w.host(channel.Range{From: half + 1, To: w.ranges[0].To}, 1)
		demands := func(part int64) []channel.Demand {
			return []channel.Demand{{Host: stays, Part: part}, {Host: moves, Part: part}}
		}
		owned := func(channels int64) []channel.Led {
			return []channel.Led{{Host: stays, Channels: channels}, {Host: moves, Channels: channels}}
		}
		own := func() {
			w.nodes["a"].Parts(owned(6))
			w.nodes["c"].Parts(owned(2))
		}
		w.nodes["c"].need(demands(int64(channel.WholeCap))...)
		w.nodes["a"].need(demands(200_000)...)
		own()
		time.Sleep(opened)
		own()
		want := func(when string) {
			t.Helper()
			for _, host := range []channel.ID{stays, moves} {
				w.wantShares(when, host, 200_000, 0, grants.Pool-200_000)
			}
			if parts := w.nodes["c"].Parts(owned(2)); parts[0] != 0.25 || parts[1] != 0.25 {
				t.Errorf("%s: c has parts %v", when, parts)
			}
		}
		want("before")
		w.split("b")
		for range 4 * opened / time.Second {
			time.Sleep(time.Second)
			want("after the split")
		}
		w.nodes["a"].need()
		time.Sleep(2 * grants.Lease)
		w.wantShares("one needs nothing any more", moves, 0, 0, grants.Pool)
		rest := restOf(moves, time.Minute)
		w.nodes["c"].refused(rest)
		time.Sleep(within)
		w.wantRest("in time", rest, true, three...)
	})
}
