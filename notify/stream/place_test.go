package stream

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// thirds are three ranges.
var thirds = []channel.Range{{ID: 0, From: 0, To: 999}, {ID: 1, From: 1000, To: 2999}, {ID: 2, From: 3000, To: lastBucket}}

// buckets is a place the long way: where each bucket is.
type buckets [channel.Buckets]channel.Cursor

func flat(p place) *buckets {
	out := new(buckets)
	for b := range out {
		out[b] = p.base
	}
	for _, r := range p.except {
		for b := r.from; b <= r.to; b++ {
			out[b] = r.at
		}
	}
	return out
}

func drawCursor(t *rapid.T) channel.Cursor {
	return channel.Cursor{Stamp: rapid.Uint64Range(1, 4).Draw(t, "stamp"), Bucket: channel.Bucket(rapid.SampledFrom([]int{0, 7, int(lastBucket)}).Draw(t, "bucket"))}
}

func drawPlace(t *rapid.T) place {
	p := place{base: drawCursor(t)}
	for from := 0; from < channel.Buckets; {
		to := min(from+rapid.SampledFrom([]int{1, 2, 500, 3000}).Draw(t, "run"), channel.Buckets)
		if rapid.Bool().Draw(t, "own") {
			p.add(channel.Bucket(from), channel.Bucket(to-1), drawCursor(t))
		}
		from = to
	}
	return p
}

func covers(a, b *buckets) bool {
	for i := range a {
		if a[i].Less(b[i]) {
			return false
		}
	}
	return true
}

// What a place says and does with runs of buckets is the same bucket by bucket.
func TestPlaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPlace(t), drawPlace(t)
		from, to := drawPlace(t), drawPlace(t)
		if rapid.Bool().Draw(t, "joined") {
			p = from
		}
		a, b, f, g := flat(p), flat(q), flat(from), flat(to)
		at := drawCursor(t)
		merged, before, followed := flat(p.merge(q)), flat(p.before(at)), flat(p.follow(from, from.merge(to)))
		lowest, highest := a[thirds[1].From], a[thirds[1].From]
		for i := range a {
			b32 := channel.Bucket(i)
			if p.of(b32) != a[i] {
				t.Fatalf("bucket %d is at %v, want %v", i, p.of(b32), a[i])
			}
			if want := later(a[i], b[i]); merged[i] != want {
				t.Fatalf("bucket %d of the merge is at %v, want %v", i, merged[i], want)
			}
			if want := earlier(a[i], at); before[i] != want {
				t.Fatalf("bucket %d before %v is at %v, want %v", i, at, before[i], want)
			}
			want := a[i]
			if !a[i].Less(f[i]) {
				want = later(a[i], g[i])
			}
			if followed[i] != want {
				t.Fatalf("bucket %d follows to %v, want %v", i, followed[i], want)
			}
			if thirds[1].Has(b32) {
				lowest, highest = earlier(lowest, a[i]), later(highest, a[i])
			}
		}
		if p.lowest(thirds[1]) != lowest || p.highest(thirds[1]) != highest {
			t.Fatalf("range from %v to %v, want %v to %v", p.lowest(thirds[1]), p.highest(thirds[1]), lowest, highest)
		}
		if p.covers(q) != covers(a, b) || !p.merge(q).covers(q) || !p.covers(p.before(at)) {
			t.Fatalf("covers %v, want %v", p.covers(q), covers(a, b))
		}
		epoch, again, err := decodeCursor(encodeCursor(7, p))
		if err != nil || epoch != 7 || !again.same(p) {
			t.Fatalf("read as %v, %v; want %v", again, err, p)
		}
	})
}

// What the tail counts for an event is what it takes.
func TestEventSize(t *testing.T) {
	if got := reflect.TypeFor[event]().Size(); got > eventBytes {
		t.Errorf("an event has %d bytes, %d are counted", got, eventBytes)
	}
	if got := reflect.TypeFor[run]().Size(); got > exceptSize {
		t.Errorf("a run has %d bytes, %d are counted", got, exceptSize)
	}
}
