package content

import (
	"strings"
	"time"
)

// The years that a date is brought into: what is beyond is a mistake, and RFC
// 3339 ends at 9999.
const (
	firstYear = 1900
	lastYear  = 2199
)

// ClampDate returns a date as RFC 3339 in UTC, brought into the years that can
// be meant; empty for what is no date.
func ClampDate(parsed *time.Time, raw string) string {
	if parsed == nil {
		t, err := time.Parse(time.RFC3339, strings.TrimSpace(raw))
		if err != nil {
			return ""
		}
		parsed = &t
	}
	t := parsed.UTC().Truncate(time.Second)
	switch {
	case t.Year() < firstYear:
		t = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > lastYear:
		t = time.Date(lastYear, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return t.Format(time.RFC3339)
}
