package pace

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// RetryAfter is an origin's wish not to be asked before a time, as package fetcher
// reads it.
type RetryAfter struct {
	After time.Duration // 0: at once, or not said how long
	Given bool
}

// Refusals is exponential back-off for a host that said that it is asked too often,
// in its pauses and in the gap between its requests. The engine's DESIGN.md has the
// rules. Times are nanoseconds since 1970.
type Refusals struct {
	Until  int64  // it rests: no request before; 0: it never did
	Last   int64  // when it last refused; 0: never
	Good   int64  // since when it has answered well after that; 0: not yet
	Turn   uint64 // phase of the channel that was refused last: the others' turn comes first
	Count  uint8  // refusals in a row; each interval of good answers takes one off
	Denied uint8  // 403s of channels that used to answer, without a good answer between
}

// Answer is what matters to a host's refusals of one answer of it.
type Answer struct {
	Status     int // 0: there was no response
	RetryAfter RetryAfter
	Begun, Now int64  // of the request, of the answer
	Phase      uint64 // of the channel
	Answered   bool   // the channel has content, and its last poll did not fail
	Refused    bool   // the channel's last poll was refused, by whatever verdict
}

// Verdict is what an answer concerns beside the poll that it ends.
type Verdict uint8

const (
	NotRefused     Verdict = iota
	HostRefuses            // the whole host rests
	ChannelRefuses         // the host asks to be spared for this channel alone
)

const (
	// LongestRest caps what an origin can make us wait.
	LongestRest = channel.LongestRest

	// longestPause caps how long a host rests at first that does not say how long.
	longestPause = time.Hour

	// After a refusal a host's gap is leastGap, and doubles up to mostGap.
	leastGap = int64(time.Second)
	mostGap  = int64(5 * time.Minute)

	// deniedHost is how many channels that used to answer have to be forbidden before
	// the 403 counts as the whole host's refusal of us.
	deniedHost = 3
)

// Resting reports a host that is not to be asked now.
func (r *Refusals) Resting(now int64) bool { return r.Until > now }

// Note counts an answer and returns what it concerns.
func (r *Refusals) Note(a Answer, interval time.Duration) Verdict {
	switch {
	case isWelcome(a.Status):
		r.noteGood(a, interval)
		return NotRefused
	case !r.refuses(a):
		return NotRefused
	case a.Status == 503 && a.Refused && r.Good != 0:
		// One channel that fails behind a host that serves all others must not stop them.
		return ChannelRefuses
	}
	r.noteRefusal(a, interval)
	return HostRefuses
}

// isWelcome reports statuses of a host that does not refuse.
func isWelcome(status int) bool { return status >= 200 && status < 400 }

// refuses reports an answer that asks not to be asked so soon. Some hosts answer 403
// where they mean 429.
func (r *Refusals) refuses(a Answer) bool {
	switch a.Status {
	case 429:
		return true
	case 503:
		return a.RetryAfter.Given
	case 403:
		if a.Answered && r.Denied < deniedHost {
			r.Denied++
		}
		return a.RetryAfter.Given || r.Denied == deniedHost
	}
	return false
}

// noteRefusal lets the host rest. A request that was under way when another was
// refused makes no second refusal of it.
func (r *Refusals) noteRefusal(a Answer, interval time.Duration) {
	if a.Begun > r.Last {
		r.Count = min(r.Count, 254) + 1
		r.Turn = a.Phase
	}
	r.Last, r.Good = a.Now, 0
	r.Until = max(r.Until, a.Now+int64(pause(a.RetryAfter, r.Count, interval)))
}

// noteGood takes one refusal off for each interval of good answers. Taking off all at
// once would exceed the host's limit again.
func (r *Refusals) noteGood(a Answer, interval time.Duration) {
	r.Denied = 0
	if r.Count == 0 || a.Begun <= r.Last {
		return
	}
	if r.Good == 0 {
		r.Good = a.Now
	}
	if a.Now-r.Good >= int64(interval) {
		r.Count--
		r.Good = a.Now
	}
}

// Heed takes over the rest of a host that refused another node, and reports whether that
// changes anything. What ends less than a second later than the rest that stands is the
// same one, as another node was told. Requests that began before make no second refusal.
func (r *Refusals) Heed(rest channel.Rest, now int64) bool {
	until := min(rest.Until.UnixNano(), now+int64(LongestRest))
	later := until > now && until > r.Until+int64(time.Second)
	if until <= now || !later && rest.Refusals <= r.Count {
		return false
	}
	if later {
		r.Until, r.Turn = until, rest.Turn
	}
	r.Count = max(r.Count, rest.Refusals, 1)
	r.Last, r.Good = now, 0
	return true
}

// pause is how long to rest: what was said, a day at most; where nothing usable was
// said an interval, an hour at most, doubled with each refusal in a row.
func pause(said RetryAfter, count uint8, interval time.Duration) time.Duration {
	if said.Given && said.After > 0 {
		return min(said.After, LongestRest)
	}
	return doubled(min(interval, longestPause), count, LongestRest)
}

// Gap is the time between two requests that the host gets, where without refusals
// it would be as given.
func (r *Refusals) Gap(given int64) int64 {
	if r.Count == 0 {
		return given
	}
	return doubled(max(given, leastGap), r.Count, max(given, mostGap))
}

// doubled returns first, doubled count−1 times, but no more than most.
func doubled[T ~int64](first T, count uint8, most T) T {
	for range int(count) - 1 {
		if first >= most/2 {
			return most
		}
		first *= 2
	}
	return min(first, most)
}

// Shift follows a wall clock that was set.
func (r *Refusals) Shift(step, now int64) {
	if r.Until != 0 {
		r.Until = min(r.Until+step, now+int64(LongestRest))
	}
	for _, at := range []*int64{&r.Last, &r.Good} {
		if *at != 0 {
			*at = min(*at+step, now)
		}
	}
}
