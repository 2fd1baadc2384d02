package channel

import (
	"testing"

	"pgregory.net/rapid"
)

// A map by range says of each bucket what the range says that was put in last, and
// nothing where none is.
func TestByRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranges := []Range{{ID: 0, To: 9}, {ID: 1, From: 10, To: 10}, {ID: 2, From: 11, To: 1000}, {ID: 3, From: 1001, To: Buckets - 1}}
		buckets := []Bucket{0, 9, 10, 11, 500, 1000, 1001, Buckets - 1}
		var m ByRange[int]
		want := make(map[uint32]int)
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			r := rapid.SampledFrom(ranges).Draw(t, "range")
			if rapid.Bool().Draw(t, "in") {
				m.Set(r, step+1)
				want[r.ID] = step + 1
			} else {
				if got := m.Remove(r); got != want[r.ID] {
					t.Fatalf("range %d had %d, want %d", r.ID, got, want[r.ID])
				}
				delete(want, r.ID)
			}
			for _, b := range buckets {
				for _, r := range ranges {
					if r.Has(b) && m.At(b) != want[r.ID] {
						t.Fatalf("bucket %d: %d, want %d", b, m.At(b), want[r.ID])
					}
				}
			}
			seen, last := 0, -1
			for r, v := range m.All() {
				if seen++; int(r.From) <= last || v != want[r.ID] || v == 0 {
					t.Fatalf("range %+v with %d after bucket %d", r, v, last)
				}
				last = int(r.To)
			}
			if seen != len(want) {
				t.Fatalf("%d ranges, want %d", seen, len(want))
			}
		}
	})
}
