package stream

import (
	"sort"

	"github.com/seed-91e7e7c1/corona/channel"
)

const (
	maxEvents  = 4096 // in memory, whatever their size
	eventBytes = 128  // of an event besides its data
)

// tail is the newest part of the order of all updates: all events behind start, up
// to end.
type tail struct {
	start, end channel.Cursor
	events     []event // in order
	bytes      int     // of events
}

// extend adds events, moves the end to a place at or behind the last of them, and
// forgets the oldest events beyond most bytes.
func (t *tail) extend(events []event, end channel.Cursor, most int) {
	for _, e := range events {
		t.events = append(t.events, e)
		t.bytes += len(e.data) + eventBytes
		t.end = e.at
	}
	t.trim(most)
	if t.end.Less(end) {
		t.end = end
	}
}

func (t *tail) trim(most int) {
	n := 0
	for t.bytes > most || len(t.events)-n > maxEvents {
		t.bytes -= len(t.events[n].data) + eventBytes
		t.start = t.events[n].at
		t.events[n] = event{} // or its data would live as long as the array
		n++
	}
	t.events = t.events[n:]
}

// behind returns the events behind a cursor.
func (t *tail) behind(c channel.Cursor) []event {
	return t.events[sort.Search(len(t.events), func(i int) bool { return c.Less(t.events[i].at) }):]
}
