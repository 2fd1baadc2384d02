package honeycomb

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestParseLadder(t *testing.T) {
	for s, want := range map[string]Ladder{
		"any": Any(), "prefix:2": Prefix(2), "prefix:1048576": Prefix(1 << 20), "geometric:1.01": Geometric(1.01),
		"geometric:1048576": Geometric(1 << 20), "geometric:2.5": Geometric(2.5),
	} {
		if got, err := ParseLadder(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"prefix:1048577", "geometric:1048577", "geometric:1.009", "prefix:x", "geometric:x", "suffix:4", "any:4", "prefix:1", "prefix:-2", "4",
		"prefix:1e400", "geometric:1e400", "prefix:2x", "geometric:2x", ":2", "prefix:Inf", "geometric:Inf",
	} {
		if got, err := ParseLadder(s); !errors.Is(err, ErrConfig) || got != (Ladder{}) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	if got := Geometric(1.0 / 3).String(); got != "geometric:0.3333333333333333" {
		t.Errorf("%q", got)
	}
	if _, err := (Config{Nodes: 9, Interval: time.Hour, Ladder: Geometric(1.01)}).rungs(); err != nil {
		t.Errorf("a factor of 1.01: %v", err)
	}
}

// All rungs of a ladder, from the lowest to the highest rate.
func TestAllRungs(t *testing.T) {
	for _, tc := range []struct {
		ladder Ladder
		nodes  int
		want   []float64
	}{
		{Geometric(4), 16, []float64{1.0 / 16, 1.0 / 4, 1, 4, 16}},
		{Geometric(4), 63, []float64{1.0 / 16, 1.0 / 4, 1, 4, 16}},
		{Geometric(7), 7, []float64{1.0 / 7, 1, 7}},
		{Geometric(50), 99, []float64{1, 50}},
		{Geometric(48), 48, []float64{1.0 / 48, 1, 48}},
		{Geometric(1.9), 14, []float64{1.0 / 47, 1.0 / 25, 1.0 / 13, 1.0 / 7, 1.0 / 4, 1.0 / 2, 1, 2, 4, 7, 13}},
	} {
		r, err := Config{Ladder: tc.ladder, Nodes: tc.nodes, Interval: time.Hour}.rungs()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.rate, tc.want) || r.at(0) != 1 {
			t.Errorf("%v: %v, want %v", tc.ladder, r.rate, tc.want)
		}
		checkRungs(t, tc.ladder, r)
	}
	prefix, err := Config{Ladder: Prefix(4), Nodes: 32, Interval: time.Hour}.rungs()
	if err != nil {
		t.Fatal(err)
	}
	if above := prefix.rate[47:]; prefix.bottom != -47 || prefix.top != 3 || !slices.Equal(above, []float64{1, 2, 8, 32}) {
		t.Errorf("from rung %d to %d, %v from rate 1 on", prefix.bottom, prefix.top, above)
	}
}

// Sums of rates, whole and not.
func TestPolls(t *testing.T) {
	for _, ladder := range []Ladder{Any(), Geometric(4)} {
		r, err := Config{Ladder: ladder, Nodes: 16, Interval: time.Hour}.rungs()
		if err != nil {
			t.Fatal(err)
		}
		rung := []int32{0, 1, 1, 2, -1, -1, 0, r.bottom, r.top}
		var want float64
		for _, n := range rung {
			want += r.at(n)
		}
		if got := r.polls(rung); !near(got.value(), want) {
			t.Errorf("%v: %v polls, want %v", ladder, got.value(), want)
		}
	}
}

func TestFraction(t *testing.T) {
	for rate, want := range map[float64][2]uint32{
		-1: {0, 1}, 0: {0, 1}, 1.0 / 48: {1, 48}, 1.0 / 47: {1, 47}, 0.5: {1, 2}, 1: {1, 1}, 6.25: {7, 1}, 1 << 24: {1 << 24, 1},
	} {
		if polls, intervals := Fraction(rate); [2]uint32{polls, intervals} != want {
			t.Errorf("rate %v: %d/%d, want %v", rate, polls, intervals, want)
		}
	}
	if got := mean(time.Hour, 4); got != 450 {
		t.Errorf("a change waits %v s at 4 polls an hour, want 450", got)
	}
}
