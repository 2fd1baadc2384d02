package local

import (
	"math"
	"testing"
)

// What a range planned is believed between half and twice of what its clusters say;
// without both figures clusters are taken at their word.
func TestRatioIsClamped(t *testing.T) {
	for _, tc := range []struct{ planned, model, want float64 }{
		{10, 10, 1}, {12, 10, 1.2}, {8, 10, 0.8},
		{5, 10, 0.5}, {4.9, 10, 0.5}, {0.001, 10, 0.5},
		{20, 10, 2}, {21, 10, 2}, {1e9, 10, 2},
		{0, 10, 1}, {-1, 10, 1}, {10, 0, 1}, {10, -1, 1}, {math.NaN(), 10, 1}, {10, math.NaN(), 1},
	} {
		if got := ratio(tc.planned, tc.model); got != tc.want {
			t.Errorf("ratio(%v, %v) = %v, want %v", tc.planned, tc.model, got, tc.want)
		}
	}
}

// A corrector takes back its gain's part of an error in one interval, and goes no
// farther than a quarter in either direction, however large the error and however long.
func TestCorrectorSteps(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	for _, tc := range []struct {
		name                     string
		gain, planned, measured  float64
		limit                    float64
		binds                    bool
		first, second, afterLong float64
	}{
		{"at the limit", 0.25, 100, 0, 100, true, 1, 1, 1},
		{"a tenth below", 0.25, 80, 0, 100, true, 1 + 0.25*0.25, 1.0625 * 1.0625, 1.25},
		{"twice the limit", 0.25, 200, 0, 100, true, 1 - 0.25*0.5, 0.8, 0.8},
		{"measured above the plan", 0.25, 100, 200, 100, true, 0.875, 0.8, 0.8},
		{"measured below the plan", 0.25, 200, 100, 100, true, 0.875, 0.8, 0.8},
		{"far below: as a quarter of the limit", 0.1, 1, 0, 100, true, 1.25, 1.25, 1.25},
		{"the default gain", 0, 200, 0, 100, true, 1 - DefaultGain/2, math.Pow(1-DefaultGain/2, 2), 0.8},
		{"more than the highest gain", 5, 200, 0, 100, true, 1 - MostGain/2, 0.8, 0.8},
		{"nothing planned", 0.25, 0, 0, 100, true, 1, 1, 1},
		{"no limit", 0.25, 100, 0, 0, true, 1, 1, 1},
		{"not bound, below the limit", 0.25, 80, 0, 100, false, 1, 1, 1},
		{"not bound, at the limit", 0.25, 100, 0, 100, false, 1, 1, 1},
		{"not bound, above the limit", 0.25, 200, 0, 100, false, 0.875, 0.8, 0.8},
	} {
		c := Corrector{Gain: tc.gain}
		next := func() float64 { return c.Next(tc.planned, tc.measured, tc.limit, tc.binds) }
		if got := next(); !near(got, tc.first) {
			t.Errorf("%s: first %v, want %v", tc.name, got, tc.first)
		}
		if got := next(); !near(got, tc.second) {
			t.Errorf("%s: second %v, want %v", tc.name, got, tc.second)
		}
		for range 50 {
			next()
		}
		if got := next(); !near(got, tc.afterLong) {
			t.Errorf("%s: in the end %v, want %v", tc.name, got, tc.afterLong)
		}
	}
	c := Corrector{Gain: 0.25}
	c.Next(200, 0, 100, true)
	if got := c.Next(50, 0, 100, false); !near(got, 0.875+0.25*0.125) {
		t.Errorf("not bound after a correction: %v, want a quarter of it taken back", got)
	}
}
