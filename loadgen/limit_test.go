package loadgen

import (
	"math"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRefusals: a host that is asked too often answers 429 and wants to be left
// alone, it alone; a client that comes sooner is told again and counted.
func TestRefusals(t *testing.T) {
	o, clock := newTestOrigin(t, Config{Channels: 6, Hosts: 2, MaxRate: 2, RetryAfter: 30 * time.Second})
	start := clock.now
	for i, step := range []struct {
		after   time.Duration
		channel int
		status  int
		wait    string
	}{
		{0, 0, 200, ""}, {0, 2, 200, ""}, // a second's worth at once
		{0, 0, 429, "30"}, {0, 1, 200, ""}, // of host 0 alone
		{time.Second, 0, 429, "29"}, // may have been under way
		{time.Second + 1, 0, 429, "29"},
		{29*time.Second + 1, 4, 429, "1"}, // rounded up: who waits for it is not early
		{30 * time.Second, 0, 200, ""},
		{31 * time.Second, 0, 200, ""},
	} {
		clock.now = start.Add(step.after)
		answer := get(o, o.URL(step.channel))
		if wait := string(answer.Header.Peek("Retry-After")); answer.StatusCode() != step.status || wait != step.wait || step.status == 429 && len(answer.Body()) > 0 {
			t.Errorf("step %d: %d, Retry-After %q; want %d, %q", i, answer.StatusCode(), wait, step.status, step.wait)
		}
	}
	if got := o.Stats(); got.Requests != 9 || got.Full != 5 || got.Refused != 4 || got.Early != 2 {
		t.Errorf("stats %+v, want 9 requests, 5 full, 4 refused, 2 of them early", got)
	}
}

// TestLimitsAreKept: whatever comes when, a host takes no more than its rate and a
// second's worth, and refuses no request that keeps the gap to within a tenth.
func TestLimitsAreKept(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(minRate, 1000).Draw(t, "rate")
		polite := rapid.Bool().Draw(t, "polite")
		l := newLimits(1, rate, time.Second)
		now, taken := start, 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			most := 2 * l.gap
			least := time.Duration(0)
			if polite {
				least = l.gap
			}
			now = now.Add(time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, "pause")))
			wait, _ := l.take(0, now)
			if wait == 0 {
				taken++
			} else if polite {
				t.Fatalf("rate %g: refused, though the gap was kept", rate)
			}
		}
		if most := math.Max(rate, 1.1) + 1 + now.Sub(start).Seconds()*rate; float64(taken) > most {
			t.Fatalf("rate %g: %d requests taken in %s, want %.1f at most", rate, taken, now.Sub(start), most)
		}
	})
}

// TestMaxAge: documents and 304s tell the same (RFC 9110, section 15.4.5).
func TestMaxAge(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "", time.Hour: "max-age=3600"} {
		o, _ := newTestOrigin(t, Config{Channels: 1, MaxAge: age})
		for _, headers := range [][]string{nil, {"If-None-Match", "*"}} {
			answer := get(o, o.URL(0), headers...)
			if got := string(answer.Header.Peek("Cache-Control")); got != want {
				t.Errorf("max age %s: %d says %q, want %q", age, answer.StatusCode(), got, want)
			}
		}
	}
	if answer := get(newLimited(t), "/_channels"); answer.StatusCode() != http.StatusOK || len(answer.Header.Peek("Cache-Control")) > 0 {
		t.Errorf("the list: %d, Cache-Control %q; want neither limit nor age", answer.StatusCode(), answer.Header.Peek("Cache-Control"))
	}
}

// newLimited is an origin with limits whose only host rests.
func newLimited(t *testing.T) *Origin {
	t.Helper()
	o, _ := newTestOrigin(t, Config{Channels: 1, MaxRate: 1, MaxAge: time.Minute})
	for _, want := range []int{200, 429} {
		if got := get(o, o.URL(0)).StatusCode(); got != want {
			t.Fatalf("status %d, want %d", got, want)
		}
	}
	return o
}
