package fetcher

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// noon is when the responses of these tests were complete, and said so.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

const dated = "Date: Fri, 20 Nov 2026 12:00:00 GMT\r\n"

// parsed returns a head with fields, as a response's parser leaves it.
func parsed(t testing.TB, fields string) *fasthttp.ResponseHeader {
	t.Helper()
	header := new(fasthttp.ResponseHeader)
	if err := header.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n" + fields + "\r\n"))); err != nil {
		t.Fatalf("%q: %v", fields, err)
	}
	return header
}

// TestFreshness goes through what RFC 9111 says of freshness, clause by clause. A
// case's name begins with its section there.
func TestFreshness(t *testing.T) {
	const (
		hour   = time.Hour
		longer = 1 << 31 * time.Second // the most that is counted
	)
	maxAge := func(lifetime, remaining time.Duration) Freshness {
		return Freshness{lifetime, remaining, SourceMaxAge}
	}
	expires := func(lifetime, remaining time.Duration) Freshness {
		return Freshness{lifetime, remaining, SourceExpires}
	}
	stale := Freshness{}
	tests := []struct {
		name, fields string
		want         Freshness
	}{
		{"4.2 nothing said, nothing guessed", dated + "Last-Modified: Mon, 20 Nov 2006 12:00:00 GMT\r\n", stale},
		{"5.2.2.1 max-age", dated + "Cache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.2.1 no Date", "Cache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.2.1 quoted, which one ought to accept", "Cache-Control: max-age=\"3600\"\r\n", maxAge(hour, hour)},
		{"5.2.2.1 0", dated + "Cache-Control: max-age=0\r\n", stale},
		{"5.2 names in any case", "cache-control: PUBLIC, MaX-aGe=3600\r\n", maxAge(hour, hour)},
		{"5.2 among others", "Cache-Control: ,private ,\tmax-age=3600\t, x=y,,\r\n", maxAge(hour, hour)},
		{"5.2 no letters beyond ASCII fold", "Cache-Control: max-age=3600, no-\u017ftore\r\n", maxAge(hour, hour)},
		{"5.2.3 unknown ones are ignored", "Cache-Control: max-ages=1, x-max-age=1, max-age=3600, max-age-x=1\r\n", maxAge(hour, hour)},
		{"5.2.3 within another's argument", "Cache-Control: x=\"max-age=1, no-store\", max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.3 behind an escaped quote", `Cache-Control: x="\", max-age=1, \\", max-age=3600` + "\r\n", maxAge(hour, hour)},
		{"5.2.3 a quote that does not end", "Cache-Control: x=\"y, max-age=3600\r\n", stale},
		{"1.2.2 leading zeros", "Cache-Control: max-age=003600\r\n", maxAge(hour, hour)},
		{"1.2.2 2^31", "Cache-Control: max-age=2147483648\r\n", maxAge(longer, longer)},
		{"1.2.2 beyond 64 bits", "Cache-Control: max-age=99999999999999999999999\r\n", maxAge(longer, longer)},
		{"1.2.2 all the age there is", dated + "Age: 99999999999999999999999\r\nCache-Control: max-age=99999999999999999999999\r\n", maxAge(longer, 0)},
		{"4.2.1 negative", "Cache-Control: max-age=-3600\r\n", stale},
		{"4.2.1 fraction", "Cache-Control: max-age=3600.5\r\n", stale},
		{"4.2.1 letters", "Cache-Control: max-age=3600s\r\n", stale},
		{"4.2.1 no argument", "Cache-Control: max-age\r\n", stale},
		{"4.2.1 empty argument", "Cache-Control: max-age=\r\n", stale},
		{"4.2.1 empty quoted argument", "Cache-Control: max-age=\"\"\r\n", stale},
		{"4.2.1 half a quote", "Cache-Control: max-age=\"3600\r\n", stale},
		{"4.2.1 apostrophes", "Cache-Control: max-age='3600'\r\n", stale},
		{"4.2.1 spaces", "Cache-Control: max-age= 3600\r\n", stale},
		{"4.2.1 what cannot be read hides Expires", dated + "Expires: Fri, 20 Nov 2026 13:00:00 GMT\r\nCache-Control: max-age=x\r\n", stale},
		{"4.2.1 the first of two", "Cache-Control: max-age=3600, max-age=1\r\n", maxAge(hour, hour)},
		{"4.2.1 the first of two fields", "Cache-Control: max-age=3600\r\nCache-Control: max-age=1\r\n", maxAge(hour, hour)},
		{"4.2.1 the first, though unreadable", "Cache-Control: max-age=x, max-age=3600\r\n", stale},
		{"4.2.1 the first Expires", dated + "Expires: Fri, 20 Nov 2026 13:00:00 GMT\r\nExpires: 0\r\n", expires(hour, hour)},
		{"4.2.1 conflict with no-cache", "Cache-Control: max-age=3600, no-cache\r\n", stale},
		{"4.2.1 conflict, in another field", "Cache-Control: no-cache\r\nCache-Control: max-age=3600\r\n", stale},
		{"4.2.1 conflict with no-store", dated + "Cache-Control: No-Store, max-age=3600\r\nExpires: Fri, 20 Nov 2026 13:00:00 GMT\r\n", stale},
		{"4.2.1 max-age before Expires", dated + "Expires: Fri, 20 Nov 2026 18:00:00 GMT\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"4.2.1 max-age before a past Expires", dated + "Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"4.2.1 max-age=0 before Expires", dated + "Expires: Fri, 20 Nov 2026 18:00:00 GMT\r\nCache-Control: max-age=0\r\n", stale},
		{"5.2.2.10 s-maxage is for shared caches", "Cache-Control: s-maxage=7200, max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.2.10 s-maxage alone", "Cache-Control: s-maxage=7200\r\n", stale},
		{"5.2.2.4 no-cache for some fields", "Cache-Control: no-cache=\"set-cookie, x\", max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.2.7 private for some fields", "Cache-Control: private=\"set-cookie, max-age=1\", max-age=3600\r\n", maxAge(hour, hour)},
		{"5.2.2.3 must-understand is not understood", "Cache-Control: max-age=3600, must-understand, no-store\r\n", stale},
		{"5.2.2.2 must-revalidate is what a poller does", "Cache-Control: max-age=3600, must-revalidate\r\n", maxAge(hour, hour)},
		{"RFC 8246 immutable says nothing of time", "Cache-Control: immutable\r\n", stale},
		{"RFC 8246 immutable beside max-age", "Cache-Control: immutable, max-age=3600\r\n", maxAge(hour, hour)},
		{"RFC 5861 stale is not fresh", "Cache-Control: max-age=3600, stale-while-revalidate=86400, stale-if-error=86400\r\n", maxAge(hour, hour)},
		{"5.4 Pragma is for requests", "Pragma: no-cache\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"5.3 Expires", dated + "Expires: Fri, 20 Nov 2026 13:00:00 GMT\r\n", expires(hour, hour)},
		{"5.3 RFC 850", dated + "Expires: Friday, 20-Nov-26 13:00:00 GMT\r\n", expires(hour, hour)},
		{"5.3 asctime", dated + "Expires: Fri Nov 20 13:00:00 2026\r\n", expires(hour, hour)},
		{"5.3 no Date", "Expires: Fri, 20 Nov 2026 13:00:00 GMT\r\n", expires(hour, hour)},
		{"5.3 Date is none", "Date: today\r\nExpires: Fri, 20 Nov 2026 13:00:00 GMT\r\n", expires(hour, hour)},
		{"5.3 past", dated + "Expires: Fri, 20 Nov 2026 11:00:00 GMT\r\n", stale},
		{"5.3 present", dated + "Expires: Fri, 20 Nov 2026 12:00:00 GMT\r\n", stale},
		{"5.3 the invalid 0", dated + "Expires: 0\r\n", stale},
		{"5.3 -1", dated + "Expires: -1\r\n", stale},
		{"5.3 seconds are no date", dated + "Expires: 3600\r\n", stale},
		{"5.3 the end of time", dated + "Expires: Fri, 31 Dec 9999 23:59:59 GMT\r\n", expires(1<<63-1, 1<<63-1)},
		{"5.3 all of time", "Date: Sat, 01 Jan 0000 00:00:00 GMT\r\nExpires: Fri, 31 Dec 9999 23:59:59 GMT\r\n", expires(1<<63-1, 0)},
		{"4.2.3 Age", dated + "Age: 600\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 50*time.Minute)},
		{"4.2.3 Age beyond the lifetime", dated + "Age: 7200\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 0)},
		{"4.2.3 Age without Date", "Age: 600\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 50*time.Minute)},
		{"4.2.3 Age and Expires", dated + "Age: 600\r\nExpires: Fri, 20 Nov 2026 13:00:00 GMT\r\n", expires(hour, 50*time.Minute)},
		{"4.2.3 an old Date", "Date: Fri, 20 Nov 2026 11:45:00 GMT\r\nAge: 600\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 45*time.Minute)},
		{"4.2.3 a Date an hour ahead", "Date: Fri, 20 Nov 2026 13:00:00 GMT\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"4.2.3 both clocks an hour ahead", "Date: Fri, 20 Nov 2026 13:00:00 GMT\r\nExpires: Fri, 20 Nov 2026 14:00:00 GMT\r\n", expires(hour, hour)},
		{"4.1 Vary", "Vary: Accept-Encoding, *x\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"4.1 Vary: *", "Vary: *\r\nCache-Control: max-age=3600\r\n", stale},
		{"4.1 Vary: * among others", "Vary: Accept\r\nVary: Cookie , *\r\nCache-Control: max-age=3600\r\n", stale},
		{"5.1 the first of a list", dated + "Age: 600 , 7200\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 50*time.Minute)},
		{"5.1 the first of two fields", dated + "Age: 600\r\nAge: 7200\r\nCache-Control: max-age=3600\r\n", maxAge(hour, 50*time.Minute)},
		{"5.1 negative is ignored", dated + "Age: -7200\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"5.1 letters are ignored", dated + "Age: old\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
		{"5.1 a fraction is ignored", dated + "Age: 7200.0\r\nCache-Control: max-age=3600\r\n", maxAge(hour, hour)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := freshness(parsed(t, test.fields), noon, noon); got != test.want {
				t.Errorf("%+v; want %+v", got, test.want)
			}
		})
	}
}

// TestResponseDelay is section 4.2.3 of RFC 9111 again: the time that a response
// took is part of its age, unless its Date says that it is older.
func TestResponseDelay(t *testing.T) {
	tests := []struct {
		fields string
		want   time.Duration
	}{
		{"Cache-Control: max-age=3600\r\n", 3590 * time.Second},
		{dated + "Cache-Control: max-age=3600\r\n", 3590 * time.Second},
		{dated + "Age: 600\r\nCache-Control: max-age=3600\r\n", 2990 * time.Second},
		{"Date: Fri, 20 Nov 2026 11:55:00 GMT\r\nCache-Control: max-age=3600\r\n", 55 * time.Minute},
		{dated + "Cache-Control: max-age=9\r\n", 0},
	}
	for _, test := range tests {
		if got := freshness(parsed(t, test.fields), noon.Add(-10*time.Second), noon).Remaining; got != test.want {
			t.Errorf("%q: %s remain; want %s", test.fields, got, test.want)
		}
	}
}

// TestRetryAfter is row 18 as far as one exchange can tell: whatever an origin
// answers 429 or 503 with, what is handed on is a time from now, which is 0 where
// none can be read, or that there was none. RFC 9110, section 10.2.3.
func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name, fields string
		want         RetryAfter
	}{
		{"absent", dated, RetryAfter{}},
		{"empty", "Retry-After:\r\n", RetryAfter{}},
		{"seconds", "Retry-After: 120\r\n", RetryAfter{2 * time.Minute, true}},
		{"seconds, spaced", "Retry-After: \t 120 \r\n", RetryAfter{2 * time.Minute, true}},
		{"18 0", "Retry-After: 0\r\n", RetryAfter{0, true}},
		{"18 -1", "Retry-After: -1\r\n", RetryAfter{0, true}},
		{"18 1e12", "Retry-After: 1e12\r\n", RetryAfter{0, true}},
		{"18 1e12 in digits", "Retry-After: 1000000000000\r\n", RetryAfter{1 << 31 * time.Second, true}},
		{"18 a date", dated + "Retry-After: Fri, 20 Nov 2026 12:30:00 GMT\r\n", RetryAfter{30 * time.Minute, true}},
		{"18 a date, RFC 850", dated + "Retry-After: Friday, 20-Nov-26 12:30:00 GMT\r\n", RetryAfter{30 * time.Minute, true}},
		{"18 a date, asctime", dated + "Retry-After: Fri Nov 20 12:30:00 2026\r\n", RetryAfter{30 * time.Minute, true}},
		{"18 a date by a clock an hour ahead", "Date: Fri, 20 Nov 2026 13:00:00 GMT\r\nRetry-After: Fri, 20 Nov 2026 13:30:00 GMT\r\n", RetryAfter{30 * time.Minute, true}},
		{"18 a date without Date", "Retry-After: Fri, 20 Nov 2026 12:30:00 GMT\r\n", RetryAfter{30 * time.Minute, true}},
		{"18 a past date", dated + "Retry-After: Fri, 20 Nov 2026 11:30:00 GMT\r\n", RetryAfter{0, true}},
		{"18 the end of time", "Date: Sat, 01 Jan 0000 00:00:00 GMT\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", RetryAfter{1<<63 - 1, true}},
		{"18 the beginning of time", "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\nRetry-After: Sat, 01 Jan 0000 00:00:00 GMT\r\n", RetryAfter{0, true}},
		{"words", "Retry-After: soon\r\n", RetryAfter{0, true}},
		{"fraction", "Retry-After: 1.5\r\n", RetryAfter{0, true}},
		{"unit", "Retry-After: 120s\r\n", RetryAfter{0, true}},
		{"list", "Retry-After: 120, 60\r\n", RetryAfter{0, true}},
		{"the first of two", "Retry-After: 120\r\nRetry-After: 60\r\n", RetryAfter{2 * time.Minute, true}},
		{"a thousand digits", "Retry-After: " + strings.Repeat("9", 1000) + "\r\n", RetryAfter{1 << 31 * time.Second, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := retryAfter(parsed(t, test.fields), noon); got != test.want {
				t.Errorf("%+v; want %+v", got, test.want)
			}
		})
	}
}

// TestCachingAllocates holds that reading the words of an origin takes no memory,
// whether or not they can be read: nearly every poll does.
func TestCachingAllocates(t *testing.T) {
	for _, fields := range []string{
		dated + "Age: 600, 1\r\nCache-Control: public, max-age=3600\r\nCache-Control: x=\"y\"\r\nVary: a, b\r\nExpires: Fri, 20 Nov 2026 13:00:00 GMT\r\n",
		"Date: Friday, 20-Nov-26 12:00:00 GMT\r\nExpires: Fri Nov 20 13:00:00 2026\r\n",
		"Date: now\r\nAge: x\r\nExpires: -1\r\nCache-Control: max-age=99999999999999999999999\r\nRetry-After: soon\r\n",
	} {
		header := parsed(t, fields)
		took := testing.AllocsPerRun(100, func() {
			freshness(header, noon, noon)
			retryAfter(header, noon)
		})
		if took != 0 {
			t.Errorf("%q: %v allocations", fields, took)
		}
	}
}

// FuzzCaching gives the words of an origin any values, and any clocks, and holds
// that what callers get can be reckoned with.
func FuzzCaching(f *testing.F) {
	f.Add("max-age=3600, x=\"no-store\"", "Fri, 20 Nov 2026 13:00:00 GMT", "Fri, 20 Nov 2026 12:00:00 GMT", "600", "120", int64(1), int64(1))
	f.Add("max-age=99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT", "99999999999999999999", "-1", int64(1)<<40, int64(1)<<62)
	f.Add("", "Friday, 20-Nov-26 12:00:00 GMT", "Fri Nov 20 13:00:00 2026", "0, 1", "Friday, 20-Nov-26 12:00:00 GMT", int64(-1)<<40, int64(0))
	f.Add("private=\"a\\\"\", no-cache=\"b\", MAX-AGE=\"1\"", "0", "", "", "", int64(0), int64(0))
	f.Fuzz(func(t *testing.T, control, expires, sent, age, again string, now, took int64) {
		header := new(fasthttp.ResponseHeader)
		for name, value := range map[string]string{"Cache-Control": control, "Expires": expires, "Date": sent, "Age": age, "Retry-After": again} {
			header.Set(name, value)
		}
		received := time.Unix(now%(1<<36), 0) // 2,000 years to and fro
		asked := received.Add(-time.Duration(took & (1<<62 - 1)))
		fresh := freshness(header, asked, received)
		if fresh.Remaining < 0 || fresh.Remaining > fresh.Lifetime || (fresh.Source == SourceNone) != (fresh.Lifetime == 0) {
			t.Errorf("%+v", fresh)
		}
		if after := retryAfter(header, received); after.After < 0 || !after.Given && after.After != 0 {
			t.Errorf("%+v", after)
		}
	})
}
