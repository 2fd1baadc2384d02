package stream

import (
	"slices"
	"sort"

	"github.com/seed-91e7e7c1/corona/channel"
)

// place is how far a stream has come: of each bucket everything up to a cursor. Most
// ranges are where the common order is, at base; the others' buckets are exceptions.
// It knows buckets, not ranges, so that it outlives a split or a merge of ranges.
type place struct {
	base   channel.Cursor
	except []run // sorted, disjoint, none at base, neighbours differ; shared, never changed
}

// run is a run of buckets that are at a cursor of their own.
type run struct {
	from, to channel.Bucket // inclusive
	at       channel.Cursor
}

const lastBucket = channel.Buckets - 1

// everything is the place behind all that can ever come.
var everything = place{base: channel.EndOf(1<<64 - 1)}

// add appends a run behind those that the place has; one at base is none.
func (p *place) add(from, to channel.Bucket, at channel.Cursor) {
	if at == p.base {
		return
	}
	if n := len(p.except); n > 0 && p.except[n-1].to+1 == from && p.except[n-1].at == at {
		p.except[n-1].to = to
		return
	}
	p.except = append(p.except, run{from, to, at})
}

// span returns where a bucket is, and the last bucket of the run that shares this.
func (p place) span(b channel.Bucket) (at channel.Cursor, to channel.Bucket) {
	i := sort.Search(len(p.except), func(i int) bool { return p.except[i].to >= b })
	switch {
	case i == len(p.except):
		return p.base, lastBucket
	case p.except[i].from > b:
		return p.base, p.except[i].from - 1
	default:
		return p.except[i].at, p.except[i].to
	}
}

// of returns where a bucket is.
func (p place) of(b channel.Bucket) channel.Cursor {
	if len(p.except) == 0 {
		return p.base
	}
	at, _ := p.span(b)
	return at
}

// has reports whether an update lies up to the place.
func (p place) has(at channel.Cursor) bool { return !p.of(at.Bucket).Less(at) }

// covers reports whether p is nowhere before q.
func (p place) covers(q place) bool {
	if p.same(q) {
		return true
	}
	for b := channel.Bucket(0); b < channel.Buckets; {
		mine, to := p.span(b)
		other, end := q.span(b)
		if mine.Less(other) {
			return false
		}
		b = min(to, end) + 1
	}
	return true
}

// same reports whether two places have the same form, which equal places may lack.
func (p place) same(q place) bool {
	if p.base != q.base || len(p.except) != len(q.except) {
		return false
	}
	return len(p.except) == 0 || &p.except[0] == &q.except[0] || slices.Equal(p.except, q.except)
}

// lowest returns the first cursor that any bucket of a range is at.
func (p place) lowest(r channel.Range) channel.Cursor {
	at, to := p.span(r.From)
	for to < r.To {
		var next channel.Cursor
		if next, to = p.span(to + 1); next.Less(at) {
			at = next
		}
	}
	return at
}

// highest returns the last cursor that any bucket of a range is at.
func (p place) highest(r channel.Range) channel.Cursor {
	at, to := p.span(r.From)
	for to < r.To {
		var next channel.Cursor
		if next, to = p.span(to + 1); at.Less(next) {
			at = next
		}
	}
	return at
}

// merge returns the place that is everywhere as far as the farther of p and q.
func (p place) merge(q place) place { return p.follow(place{}, q) }

// before returns the place that is nowhere behind a cursor.
func (p place) before(at channel.Cursor) place {
	out := place{base: at}
	for b := channel.Bucket(0); b < channel.Buckets; {
		mine, to := p.span(b)
		if at.Less(mine) {
			mine = at
		}
		out.add(b, to, mine)
		b = to + 1
	}
	return out
}

// follow returns where p comes to while another place goes from one to the next:
// buckets that are as far as from come along, the others stay. What is returned has
// the form of to, as far as they agree.
func (p place) follow(from, to place) place {
	if p.same(from) {
		return to
	}
	out := place{base: to.base}
	for b := channel.Bucket(0); b < channel.Buckets; {
		at, end := p.span(b)
		lower, fromEnd := from.span(b)
		upper, toEnd := to.span(b)
		end = min(end, fromEnd, toEnd)
		if !at.Less(lower) && at.Less(upper) {
			at = upper
		}
		out.add(b, end, at)
		b = end + 1
	}
	return out
}
