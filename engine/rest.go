package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/fetcher"
)

// refusals is what a host has said about being asked too often. Its transitions
// are pure: an answer comes in with its time, a verdict goes out. DESIGN.md has
// the rules.
type refusals struct {
	until  int64  // it rests: no request before; 0: it never did
	last   int64  // when it last refused; 0: never
	good   int64  // since when it has answered well after that; 0: not yet
	turn   uint64 // phase of the channel that was refused last: the others' turn comes first
	count  uint8  // in a row; each interval of good answers takes one off
	denied uint8  // 403s of channels that used to answer, without a good answer between
}

// reply is what matters to a host's rest of one answer of it.
type reply struct {
	status     int
	retryAfter fetcher.RetryAfter
	begun, now int64  // of the request, of the answer
	phase      uint64 // of the channel
	answered   bool   // the channel has content, and its last poll did not fail
	refused    bool   // the channel's last poll was refused, by whatever verdict
}

// verdict is whom an answer concerns beside the poll that it ends.
type verdict uint8

const (
	concernsNobody verdict = iota
	hostRefuses            // the whole host rests
	channelRefuses         // the host asks to be spared for this channel alone
)

const (
	// longestRest caps what an origin can make us wait.
	longestRest = 24 * time.Hour

	// longestPause caps how long a host rests at first that does not say how long.
	longestPause = time.Hour

	// After a refusal a host's gap is leastGap, and doubles up to mostGap.
	leastGap = int64(time.Second)
	mostGap  = int64(5 * time.Minute)

	// deniedHost is how many channels have to be forbidden that used to answer
	// before that means the host, and us.
	deniedHost = 3
)

// resting reports a host that is not to be asked now.
func (r *refusals) resting(now int64) bool { return r.until > now }

// hear takes in an answer.
func (r *refusals) hear(a reply, interval time.Duration) verdict {
	switch {
	case isWelcome(a.status):
		r.forgive(a, interval)
		return concernsNobody
	case !r.refuses(a):
		return concernsNobody
	case a.status == 503 && a.refused && r.good != 0:
		// One that fails behind a host that serves all others must not stop them.
		return channelRefuses
	}
	r.refuse(a, interval)
	return hostRefuses
}

// isWelcome reports statuses that show a host at ease.
func isWelcome(status int) bool { return status >= 200 && status < 400 }

// refuses reports an answer that asks for rest (RFC 6585, section 4; RFC 9110,
// sections 10.2.3 and 15.6.4). A 403 does if it says for how long, and when one
// channel after the other gets it that used to answer: some hosts have no other
// word for 429.
func (r *refusals) refuses(a reply) bool {
	switch a.status {
	case 429:
		return true
	case 503:
		return a.retryAfter.Given
	case 403:
		if a.answered && r.denied < deniedHost {
			r.denied++
		}
		return a.retryAfter.Given || r.denied == deniedHost
	}
	return false
}

// refuse lets the host rest. A request that was under way when another was refused
// makes no second refusal of it.
func (r *refusals) refuse(a reply, interval time.Duration) {
	if a.begun > r.last {
		r.count = min(r.count, 254) + 1
		r.turn = a.phase
	}
	r.last, r.good = a.now, 0
	r.until = max(r.until, a.now+int64(pause(a.retryAfter, r.count, interval)))
}

// forgive notes that the host answers well. Its gap shrinks as it grew, step by
// step: all at once would send it back into its limit at once.
func (r *refusals) forgive(a reply, interval time.Duration) {
	r.denied = 0
	if r.count == 0 || a.begun <= r.last {
		return
	}
	if r.good == 0 {
		r.good = a.now
	}
	if a.now-r.good >= int64(interval) {
		r.count--
		r.good = a.now
	}
}

// pause is how long to rest: what was said, a day at most; where that is nothing
// that can be meant, an interval, an hour at most, and after more refusals in a
// row twice as long each time.
func pause(said fetcher.RetryAfter, count uint8, interval time.Duration) time.Duration {
	if said.Given && said.After > 0 {
		return min(said.After, longestRest)
	}
	return doubled(min(interval, longestPause), count, longestRest)
}

// gap is the time between two requests that the host gets, where without refusals
// it would be as given.
func (r *refusals) gap(given int64) int64 {
	if r.count == 0 {
		return given
	}
	return doubled(max(given, leastGap), r.count, max(given, mostGap))
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

// shift follows a wall clock that was set.
func (r *refusals) shift(step, now int64) {
	if r.until != 0 {
		r.until = min(r.until+step, now+int64(longestRest))
	}
	for _, at := range []*int64{&r.last, &r.good} {
		if *at != 0 {
			*at = min(*at+step, now)
		}
	}
}
