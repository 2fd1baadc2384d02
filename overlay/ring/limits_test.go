package ring

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Distances around the ring are compared to the last bit, whatever words they borrow
// from, and of two nodes as close the one that follows owns the channel.
func TestOwnerOfNearNodes(t *testing.T) {
	id := channel.ID{5: 1, 13: 1}
	for _, tc := range []struct {
		name  string
		nodes [2]channel.ID
	}{
		{"equally far", [2]channel.ID{{5: 1}, {5: 1, 13: 2}}},
		{"closer by the last bit, before", [2]channel.ID{{5: 1, 19: 1}, {5: 1, 13: 2}}},
		{"closer by the last bit, behind", [2]channel.ID{{5: 1}, {5: 1, 13: 1, 14: 0xff, 19: 0xff}}},
		{"before, across the lower words", [2]channel.ID{{4: 1, 12: 0x80}, {5: 3}}},
		{"before, by the lower words", [2]channel.ID{{5: 0, 13: 2}, {5: 2, 13: 1}}},
		{"behind, across the upper words", [2]channel.ID{{19: 1}, {3: 1}}},
		{"behind, by the upper words", [2]channel.ID{{}, {5: 2}}},
		{"the first word counts", [2]channel.ID{{}, {2: 1}}},
	} {
		r := New(tc.nodes[:])
		want := 1
		if away(r.ID(0), id).Cmp(away(r.ID(1), id)) < 0 {
			want = 0
		}
		if got := r.Owner(id); got != want {
			t.Errorf("%s: owner %d, want %d", tc.name, got, want)
		}
	}
}

// A wedge ends behind a node whose digits are all the highest, and digits are
// replaced in every place of an ID.
func TestWedgeOfTheHighestID(t *testing.T) {
	var highest channel.ID
	for i := range highest {
		highest[i] = 0xff
	}
	r := New([]channel.ID{{}, highest})
	for level := range Digits + 1 {
		if from, to := r.Wedge(highest, level); to != 2 || from != min(level, 1) {
			t.Errorf("level %d: wedge %d to %d", level, from, to)
		}
	}
}
