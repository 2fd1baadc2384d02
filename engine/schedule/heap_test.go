package schedule

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// The heap does what a sorted list does.
func TestDueHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap[*Target[site]]
		targets := make([]*Target[site], 60)
		dues := map[*Target[site]]int64{}
		for i := range targets {
			targets[i] = NewTarget[site](channel.ID{})
		}
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			item := rapid.SampledFrom(targets).Draw(t, "item")
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				h.remove(item)
				delete(dues, item)
			} else {
				due := rapid.Int64Range(0, 50).Draw(t, "due")
				h.set(item, due)
				dues[item] = due
			}
			checkHeap(t, &h, dues)
		}
	})
}

func checkHeap(t *rapid.T, h *dueHeap[*Target[site]], dues map[*Target[site]]int64) {
	if h.len() != len(dues) {
		t.Fatalf("%d items, want %d", h.len(), len(dues))
	}
	for item, due := range dues {
		if place := item.heapIndex(); h.slots[place].item != item || h.slots[place].due != due {
			t.Fatalf("item due %d is not at its place %d", due, place)
		}
	}
	due, item, ok := h.min()
	if ok != (len(dues) > 0) {
		t.Fatalf("min of %d items: %v", len(dues), ok)
	}
	for _, other := range dues {
		if other < due {
			t.Fatalf("min is %d, but %d is in", due, other)
		}
	}
	if ok && dues[item] != due {
		t.Fatalf("min is due %d, its item %d", due, dues[item])
	}
}

// Taking the earliest again and again gives a sorted list, and leaves no place set.
func TestDueHeapDrains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap[*Target[site]]
		want := rapid.SliceOf(rapid.Int64Range(0, 1000)).Draw(t, "dues")
		for _, due := range want {
			h.set(NewTarget[site](channel.ID{}), due)
		}
		var got []int64
		for due, item, ok := h.min(); ok; due, item, ok = h.min() {
			h.remove(item)
			got = append(got, due)
			if item.heapIndex() != -1 {
				t.Fatalf("a removed item is at %d", item.heapIndex())
			}
		}
		slices.SortFunc(want, cmp.Compare[int64])
		if !slices.Equal(got, want) {
			t.Fatalf("drained %v, want %v", got, want)
		}
	})
}

func TestFifo(t *testing.T) {
	var f fifo[int]
	next := 0
	for i := range 10_000 {
		f.push(i)
		if i%3 != 0 {
			if got, ok := f.pop(); !ok || got != next {
				t.Fatalf("pop = %d, %v; want %d", got, ok, next)
			}
			next++
		}
	}
	for ; f.len() > 0; next++ {
		if got, _ := f.pop(); got != next {
			t.Fatalf("pop = %d, want %d", got, next)
		}
	}
	if _, ok := f.pop(); ok || next != 10_000 {
		t.Fatalf("popped %d items, and then one more: %v", next, ok)
	}
}
