package streak

import (
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/seed-91e7e7c1/corona/channel"
)

// schedule is when an endpoint is tried during a streak of failures: the time
// since the first of them, which is the first step. It is the example of Standard
// Webhooks but for five seconds: ten steps over 75 h 35 m.
var schedule = [...]time.Duration{
	0,
	5 * time.Second,
	5 * time.Minute,
	35 * time.Minute,
	2*time.Hour + 35*time.Minute,
	7*time.Hour + 35*time.Minute,
	17*time.Hour + 35*time.Minute,
	31*time.Hour + 35*time.Minute,
	51*time.Hour + 35*time.Minute,
	75*time.Hour + 35*time.Minute,
}

const (
	probeInterval = 24 * time.Hour   // between two tries of a suspended endpoint
	maxJitter     = 10 * time.Minute // and at most a tenth of a step
	maxLastError  = 300              // bytes
)

// failed returns the endpoint after a failed attempt at now. A node that was down
// when a step was due does not make up for it with a burst: the next step is the
// first that still lies ahead.
func failed(e channel.Endpoint, now time.Time, reason string) channel.Endpoint {
	e.LastError = clip(reason, maxLastError)
	if e.Attempts == 0 {
		e.FailingSince = stamp(now)
	}
	e.Attempts++
	for e.Attempts < len(schedule) && !nextStep(e).After(now) {
		e.Attempts++
	}
	if e.Attempts >= len(schedule) {
		e.State = channel.EndpointSuspended
		e.NextAttempt = stamp(now.Add(probeInterval - jitter(e.URL, e.Attempts, maxJitter)))
		return e
	}
	e.NextAttempt = nextStep(e)
	return e
}

// nextStep returns when the attempt after e.Attempts steps is due: never later than
// the schedule has it, since updates are kept for little longer than that.
func nextStep(e channel.Endpoint) time.Time {
	n := e.Attempts
	most := min(maxJitter, (schedule[n]-schedule[n-1])/10)
	return stamp(e.FailingSince.Add(schedule[n] - jitter(e.URL, n, most)))
}

// postponed returns a failing endpoint that asked at now for a wait (Retry-After). It is tried no sooner, but not later than by the last step of the
// schedule: until then what it missed is kept.
func postponed(e channel.Endpoint, now time.Time, wait time.Duration) channel.Endpoint {
	if wait <= 0 || e.NextAttempt.IsZero() {
		return e
	}
	until := stamp(now.Add(wait))
	if last := lastStep(e); e.State == channel.EndpointActive && until.After(last) {
		until = last
	}
	if until.After(e.NextAttempt) {
		e.NextAttempt = until
	}
	return e
}

// lastStep returns when the last attempt of the schedule is due.
func lastStep(e channel.Endpoint) time.Time {
	e.Attempts = len(schedule) - 1
	return nextStep(e)
}

// disabled returns the endpoint after it answered 410 at now: a subscription made
// later than that revives it.
func disabled(e channel.Endpoint, now time.Time, reason string) channel.Endpoint {
	return channel.Endpoint{
		URL: e.URL, State: channel.EndpointDisabled, FailingSince: stamp(now),
		Attempts: e.Attempts + 1, LastError: clip(reason, maxLastError),
	}
}

// jitter spreads the tries of endpoints that failed together: a share of most
// that depends on the URL and the step alone, so that it is the same on every node.
func jitter(url string, step int, most time.Duration) time.Duration {
	share := float64(xxhash.Sum64String(strconv.Itoa(step)+" "+url)) / (1 << 64)
	return time.Duration(share * float64(most))
}

// stamp returns a time as the store keeps it, so that records can be compared.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// clip cuts text that others wrote, at a character's border.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}
