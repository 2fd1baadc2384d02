package engine

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
)

// An index does what a map does, whatever is put in and taken out in whatever order.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, want := newIndex(), map[channel.ID]*target{}
		// So many come to each table: they fill, grow and wrap around.
		most := rapid.SampledFrom([]int{10, 1 << 12, 1 << 16}).Draw(t, "IDs")
		draw := func(t *rapid.T) (id channel.ID) {
			binary.BigEndian.PutUint32(id[8:], uint32(rapid.IntRange(0, most).Draw(t, "ID")))
			return id
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				first := draw(t)
				for range rapid.SampledFrom([]int{1, 50, 5000}).Draw(t, "number") {
					binary.BigEndian.PutUint32(first[4:], binary.BigEndian.Uint32(first[4:])+1)
					if want[first] == nil {
						want[first] = schedule.NewTarget[channelState](first)
						x.put(want[first])
					}
				}
			},
			"remove": func(t *rapid.T) {
				left := rapid.SampledFrom([]int{1, 50, 5000}).Draw(t, "number")
				for id := range want {
					if left--; left < 0 {
						break
					}
					delete(want, id)
					x.remove(id)
					x.remove(id)
				}
			},
			"": func(t *rapid.T) { checkIndex(t, x, want, draw(t)) },
		})
	})
}

func checkIndex(t *rapid.T, x *index, want map[channel.ID]*target, other channel.ID) {
	if x.get(other) != want[other] {
		t.Fatalf("get %s is not what was put", other)
	}
	n := 0
	for target := range x.all() {
		n++
		if want[target.ID] != target || x.get(target.ID) != target {
			t.Fatalf("target %s is in, and should not be, or is not found", target.ID)
		}
	}
	if n != len(want) || x.len() != n {
		t.Fatalf("%d targets, counted %d, want %d", n, x.len(), len(want))
	}
}
