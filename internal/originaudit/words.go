package originaudit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is what an origin can ask for at most: a reader may come back after a
// day whatever was said.
const longest = 24 * time.Hour

// retryAfter returns how long an answer asks to be left alone (RFC 9110, section
// 10.2.3), at most a day; 0 if it does not say so in a way that can be read. A date
// counts as an instant and as a distance from the answer's own date, whichever ends
// sooner: the seconds of both are rounded.
func retryAfter(s *Said, answered time.Time) time.Duration {
	value := strings.TrimSpace(s.Fields.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	wait := until.Sub(answered)
	if date, err := http.ParseTime(s.Fields.Get("Date")); err == nil {
		wait = min(wait, until.Sub(date))
	}
	return min(max(wait, 0), longest)
}

// freshFor returns how long an answer stays fresh by the origin's own words, as a
// private cache reads them (RFC 9111, section 4.2), at most a day: max-age before
// Expires, less its age.
func freshFor(s *Said) time.Duration {
	lifetime, found := maxAge(s.Fields.Values("Cache-Control"))
	if !found {
		lifetime = expires(s.Fields)
	}
	age, err := strconv.ParseUint(s.Fields.Get("Age"), 10, 31)
	if err != nil {
		age = 0
	}
	return max(lifetime-time.Duration(age)*time.Second, 0)
}

// maxAge returns the lifetime that Cache-Control gives; found is false if it gives
// none and Expires may.
func maxAge(fields []string) (lifetime time.Duration, found bool) {
	for directive := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-cache", "no-store":
			return 0, true
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 64)
			if err == nil {
				lifetime = time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
			}
			found = true
		}
	}
	return lifetime, found
}

func expires(fields Fields) time.Duration {
	date, err := http.ParseTime(fields.Get("Date"))
	if err != nil {
		return 0
	}
	until, err := http.ParseTime(fields.Get("Expires"))
	if err != nil {
		return 0
	}
	return min(max(until.Sub(date), 0), longest)
}
