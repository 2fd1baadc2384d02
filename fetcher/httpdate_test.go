package fetcher

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDate reads dates in the three forms of RFC 9110, section 5.6.7, as section
// 4.2 of RFC 9111 asks of caches.
func TestDate(t *testing.T) {
	at := func(year int, month time.Month, day, hour, minute, second int) time.Time {
		return time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	}
	example := at(1994, time.November, 6, 8, 49, 37)
	none := time.Time{}
	tests := []struct {
		value string
		want  time.Time
	}{
		{"Sun, 06 Nov 1994 08:49:37 GMT", example},
		{"Sunday, 06-Nov-94 08:49:37 GMT", example},
		{"Sun Nov  6 08:49:37 1994", example},
		{"Sun Nov 06 08:49:37 1994", example},
		{"Wed Nov 16 08:49:37 1994", at(1994, time.November, 16, 8, 49, 37)},
		{"sUN, 06 nOV 1994 08:49:37 gmt", example},
		{"SUNDAY, 06-NOV-94 08:49:37 GMT", example},
		{"Sat, 06 Nov 1994 08:49:37 GMT", example}, // the day's name adds nothing
		{"Thu, 29 Feb 2024 00:00:00 GMT", at(2024, time.February, 29, 0, 0, 0)},
		{"Sat, 31 Dec 2016 23:59:60 GMT", at(2016, time.December, 31, 23, 59, 59)}, // 4.2: no later than said
		{"Sat, 01 Jan 0000 00:00:00 GMT", at(0, time.January, 1, 0, 0, 0)},
		// Two digits: not more than 50 years after noon.
		{"Sunday, 06-Nov-99 08:49:37 GMT", at(1999, time.November, 6, 8, 49, 37)},
		{"Sunday, 06-Nov-26 08:49:37 GMT", at(2026, time.November, 6, 8, 49, 37)},
		{"Sunday, 06-Nov-70 08:49:37 GMT", at(2070, time.November, 6, 8, 49, 37)},
		{"Friday, 20-Nov-76 12:00:00 GMT", at(2076, time.November, 20, 12, 0, 0)},
		{"Friday, 20-Nov-76 12:00:01 GMT", at(1976, time.November, 20, 12, 0, 1)},
		{"Tuesday, 29-Feb-00 12:00:00 GMT", at(2000, time.February, 29, 12, 0, 0)},
		{"Tuesday, 29-Feb-26 12:00:00 GMT", none},
		{"", none},
		{"0", none},
		{"-1", none},
		{"Sun", none},
		{"Sun,", none},
		{"Sun, ", none},
		{"Sun, 06 Nov 1994 08:49:37", none},
		{"Sun, 06 Nov 1994 08:49:37 GMT ", none},
		{"Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", none},
		{"Sun, 06 Nov 1994 08:49:37 UTC", none},
		{"Sun, 06 Nov 1994 08:49:37 AEST", none},
		{"Sun, 06 Nov 1994 08:49:37 +0000", none},
		{"Sun, 06 Nov 94 08:49:37 GMT", none},
		{"Sun, 06-Nov-1994 08:49:37 GMT", none},
		{"Sun, 6 Nov 1994 08:49:37 GMT", none},
		{"Sun, 06  Nov  1994 08:49:37 GMT", none},
		{"Sun 06 Nov 1994 08:49:37 GMT", none},
		{"Sunday, 06 Nov 1994 08:49:37 GMT", none},
		{"Son, 06 Nov 1994 08:49:37 GMT", none},
		{"Sun, 06 Okt 1994 08:49:37 GMT", none},
		{"Sun, 06 Nov 1994 8:49:37 GMT", none},
		{"Sun, 06 Nov 1994 08.49.37 GMT", none},
		{"Sun, 06 Nov 1994 24:00:00 GMT", none},
		{"Sun, 06 Nov 1994 08:60:00 GMT", none},
		{"Sun, 06 Nov 1994 08:49:61 GMT", none},
		{"Sun, 00 Nov 1994 08:49:37 GMT", none},
		{"Sun, 31 Nov 1994 08:49:37 GMT", none},
		{"Sun, 06 Nov -994 08:49:37 GMT", none},
		{"Sun, 06 Nov 1994 08:49:37.5 GMT", none},
		{"1994-11-06T08:49:37Z", none},
	}
	for _, test := range tests {
		got, ok := date([]byte(test.value), noon)
		if !got.Equal(test.want) || ok == test.want.IsZero() {
			t.Errorf("date(%q) = %v, %v; want %v", test.value, got, ok, test.want)
		}
	}
}

// TestTwoDigitYears holds that the window of two-digit years moves with the clock.
func TestTwoDigitYears(t *testing.T) {
	tests := []struct {
		now  int
		want int // of "05"
	}{{1999, 2005}, {2026, 2005}, {2054, 2005}, {2056, 2105}, {2099, 2105}, {2104, 2105}}
	for _, test := range tests {
		now := time.Date(test.now, time.January, 1, 0, 0, 0, 0, time.UTC)
		if got, ok := date([]byte("Tuesday, 01-Mar-05 00:00:00 GMT"), now); !ok || got.Year() != test.want {
			t.Errorf("in %d, 05 is %d; want %d", test.now, got.Year(), test.want)
		}
	}
}

// FuzzDate holds that only what net/http takes for an HTTP date is one, and that
// it is the same then, but for what net/http does otherwise: it wants zones in
// capitals, has a fixed century for two-digit years, and knows no leap seconds.
func FuzzDate(f *testing.F) {
	for _, seed := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		"Friday, 20-Nov-76 12:00:01 GMT", "Tuesday, 29-Feb-00 12:00:00 GMT", "Sat, 31 Dec 2016 23:59:60 GMT", "-1", "Sun, ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := date([]byte(value), noon)
		if !ok || got.Second() == 59 {
			return
		}
		want, err := http.ParseTime(strings.ToUpper(value))
		if err != nil || !got.Equal(want) && !got.Equal(want.AddDate(100, 0, 0)) && !got.Equal(want.AddDate(-100, 0, 0)) {
			t.Errorf("date(%q) = %s; net/http reads %s, %v", value, got, want, err)
		}
	})
}
