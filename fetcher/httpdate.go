package fetcher

import (
	"bytes"
	"time"
)

// The forms of an HTTP date behind the name of the day (RFC 9110, section 5.6.7).
// d is the day, _ the day with a blank for a leading 0, m the month, y the year, s
// its last two digits, t the time of day; all else stands for itself.
const (
	imfFixdate = ", d m y t GMT" // Sun, 06 Nov 1994 08:49:37 GMT
	rfc850     = ", d-m-s t GMT" // Sunday, 06-Nov-94 08:49:37 GMT
	asctime    = " m _ t y"      // Sun Nov  6 08:49:37 1994
)

// date reads an HTTP date as caches are to read it (RFC 9111, section 4.2): letters
// in either case, no zone but GMT. now tells the century of a year of two digits.
// Nothing is allocated, whatever the value: "Expires: -1" is common.
// net/http's parser takes any zone for GMT and has a fixed century for two digits.
func date(value []byte, now time.Time) (at time.Time, ok bool) {
	n := bytes.IndexAny(value, ", ")
	if n < 0 {
		return time.Time{}, false
	}
	s := dateScanner{rest: value[n:], now: now}
	switch day := value[:n]; {
	case indexName(weekdays[:], day) >= 0:
		s.scan(rfc850)
	case indexName(shortDays[:], day) < 0:
		return time.Time{}, false
	case value[n] == ',':
		s.scan(imfFixdate)
	default:
		s.scan(asctime)
	}
	return s.date()
}

var (
	weekdays  = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	shortDays = [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
	months    = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// indexName returns the place of a name in a list, -1 when it is not there.
func indexName(names []string, name []byte) int {
	for i := range names {
		if equalFold(name, names[i]) {
			return i
		}
	}
	return -1
}

// equalFold compares without regard to the case of letters, which in names of the
// protocol are those of ASCII.
func equalFold(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if lower(b[i]) != lower(name[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// dateScanner takes a date apart.
type dateScanner struct {
	rest   []byte
	now    time.Time
	failed bool

	year, month, day     int
	hour, minute, second int
	shortYear            bool
}

// scan reads all of rest in one of the forms.
func (s *dateScanner) scan(form string) {
	for i := 0; i < len(form) && !s.failed; i++ {
		switch form[i] {
		case 'd':
			s.day = s.number(2)
		case '_':
			s.day = s.padded()
		case 'm':
			s.month = 1 + indexName(months[:], s.take(3))
		case 'y':
			s.year = s.number(4)
		case 's':
			s.year, s.shortYear = s.number(2), true
		case 't':
			s.clock()
		default:
			s.literal(form[i])
		}
	}
	s.failed = s.failed || len(s.rest) > 0
}

// take returns the next n bytes, nil when there are fewer.
func (s *dateScanner) take(n int) (part []byte) {
	if len(s.rest) < n {
		s.failed = true
		return nil
	}
	part, s.rest = s.rest[:n], s.rest[n:]
	return part
}

func (s *dateScanner) literal(c byte) {
	for _, got := range s.take(1) {
		s.failed = s.failed || lower(got) != lower(c)
	}
}

func (s *dateScanner) number(digits int) (n int) {
	for _, c := range s.take(digits) {
		s.failed = s.failed || c < '0' || c > '9'
		n = 10*n + int(c-'0')
	}
	return n
}

func (s *dateScanner) padded() int {
	if len(s.rest) > 0 && s.rest[0] == ' ' {
		s.take(1)
		return s.number(1)
	}
	return s.number(2)
}

func (s *dateScanner) clock() {
	s.hour = s.number(2)
	s.literal(':')
	s.minute = s.number(2)
	s.literal(':')
	s.second = s.number(2)
}

// date returns what was scanned. A leap second is the one before it, since a date
// may only be made earlier (RFC 9111, section 4.2).
func (s *dateScanner) date() (at time.Time, ok bool) {
	if s.failed || s.month < 1 || s.hour > 23 || s.minute > 59 || s.second > 60 {
		return time.Time{}, false
	}
	at = s.in(s.year)
	if s.shortYear {
		at = s.inCentury()
	}
	if at.Day() != s.day {
		return time.Time{}, false // of another month
	}
	return at, true
}

func (s *dateScanner) in(year int) time.Time {
	return time.Date(year, time.Month(s.month), s.day, s.hour, s.minute, min(s.second, 59), 0, time.UTC)
}

// inCentury returns the date in the last year with these two digits that is not
// more than 50 years ahead (RFC 9110, section 5.6.7).
func (s *dateScanner) inCentury() time.Time {
	const century = 100
	year := s.now.Year() - s.now.Year()%century + century + s.year
	for s.in(year).After(s.now.AddDate(century/2, 0, 0)) {
		year -= century
	}
	return s.in(year)
}
