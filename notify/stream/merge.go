package stream

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// merge brings the events of several ranges into their common order, by stamp and
// bucket: a k-way merge. An event goes out when every other range is known to have
// nothing before it. A range that does not let this be known within a limit lags: it
// holds up no others, its events go out as they come, and it is back in the common
// order once it has caught up with it.
//
// It has no clock and no goroutine, and knows neither store nor streams.
type merge struct {
	feeds []feed
	base  channel.Cursor // how far the common order has come
	limit time.Duration  // how long an event waits for ranges that may have an earlier one

	except  []run // of the last place: shared by all events with the same
	scratch []run
}

// feed is what the merge knows of one range.
type feed struct {
	channel.Range
	queue []event        // read, in order
	at    channel.Cursor // everything up to here has gone out
	read  channel.Cursor // everything up to here has gone out or is in the queue
	until channel.Cursor // nothing behind it is wanted
	lags  bool
	front time.Time // since when its head is the next event and waits; zero if not
}

// newMerge returns a merge of the ranges of a table that goes from one place to
// another. Limit bounds how long an event waits for other ranges.
func newMerge(table []channel.Range, from, to place, limit time.Duration) *merge {
	m := &merge{feeds: make([]feed, len(table)), limit: limit}
	for i, r := range table {
		at := from.lowest(r)
		m.feeds[i] = feed{Range: r, at: at, read: at, until: to.highest(r)}
	}
	return m
}

// fill adds what was read of a range: its events behind what was read before, in
// order, and how far this is everything.
func (m *merge) fill(i int, events []event, read channel.Cursor) {
	f := &m.feeds[i]
	for _, e := range events {
		if !f.until.Less(e.at) {
			f.queue = append(f.queue, e)
		}
	}
	f.read = later(f.read, read)
	m.rejoin(f)
}

// end has a range give no more than what has been read.
func (m *merge) end(i int) {
	f := &m.feeds[i]
	f.until, f.read = f.at, later(f.at, f.read)
	if n := len(f.queue); n > 0 {
		f.until = f.queue[n-1].at
	}
}

// pop returns the next event, with the place that it leads to; none when there is no
// event, or it has to wait.
func (m *merge) pop(now time.Time) (event, bool) {
	for i := range m.feeds {
		if f := &m.feeds[i]; f.lags && len(f.queue) > 0 {
			return m.take(f), true
		}
	}
	f := m.next()
	if f == nil {
		return event{}, false
	}
	waits := false
	for i := range m.feeds {
		waits = waits || m.feeds[i].holdsUp(f.queue[0].at)
	}
	if waits && !m.overdue(f, now) {
		return event{}, false
	}
	return m.take(f), true
}

// next returns the feed with the first event of the common order.
func (m *merge) next() (first *feed) {
	for i := range m.feeds {
		f := &m.feeds[i]
		if !f.lags && len(f.queue) > 0 && (first == nil || f.queue[0].at.Less(first.queue[0].at)) {
			first = f
		}
	}
	return first
}

// overdue reports whether the head of a feed has waited for as long as it may; then
// those that it waited for lag from where the common order is.
func (m *merge) overdue(f *feed, now time.Time) bool {
	if f.front.IsZero() {
		f.front = now
	}
	if now.Sub(f.front) < m.limit {
		return false
	}
	for i := range m.feeds {
		if other := &m.feeds[i]; other.holdsUp(f.queue[0].at) {
			other.at, other.lags = later(other.at, m.base), true
		}
	}
	return true
}

// holdsUp reports whether a range may have an event before a cursor, as far as is
// known.
func (f *feed) holdsUp(at channel.Cursor) bool {
	return !f.lags && len(f.queue) == 0 && f.read.Less(at) && f.read.Less(f.until)
}

func (m *merge) take(f *feed) event {
	e := f.queue[0]
	f.queue[0] = event{}
	f.queue = f.queue[1:]
	if len(f.queue) == 0 {
		f.queue = nil
	}
	f.at, f.front = e.at, time.Time{}
	if f.lags {
		m.rejoin(f)
	} else {
		m.base = e.at
	}
	e.after = m.place()
	return e
}

// rejoin brings a range that lags back once all its events up to the common order's
// place have gone out.
func (m *merge) rejoin(f *feed) {
	if len(f.queue) > 0 {
		f.lags = f.lags && !m.base.Less(f.queue[0].at)
	} else {
		f.lags = f.lags && f.read.Less(m.base)
	}
}

// queued returns how many events have been read and have not gone out.
func (m *merge) queued() (n int) {
	for i := range m.feeds {
		n += len(m.feeds[i].queue)
	}
	return n
}

// place returns how far the merge has come.
func (m *merge) place() place { return m.placeFrom(m.base, m.base) }

// whole returns the place of a merge that is at its end, in the form of a base.
func (m *merge) whole(base channel.Cursor) place { return m.placeFrom(base, everything.base) }

func (m *merge) placeFrom(base, front channel.Cursor) place {
	p := place{base: base, except: m.scratch[:0]}
	for i := range m.feeds {
		f := &m.feeds[i]
		at := f.at
		if !f.lags {
			at = later(at, earlier(front, f.until))
		}
		p.add(f.From, f.To, at)
	}
	m.scratch = p.except
	if !slices.Equal(m.except, p.except) {
		m.except = slices.Clone(p.except)
	}
	p.except = m.except
	return p
}

// wanted calls yield for each range that must be read further for the merge to go on,
// with the stamp up to which.
func (m *merge) wanted(yield func(i int, stamp uint64)) {
	at := everything.base
	if f := m.next(); f != nil {
		at = f.queue[0].at
	}
	for i := range m.feeds {
		f := &m.feeds[i]
		switch {
		case f.lags && len(f.queue) == 0:
			yield(i, m.base.Stamp)
		case f.holdsUp(at):
			yield(i, at.Stamp)
		}
	}
}

func later(a, b channel.Cursor) channel.Cursor {
	if a.Less(b) {
		return b
	}
	return a
}

func earlier(a, b channel.Cursor) channel.Cursor {
	if b.Less(a) {
		return b
	}
	return a
}
