package originaudit

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Field is a header field as it stood on the wire.
type Field struct{ Name, Value string }

// Fields are header fields in their order.
type Fields []Field

// Values returns the values of a field, whose name's case does not matter.
func (f Fields) Values(name string) (values []string) {
	for _, field := range f {
		if strings.EqualFold(field.Name, name) {
			values = append(values, field.Value)
		}
	}
	return values
}

// Get returns a field's first value, "" if there is none.
func (f Fields) Get(name string) string {
	for _, field := range f {
		if strings.EqualFold(field.Name, name) {
			return field.Value
		}
	}
	return ""
}

// Exchange is one request and what came of it, as the origin saw it.
type Exchange struct {
	Host                  string // the address that was asked, with its port
	Method, Target, Proto string
	Fields                Fields
	Reused                bool      // not the first request on its connection
	Silent                bool      // the connection ended without a byte of an answer
	Arrived               time.Time // when its head was complete

	Said Said
	// Answered is just before the last byte of the answer was sent, or when the
	// reader went away. Zero: still under way.
	Answered time.Time
}

// Log is what an origin saw.
type Log []Exchange

// Of returns what was asked for a URL.
func (l Log) Of(url string) (of Log) {
	for i := range l {
		if l[i].URL() == url {
			of = append(of, l[i])
		}
	}
	return of
}

// Answered returns the exchanges that have ended.
func (l Log) Answered() (ended Log) {
	for i := range l {
		if !l[i].Answered.IsZero() {
			ended = append(ended, l[i])
		}
	}
	return ended
}

// Statuses returns the statuses of the answers, 0 for what is none.
func (l Log) Statuses() []int {
	statuses := make([]int, len(l))
	for i := range l {
		statuses[i] = l[i].Said.Status
	}
	return statuses
}

// String is the exchange in a line: what was asked, with which validators, and how
// it was answered.
func (e *Exchange) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Method, e.URL())
	for _, name := range []string{"If-None-Match", "If-Modified-Since"} {
		if value := e.Fields.Get(name); value != "" {
			fmt.Fprintf(&b, " %s: %s;", name, value)
		}
	}
	if e.Answered.IsZero() {
		return b.String() + " → under way"
	}
	fmt.Fprintf(&b, " → %d", e.Said.Status)
	for _, name := range []string{"ETag", "Last-Modified", "Location", "Retry-After", "Cache-Control", "Expires"} {
		if value := e.Said.Fields.Get(name); value != "" {
			fmt.Fprintf(&b, " %s: %s;", name, value)
		}
	}
	return b.String()
}

// URL is what was asked for.
func (e *Exchange) URL() string { return "http://" + e.Host + e.Target }

// Said is what an origin answered.
type Said struct {
	Status int    // 0: nothing, or nothing whole
	Fields Fields // Date among them
	Hints  Hints  // what the document said; the audit reads no documents

	// Doubtful marks a 2xx answer that a careful reader does not take at its word: a
	// body that is cut, coded beyond reading, empty, or an error page.
	Doubtful bool
}

// pair returns the validators that an answer gave.
func (s *Said) pair() Pair {
	return Pair{s.Fields.Get("ETag"), s.Fields.Get("Last-Modified")}
}

// well reports an answer as a healthy origin gives it: content, or none newer.
func (s *Said) well() bool {
	return s.Status >= 200 && s.Status < 300 || s.Status == 304
}

// location returns where a redirect leads, "" if it is none.
func (s *Said) location(from string) string {
	switch s.Status {
	case 301, 302, 303, 307, 308:
	default:
		return ""
	}
	base, err := url.Parse(from)
	if err != nil {
		return ""
	}
	target, err := base.Parse(s.Fields.Get("Location"))
	if err != nil {
		return ""
	}
	return target.String()
}

// Pair is an ETag and a Last-Modified, byte for byte as given. Empty: not given.
type Pair struct{ ETag, LastModified string }

// Hints are what a feed says of when to ask for it. Zero values say nothing.
type Hints struct {
	Every     time.Duration  // ttl, or sy:updatePeriod and sy:updateFrequency
	SkipHours []int          // 0 to 23, UTC
	SkipDays  []time.Weekday // UTC
}

// skips reports whether t lies in a skipped hour or day. Hints that leave no time
// at all are ignored.
func (h *Hints) skips(t time.Time) bool {
	t = t.UTC()
	return h.skipsHour(t.Hour()) || h.skipsDay(t.Weekday())
}

func (h *Hints) skipsHour(hour int) bool { return among(hour, h.SkipHours, 24) }

func (h *Hints) skipsDay(day time.Weekday) bool { return among(day, h.SkipDays, 7) }

// among reports whether v is one of values, unless these are all there are.
func among[T comparable](v T, values []T, all int) bool {
	different := make(map[T]bool)
	for _, value := range values {
		different[value] = true
	}
	return different[v] && len(different) < all
}
