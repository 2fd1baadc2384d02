package webhook

import (
	"container/heap"
	"time"
)

// agenda is a priority queue of what is due when: retries, probes, marks of
// slowness. An entry runs once, under the lock that guards the agenda, and checks
// for itself whether it still matters.
type agenda struct {
	entries entryHeap
	earlier chan struct{} // 1: the first entry came nearer
}

type entry struct {
	at time.Time
	do func()
}

func newAgenda() agenda { return agenda{earlier: make(chan struct{}, 1)} }

func (a *agenda) add(at time.Time, do func()) {
	heap.Push(&a.entries, entry{at, do})
	if a.entries[0].at.Equal(at) {
		signal(a.earlier)
	}
}

// run does what is due and returns when it is to be called again.
func (a *agenda) run(now time.Time) (next time.Time, more bool) {
	for len(a.entries) > 0 {
		if a.entries[0].at.After(now) {
			return a.entries[0].at, true
		}
		heap.Pop(&a.entries).(entry).do()
	}
	return time.Time{}, false
}

type entryHeap []entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h entryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)        { *h = append(*h, x.(entry)) }
func (h *entryHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = entry{}
	*h = old[:len(old)-1]
	return last
}
