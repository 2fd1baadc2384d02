package schedule

// dueHeap is the due-time structure: a 4-ary heap in which an item knows its own
// place, so that it can be moved or taken out. Due times are kept beside the
// items: comparing them touches no item.
//
// Four children share a cache line, which halves the depth: at 1,000,000 items
// it is 10 levels.
type dueHeap[T heapItem] struct {
	slots []dueSlot[T]
}

type dueSlot[T heapItem] struct {
	due  int64 // nanoseconds since the epoch
	item T
}

// heapItem is an item that keeps its place in a heap: −1 when it is in none.
type heapItem interface {
	heapIndex() int32
	setHeapIndex(int32)
}

const arity = 4

func (h *dueHeap[T]) len() int { return len(h.slots) }

// min returns the earliest item; ok is false when there is none.
func (h *dueHeap[T]) min() (due int64, item T, ok bool) {
	if len(h.slots) == 0 {
		return 0, item, false
	}
	return h.slots[0].due, h.slots[0].item, true
}

// set puts the item in, or moves it to another due time.
func (h *dueHeap[T]) set(item T, due int64) {
	i := int(item.heapIndex())
	if i < 0 {
		i = len(h.slots)
		h.slots = append(h.slots, dueSlot[T]{})
	} else if due > h.slots[i].due {
		h.down(i, dueSlot[T]{due, item})
		return
	}
	h.up(i, dueSlot[T]{due, item})
}

// remove takes the item out, if it is in.
func (h *dueHeap[T]) remove(item T) {
	i := int(item.heapIndex())
	if i < 0 {
		return
	}
	item.setHeapIndex(-1)
	last := len(h.slots) - 1
	moved := h.slots[last]
	h.slots[last] = dueSlot[T]{}
	h.slots = h.slots[:last]
	if i == last {
		return
	}
	if i > 0 && moved.due < h.slots[(i-1)/arity].due {
		h.up(i, moved)
		return
	}
	h.down(i, moved)
}

// up places s at i or above. Slot i itself is free to be overwritten.
func (h *dueHeap[T]) up(i int, s dueSlot[T]) {
	for i > 0 {
		parent := (i - 1) / arity
		if h.slots[parent].due <= s.due {
			break
		}
		h.put(i, h.slots[parent])
		i = parent
	}
	h.put(i, s)
}

// down places s at i or below. Slot i itself is free to be overwritten.
func (h *dueHeap[T]) down(i int, s dueSlot[T]) {
	for {
		least, due := -1, s.due
		first := arity*i + 1
		for child := first; child < min(first+arity, len(h.slots)); child++ {
			if h.slots[child].due < due {
				least, due = child, h.slots[child].due
			}
		}
		if least < 0 {
			break
		}
		h.put(i, h.slots[least])
		i = least
	}
	h.put(i, s)
}

func (h *dueHeap[T]) put(i int, s dueSlot[T]) {
	h.slots[i] = s
	s.item.setHeapIndex(int32(i))
}
