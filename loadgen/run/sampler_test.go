package run

import (
	"testing"
	"time"
)

// A generator that stands still is late at each tick that it leaves out.
func TestLateness(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	tests := []struct {
		name       string
		meant, now int
		left       int
		late       []time.Duration
	}{
		{"in time", 10, 10, 0, []time.Duration{0}},
		{"late", 10, 19, 0, []time.Duration{9 * time.Millisecond}},
		{"still", 10, 45, 3, []time.Duration{35 * time.Millisecond, 25 * time.Millisecond, 15 * time.Millisecond, 5 * time.Millisecond}},
		{"before the window", -20, -5, 1, nil},
		{"into the window", -10, 5, 1, []time.Duration{5 * time.Millisecond}},
		{"beyond the window", 90, 115, 2, []time.Duration{25 * time.Millisecond}},
	}
	for _, test := range tests {
		s := new(sampler)
		s.mu.from, s.mu.to = at(0), at(100)
		left := s.lateness(at(test.meant), at(test.now))
		if left != test.left || len(s.mu.late) != len(test.late) {
			t.Errorf("%s: %d left out, %v", test.name, left, s.mu.late)
			continue
		}
		for i, late := range test.late {
			if s.mu.late[i] != late {
				t.Errorf("%s: %v, want %v", test.name, s.mu.late, test.late)
			}
		}
	}
}
