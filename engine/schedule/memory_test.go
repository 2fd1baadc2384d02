package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever is put in, moved and taken out, no item is due before its parent, and each
// knows its place.
func TestDueHeapKeepsOrder(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 3))
		h, items := &dueHeap[*Target[site]]{}, make([]*Target[site], 120)
		for i := range items {
			items[i] = &Target[site]{heapAt: -1}
		}
		in := map[*Target[site]]int64{}
		for range 1500 {
			item := items[random.IntN(len(items))]
			if random.IntN(3) == 0 {
				h.remove(item)
				delete(in, item)
			} else {
				due := random.Int64N(50)
				h.set(item, due)
				in[item] = due
			}
			if len(in) != h.len() {
				t.Fatalf("seed %d: %d items, want %d", seed, h.len(), len(in))
			}
			for i, slot := range h.slots {
				if i > 0 && h.slots[(i-1)/arity].due > slot.due || int(slot.item.heapAt) != i || in[slot.item] != slot.due {
					t.Fatalf("seed %d: slot %d of %d is due %d, parent %d; item at %d, due %d", seed, i, h.len(), slot.due, h.slots[(i-1)/arity].due, slot.item.heapAt, in[slot.item])
				}
			}
			if due, _, ok := h.min(); ok != (len(in) > 0) || ok && due != slices.Min(values(in)) {
				t.Fatalf("seed %d: the first is due %d", seed, due)
			}
		}
	}
}

func values(in map[*Target[site]]int64) (all []int64) {
	for _, due := range in {
		all = append(all, due)
	}
	return all
}

// What is taken from a heap can be collected.
func TestDueHeapLetsGo(t *testing.T) {
	h := &dueHeap[*Target[site]]{}
	items := []*Target[site]{{heapAt: -1}, {heapAt: -1}, {heapAt: -1}}
	for i, item := range items {
		h.set(item, int64(i))
	}
	for _, item := range items {
		h.remove(item)
	}
	for _, slot := range h.slots[:3] {
		if slot.item != nil {
			t.Error("an item that was taken is still referred to")
		}
	}
}

// A queue that drains refers to nothing that was taken, has room for twice what is in it
// and a thousand more, and needs no memory as long as it is short.
func TestFifoGivesMemoryBack(t *testing.T) {
	var q fifo[*int]
	const many = 10_000
	for i := range many {
		q.push(&i)
	}
	for want := range many {
		item, ok := q.pop()
		if !ok || *item != want || q.len() != many-want-1 {
			t.Fatalf("item %d is %v, %v; %d are left", want, item, ok, q.len())
		}
		if len(q.items) > 2*q.len()+1100 {
			t.Fatalf("room for %d with %d in it", len(q.items), q.len())
		}
		if taken := q.items[:q.head]; len(taken) > 0 && taken[len(taken)-1] != nil {
			t.Fatal("an item that was taken is still referred to")
		}
	}
	if _, ok := q.pop(); ok || q.head != 0 || len(q.items) != 0 {
		t.Errorf("an empty queue has %d items from %d on", len(q.items), q.head)
	}
	item := new(int)
	short := func() {
		for range 100 {
			q.push(item)
		}
		for range 100 {
			q.pop()
		}
	}
	short()
	if allocs := testing.AllocsPerRun(20, short); allocs != 0 {
		t.Errorf("%v allocations in a short queue", allocs)
	}
	for range many {
		q.push(item)
		q.push(item)
		q.pop()
	}
	if q.len() != many {
		t.Errorf("%d items, want %d", q.len(), many)
	}
}
