package pace

import (
	"testing"
	"time"
)

// at is a time on a Friday.
func at(day, hour, minute int) int64 {
	return time.Date(2026, 11, 20+day, hour, minute, 0, 0, time.UTC).UnixNano()
}

const (
	weekend  = 1<<time.Saturday | 1<<time.Sunday
	workdays = 1<<7 - 1 - weekend
)

// Hours and weekdays are left out from their first nanosecond to their last.
func TestSkipExcludes(t *testing.T) {
	nine, friday := NewSkip(1<<9, 0), NewSkip(0, 1<<time.Friday)
	both := NewSkip(1<<9|1<<10, 1<<time.Saturday)
	for _, tc := range []struct {
		name string
		skip Skip
		at   int64
		want bool
	}{
		{"before the hour", nine, at(0, 9, 0) - 1, false},
		{"the hour begins", nine, at(0, 9, 0), true},
		{"the hour ends", nine, at(0, 10, 0) - 1, true},
		{"after the hour", nine, at(0, 10, 0), false},
		{"the hour of another day", nine, at(3, 9, 30), true},
		{"before the day", friday, at(0, 0, 0) - 1, false},
		{"the day begins", friday, at(0, 0, 0), true},
		{"the day ends", friday, at(1, 0, 0) - 1, true},
		{"after the day", friday, at(1, 0, 0), false},
		{"a week later", friday, at(7, 12, 0), true},
		{"an hour of a day that is not left out", both, at(0, 10, 59), true},
		{"another hour of the day that is", both, at(1, 23, 0), true},
		{"neither", both, at(2, 11, 0), false},
		{"nothing is left out", Skip{}, at(0, 9, 0), false},
	} {
		if got := tc.skip.Excludes(tc.at); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// A part that leaves nothing is ignored, and so are hours and days that there are not.
func TestNewSkip(t *testing.T) {
	const allHours, allDays = 1<<24 - 1, 1<<7 - 1
	for _, tc := range []struct{ got, want Skip }{
		{NewSkip(allHours, 0), Skip{}},
		{NewSkip(0, allDays), Skip{}},
		{NewSkip(allHours, 1), NewSkip(0, 1)},
		{NewSkip(1, allDays), NewSkip(1, 0)},
		{NewSkip(1<<24|1<<31, 1<<7), Skip{}},
		{NewSkip(1<<24|2, 1<<7|2), NewSkip(2, 2)},
		{NewSkip(allHours|1<<24, allDays|1<<7), Skip{}},
	} {
		if tc.got != tc.want {
			t.Errorf("%+v, want %+v", tc.got, tc.want)
		}
	}
	if all := NewSkip(allHours-1, allDays-1); all.Longest() != 6*24*time.Hour+23*time.Hour {
		t.Errorf("all but an hour of Sundays: %v", all.Longest())
	}
}

func TestSkipLongest(t *testing.T) {
	for _, tc := range []struct {
		name  string
		hours uint32
		days  uint8
		want  time.Duration
	}{
		{"nothing", 0, 0, 0},
		{"an hour", 1 << 9, 0, time.Hour},
		{"two runs", 1<<3 | 1<<4 | 1<<9 | 1<<10 | 1<<11, 0, 3 * time.Hour},
		{"around midnight", 1<<22 | 1<<23 | 1<<0 | 1<<1, 0, 4 * time.Hour},
		{"a weekend", 0, weekend, 48 * time.Hour},
		{"workdays", 0, workdays, 5 * 24 * time.Hour},
		{"around the epoch's weekday", 0, 1<<time.Wednesday | 1<<time.Thursday, 48 * time.Hour},
		{"a weekend and the hours around it", 1 << 23, weekend, 49 * time.Hour},
	} {
		if got := NewSkip(tc.hours, tc.days).Longest(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
