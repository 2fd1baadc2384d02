package content

import (
	"testing"
	"time"
)

// Row 30: dates in year 0 or 9999 are clamped, and no date is none.
func TestClampDate(t *testing.T) {
	utc := func(year int) *time.Time {
		at := time.Date(year, 6, 1, 12, 0, 0, 999, time.UTC)
		return &at
	}
	tests := []struct {
		parsed    *time.Time
		raw, want string
	}{
		{nil, "", ""},
		{nil, "yesterday", ""},
		{nil, "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"},
		{utc(2026), "", "2026-06-01T12:00:00Z"},
		{utc(0), "", "1900-01-01T00:00:00Z"},
		{utc(-5000), "", "1900-01-01T00:00:00Z"},
		{utc(9999), "", "2199-12-31T23:59:59Z"},
		{utc(20000), "", "2199-12-31T23:59:59Z"},
	}
	for _, test := range tests {
		if got := ClampDate(test.parsed, test.raw); got != test.want {
			t.Errorf("clampDate(%v, %q) = %q, want %q", test.parsed, test.raw, got, test.want)
		}
	}
}
