package primary

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestTable: a table holds what a map does, whatever comes and goes.
func TestTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all table
		want := make(map[channel.ID]factors)
		for i := range rapid.IntRange(0, 200).Draw(rt, "steps") {
			id := channel.ID{byte(rapid.IntRange(0, 2).Draw(rt, "bucket")), 3: byte(rapid.IntRange(0, 20).Draw(rt, "channel"))}
			if rapid.IntRange(0, 2).Draw(rt, "do") == 0 {
				all.remove(id)
				delete(want, id)
			} else {
				all.set(id, factors{subscribers: uint32(i)})
				want[id] = factors{subscribers: uint32(i)}
			}
		}
		got := make(map[channel.ID]factors)
		for _, run := range all.runs {
			for i, e := range run {
				got[e.id] = e.factors
				if i > 0 && run[i-1].id.Compare(e.id) >= 0 {
					rt.Fatalf("%s comes before %s", run[i-1].id, e.id)
				}
			}
			if len(run) < cap(run)/4 {
				rt.Fatalf("%d entries in room for %d", len(run), cap(run))
			}
		}
		for id, f := range want {
			if has, known := all.get(id); !known || has != f {
				rt.Fatalf("%s: %v, %v; want %v", id, has, known, f)
			}
		}
		if !maps.Equal(got, want) || all.n != len(want) {
			rt.Fatalf("table of %d has %v, want %v", all.n, got, want)
		}
	})
}

// TestTableGrowth: a run has little more room than it has entries, whatever their
// number.
func TestTableGrowth(t *testing.T) {
	var all table
	for n := range 600 {
		all.set(channel.ID{3: byte(n >> 8), 4: byte(n)}, factors{})
		if run := all.runs[0]; len(run) != n+1 || cap(run) > n+n/8+spare {
			t.Fatalf("%d entries in room for %d", n+1, cap(run))
		}
	}
}
