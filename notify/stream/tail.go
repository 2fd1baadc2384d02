package stream

import "sort"

const (
	maxEvents  = 4096 // in memory, whatever their size
	eventBytes = 128  // of an event besides its data
	exceptSize = 24   // of a run of buckets in an event's place
)

// tail is the newest part of what the merge of all ranges gave out. Its events are
// numbered; the place of a number is where the merge was before the event that has it.
type tail struct {
	first  uint64 // number of the first event
	start  place  // of first
	events []event
	bytes  int // of events
}

// restart forgets all events: memory begins at a place, with a number that no event
// had and no reader has waited for.
func (t *tail) restart(at place) { *t = tail{first: t.end() + 1, start: at} }

// end returns the number of the next event.
func (t *tail) end() uint64 { return t.first + uint64(len(t.events)) }

// add adds an event, and forgets the oldest beyond most bytes.
func (t *tail) add(e event, most int) {
	t.events = append(t.events, e)
	t.bytes += e.size()
	n := 0
	for t.bytes > most || len(t.events)-n > maxEvents {
		t.bytes -= t.events[n].size()
		t.start = t.events[n].after
		t.events[n] = event{} // or its data would live as long as the array
		n++
	}
	t.events = t.events[n:]
	t.first += uint64(n)
}

func (e *event) size() int { return len(e.data) + eventBytes + exceptSize*len(e.after.except) }

// place returns the place of a number from first to end.
func (t *tail) place(number uint64) place {
	if number == t.first {
		return t.start
	}
	return t.events[number-t.first-1].after
}

// find returns the number of the first event that leads beyond a place, end if none
// does: those before it bring nothing to a reader at that place.
func (t *tail) find(p place) uint64 {
	return t.first + uint64(sort.Search(len(t.events), func(i int) bool { return !p.covers(t.events[i].after) }))
}
