package state

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// News give what is behind a cursor and closed, in order and once, or say that they lack
// some of it; and they lack nothing that is young, as long as all of them are short.
func TestNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n news
		var all []channel.Update
		stamp := rapid.Uint64Range(1, 1e15).Draw(t, "start")
		n.reset(stamp)
		start, most := channel.EndOf(stamp), rapid.SampledFrom([]int{1, newsBytes / 20}).Draw(t, "most bytes")
		bytes := 0
		for range rapid.IntRange(1, 30).Draw(t, "transactions") {
			var written []channel.Update
			for range rapid.IntRange(0, 4).Draw(t, "updates") {
				stamp += rapid.SampledFrom([]uint64{0, 1, newsFor / 10, newsFor + 1}).Draw(t, "passed")
				u := channel.Update{Stamp: stamp + 1 + rapid.Uint64Range(0, 1).Draw(t, "more"), Data: make([]byte, rapid.IntRange(0, most).Draw(t, "bytes")), Patch: []byte("p")}
				u.Channel[0] = byte(len(all) + len(written)) // a bucket of its own
				written = append(written, u)
			}
			n.add(written)
			all = append(all, written...)
			for _, u := range written {
				bytes += len(u.Data)
			}
		}
		slices.SortFunc(all, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
		if len(all) == 0 {
			return
		}
		after := start
		if i := rapid.IntRange(-1, len(all)-1).Draw(t, "after"); i >= 0 {
			after = all[i].Cursor()
		}
		closed := rapid.SampledFrom(all).Draw(t, "closed").Stamp
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		got, more, ok := n.since(after, closed, limit)
		young := after.Stamp+newsFor >= all[len(all)-1].Stamp
		if !ok {
			if young && bytes <= newsBytes {
				t.Fatalf("news lack some of the last moments: behind %v of %v", after, n.from)
			}
			return
		}
		var want []channel.Cursor
		for _, u := range all {
			if after.Less(u.Cursor()) && u.Stamp <= closed {
				want = append(want, u.Cursor())
			}
		}
		if wantMore := len(want) > limit; more != wantMore {
			t.Fatalf("more: %v, want %v", more, wantMore)
		}
		want = want[:min(len(want), limit)]
		if !slices.EqualFunc(got, want, func(u channel.Update, at channel.Cursor) bool { return u.Cursor() == at && u.Patch == nil }) {
			t.Fatalf("got %v, want %v", got, want)
		}
		kept := 0
		for _, u := range n.updates {
			kept += len(u.Data)
		}
		if kept != n.bytes || kept > newsBytes {
			t.Fatalf("%d bytes are kept, %d counted", kept, n.bytes)
		}
	})
}

// What was there before news began is not among them.
func TestNewsBegin(t *testing.T) {
	var n news
	n.reset(10)
	if _, _, ok := n.since(channel.Cursor{Stamp: 10}, 20, 5); ok {
		t.Error("news answer for what lies before them")
	}
	if got, more, ok := n.since(channel.EndOf(10), 20, 5); !ok || more || len(got) > 0 {
		t.Errorf("%v, %v, %v; want nothing", got, more, ok)
	}
}
