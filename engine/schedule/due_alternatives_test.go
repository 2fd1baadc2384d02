package schedule

import (
	"math/bits"
	"slices"
)

// The due-time structures that were compared with dueHeap; BenchmarkDue measures
// them, TestDueAlternatives holds that they do the same work.

// dueItem is as large as a target, and keeps the place that each structure needs.
type dueItem struct {
	due        int64
	pos        int32
	next, prev *dueItem
	_          [192]byte
}

func (t *dueItem) heapIndex() int32         { return t.pos }
func (t *dueItem) setHeapIndex(place int32) { t.pos = place }

// dueStructure is what a schedule asks of its due-time structure.
type dueStructure interface {
	set(t *dueItem, due int64)  // puts it in, or moves it
	remove(t *dueItem)          // takes it out, if it is in
	pop(now int64) *dueItem     // takes one that is due; nil: none is
	next() int64                // when pop next has something to do
	each(visit func(*dueItem))  // those that are in
	granularity() (nanos int64) // how much later than due pop may give an item
}

// fourAry is the product's heap.
type fourAry struct{ dueHeap[*dueItem] }

func (h *fourAry) set(t *dueItem, due int64) { t.due = due; h.dueHeap.set(t, due) }
func (h *fourAry) granularity() int64        { return 0 }

func (h *fourAry) pop(now int64) *dueItem {
	due, t, ok := h.min()
	if !ok || due > now {
		return nil
	}
	h.remove(t)
	return t
}

func (h *fourAry) next() int64 {
	if due, _, ok := h.min(); ok {
		return due
	}
	return never
}

func (h *fourAry) each(visit func(*dueItem)) {
	for _, slot := range h.slots {
		visit(slot.item)
	}
}

// binaryHeap is the textbook's heap of pointers: comparing touches the items.
type binaryHeap struct{ items []*dueItem }

func (h *binaryHeap) granularity() int64 { return 0 }
func (h *binaryHeap) each(visit func(*dueItem)) {
	slices.Values(h.items)(func(t *dueItem) bool { visit(t); return true })
}

func (h *binaryHeap) set(t *dueItem, due int64) {
	if t.pos < 0 {
		t.pos = int32(len(h.items))
		h.items = append(h.items, t)
	}
	t.due = due
	h.fix(int(t.pos))
}

func (h *binaryHeap) remove(t *dueItem) {
	i, last := int(t.pos), len(h.items)-1
	if i < 0 {
		return
	}
	moved := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	t.pos = -1
	if i < last {
		h.put(i, moved)
		h.fix(i)
	}
}

func (h *binaryHeap) put(i int, t *dueItem) { h.items[i] = t; t.pos = int32(i) }

func (h *binaryHeap) fix(i int) {
	t := h.items[i]
	for i > 0 && h.items[(i-1)/2].due > t.due {
		h.put(i, h.items[(i-1)/2])
		i = (i - 1) / 2
	}
	for 2*i+1 < len(h.items) {
		child := 2*i + 1
		if child+1 < len(h.items) && h.items[child+1].due < h.items[child].due {
			child++
		}
		if h.items[child].due >= t.due {
			break
		}
		h.put(i, h.items[child])
		i = child
	}
	h.put(i, t)
}

func (h *binaryHeap) pop(now int64) *dueItem {
	if len(h.items) == 0 || h.items[0].due > now {
		return nil
	}
	t := h.items[0]
	h.remove(t)
	return t
}

func (h *binaryHeap) next() int64 {
	if len(h.items) == 0 {
		return never
	}
	return h.items[0].due
}

// lazy is the product's heap without places: an item that moves leaves a slot
// behind, which is passed over when it comes up; half of them at most.
type lazy struct {
	slots []dueSlot[*dueItem]
	live  int
}

func (h *lazy) granularity() int64 { return 0 }

func (h *lazy) set(t *dueItem, due int64) {
	if t.pos >= 0 && t.due == due {
		return
	}
	if t.pos < 0 {
		h.live++
	}
	t.pos, t.due = 0, due
	if len(h.slots) > 2*h.live+16 {
		h.compact()
	}
	h.slots = append(h.slots, dueSlot[*dueItem]{})
	h.up(len(h.slots)-1, dueSlot[*dueItem]{due, t})
}

func (h *lazy) remove(t *dueItem) {
	if t.pos >= 0 {
		t.pos = -1
		h.live--
	}
}

func stale(s dueSlot[*dueItem]) bool { return s.item.pos < 0 || s.item.due != s.due }

func (h *lazy) compact() {
	h.slots = slices.DeleteFunc(h.slots, stale)
	slices.SortFunc(h.slots, func(a, b dueSlot[*dueItem]) int { return int(min(max(a.due-b.due, -1), 1)) })
}

func (h *lazy) up(i int, s dueSlot[*dueItem]) {
	for i > 0 && h.slots[(i-1)/arity].due > s.due {
		h.slots[i] = h.slots[(i-1)/arity]
		i = (i - 1) / arity
	}
	h.slots[i] = s
}

// drop takes the first slot out.
func (h *lazy) drop() {
	last := len(h.slots) - 1
	s := h.slots[last]
	h.slots[last] = dueSlot[*dueItem]{}
	h.slots = h.slots[:last]
	for i := 0; i < last; {
		least, due := -1, s.due
		for child := arity*i + 1; child < min(arity*i+1+arity, last); child++ {
			if h.slots[child].due < due {
				least, due = child, h.slots[child].due
			}
		}
		if least < 0 {
			h.slots[i] = s
			return
		}
		h.slots[i] = h.slots[least]
		i = least
	}
}

func (h *lazy) next() int64 {
	for len(h.slots) > 0 && stale(h.slots[0]) {
		h.drop()
	}
	if len(h.slots) == 0 {
		return never
	}
	return h.slots[0].due
}

func (h *lazy) pop(now int64) *dueItem {
	if h.next() > now {
		return nil
	}
	t := h.slots[0].item
	h.drop()
	h.remove(t)
	return t
}

func (h *lazy) each(visit func(*dueItem)) {
	seen := map[*dueItem]bool{}
	for _, s := range h.slots {
		if !stale(s) && !seen[s.item] {
			seen[s.item] = true
			visit(s.item)
		}
	}
}

// ring is a list of items through themselves; its first is a sentinel.
type ring struct{ dueItem }

func (r *ring) push(t *dueItem) {
	if r.next == nil {
		r.next, r.prev = &r.dueItem, &r.dueItem
	}
	t.next, t.prev = &r.dueItem, r.prev
	r.prev.next, r.prev = t, t
}

func (r *ring) first() *dueItem {
	if r.next == nil || r.next == &r.dueItem {
		return nil
	}
	return r.next
}

func unlink(t *dueItem) {
	t.next.prev, t.prev.next = t.prev, t.next
	t.next, t.prev = nil, nil
}

func (r *ring) each(visit func(*dueItem)) {
	for t := r.first(); t != nil && t != &r.dueItem; t = t.next {
		visit(t)
	}
}

// wheel is a hierarchical timing wheel: five levels of 256 slots, of 1 ms to 49
// days. An item is at the level of the highest byte in which its tick differs from
// the present one, and moves down as that comes near.
type wheel struct {
	tick   int64
	ready  ring
	levels [5]struct {
		used  [4]uint64 // slots that may hold something
		slots [256]ring
	}
}

const wheelTick = 1e6

func (w *wheel) granularity() int64 { return wheelTick }

func (w *wheel) set(t *dueItem, due int64) {
	w.remove(t)
	t.due, t.pos = due, 0
	w.lay(t)
}

func (w *wheel) lay(t *dueItem) {
	tick := min((t.due+wheelTick-1)/wheelTick, w.tick|(1<<40-1))
	if tick <= w.tick {
		w.ready.push(t)
		return
	}
	level := (bits.Len64(uint64(tick^w.tick)) - 1) / 8
	slot := tick >> (8 * level) & 255
	w.levels[level].slots[slot].push(t)
	w.levels[level].used[slot/64] |= 1 << (slot % 64)
}

func (w *wheel) remove(t *dueItem) {
	if t.pos >= 0 {
		unlink(t)
		t.pos = -1
	}
}

// first returns the first slot that holds something.
func (w *wheel) first() (level int, slot, tick int64) {
	for level := range w.levels {
		l := &w.levels[level]
		for word := range l.used {
			for l.used[word] != 0 {
				slot := int64(64*word + bits.TrailingZeros64(l.used[word]))
				if l.slots[slot].first() != nil {
					upper := w.tick >> (8 * level) &^ 255
					return level, slot, (upper | slot) << (8 * level)
				}
				l.used[word] &= l.used[word] - 1
			}
		}
	}
	return 0, 0, never
}

func (w *wheel) next() int64 {
	if w.ready.first() != nil {
		return w.tick * wheelTick
	}
	_, _, tick := w.first()
	if tick == never {
		return never
	}
	return tick * wheelTick
}

func (w *wheel) pop(now int64) *dueItem {
	for {
		if t := w.ready.first(); t != nil {
			w.remove(t)
			return t
		}
		level, slot, tick := w.first()
		if tick == never || tick*wheelTick > now {
			return nil
		}
		w.tick = tick
		for r := &w.levels[level].slots[slot]; r.first() != nil; {
			t := r.first()
			unlink(t)
			w.lay(t)
		}
	}
}

func (w *wheel) each(visit func(*dueItem)) {
	w.ready.each(visit)
	for i := range w.levels {
		for j := range w.levels[i].slots {
			w.levels[i].slots[j].each(visit)
		}
	}
}

// calendar is a calendar queue: as many days as items, each as long as the mean
// time between two of them; a day holds what is due on it in any year.
type calendar struct {
	days  []*dueItem // heads
	width int64
	today int64 // its number; all earlier days are over
	count int
}

func newCalendar(days int, span int64) *calendar {
	return &calendar{days: make([]*dueItem, days), width: max(span/int64(days), 1)}
}

func (c *calendar) granularity() int64 { return 0 }
func (c *calendar) day(due int64) int64 {
	return max(due/c.width, c.today) % int64(len(c.days))
}

func (c *calendar) set(t *dueItem, due int64) {
	c.remove(t)
	t.due = due
	t.pos = int32(c.day(due))
	head := &c.days[t.pos]
	if t.next = *head; t.next != nil {
		t.next.prev = t
	}
	*head = t
	c.count++
}

func (c *calendar) remove(t *dueItem) {
	if t.pos < 0 {
		return
	}
	if t.prev == nil {
		c.days[t.pos] = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.next, t.prev, t.pos = nil, nil, -1
	c.count--
}

// first returns the item that is due first, and moves to its day.
func (c *calendar) first(until int64) *dueItem {
	for c.count > 0 {
		var first *dueItem
		for t := c.days[c.today%int64(len(c.days))]; t != nil; t = t.next {
			if t.due < (c.today+1)*c.width && (first == nil || t.due < first.due) {
				first = t
			}
		}
		if first != nil || c.today*c.width > until {
			return first
		}
		c.today++
	}
	return nil
}

func (c *calendar) next() int64 {
	if t := c.first(never / 2); t != nil {
		return t.due
	}
	return never
}

func (c *calendar) pop(now int64) *dueItem {
	t := c.first(now)
	if t == nil || t.due > now {
		return nil
	}
	c.remove(t)
	return t
}

func (c *calendar) each(visit func(*dueItem)) {
	for _, t := range c.days {
		for ; t != nil; t = t.next {
			visit(t)
		}
	}
}
