package originaudit

import (
	"fmt"
	"slices"
	"time"
)

// host is what is known of a host.
type host struct {
	asked   time.Time   // when the last request arrived
	under   []*Exchange // that may not have ended
	resting span
	refused time.Time       // when it last did, unless it has answered well since
	shaky   map[string]bool // URLs that were refused; whether another was answered well since
}

// refusedGap is how far apart requests must be to a host that has just refused
// one, whatever the policy says.
const refusedGap = time.Second

// longestGuess is how long a host rests at most that does not say how long.
const longestGuess = time.Hour

// checkHost finds what a request does to its host.
func (t *trial) checkHost(e *Exchange, h *host) {
	gap := t.policy.Gap
	if !h.refused.IsZero() && e.Arrived.After(h.refused.Add(t.policy.Slack)) {
		gap = max(gap, refusedGap)
	}
	if since := e.Arrived.Sub(h.asked); !h.asked.IsZero() && since+t.policy.Slack < gap {
		t.find(e, Gap, "%s after another request to the host; want %s", since.Round(time.Millisecond), gap)
	}
	h.under = slices.DeleteFunc(h.under, func(other *Exchange) bool { return !t.overlaps(other, e) })
	if most := t.policy.Parallel; most > 0 && len(h.under) >= most {
		t.find(e, Parallel, "%d others under way; want at most %d in all", len(h.under), most)
	}
	if h.resting.covers(e, t.policy.Slack) {
		t.find(e, Resting, "the host rests until %s: %s", clock(h.resting.until), h.resting.why)
	}
}

// overlaps reports whether an exchange was still under way when another began. A
// killed process ends all of its own.
func (t *trial) overlaps(other, e *Exchange) bool {
	killed := slices.ContainsFunc(t.policy.Kills, func(kill time.Time) bool {
		return !other.Arrived.After(kill.Add(t.policy.Slack)) && kill.Before(e.Arrived)
	})
	return !killed && (other.Answered.IsZero() || other.Answered.After(e.Arrived.Add(t.policy.Slack)))
}

// learnRest notes how long host and URL are to be left alone.
func (t *trial) learnRest(e *Exchange, h *host, p *page) {
	if e.Said.well() {
		h.answeredWell(e.URL())
		return
	}
	wait, whole := t.restOf(e, h)
	if wait == 0 {
		return
	}
	rest := span{e.Answered, e.Answered.Add(wait), fmt.Sprintf("%d with Retry-After %q at %s, asked for %s",
		e.Said.Status, e.Said.Fields.Get("Retry-After"), clock(e.Answered), e.Target)}
	p.resting = later(p.resting, rest)
	if whole {
		h.resting, h.refused = later(h.resting, rest), e.Answered
	}
}

// restOf returns how long an answer asks to be left alone, 0 if it does not, and
// whether that is said for the whole host: 429 always is, and 403 with a
// Retry-After; 503 with one is, unless this URL was refused before and the host has
// answered others well since, as a service does of which one route is shaky.
func (t *trial) restOf(e *Exchange, h *host) (wait time.Duration, whole bool) {
	wait = retryAfter(&e.Said, e.Answered)
	switch e.Said.Status {
	case 429:
		if wait == 0 {
			wait = min(t.policy.Interval, longestGuess)
		}
		return wait, true
	case 403:
		return wait, true
	case 503:
		if wait == 0 {
			return 0, false
		}
		whole = !h.shaky[e.URL()]
		h.shaky[e.URL()] = false
		return wait, whole
	}
	return 0, false
}

func (h *host) answeredWell(url string) {
	h.refused = time.Time{}
	delete(h.shaky, url)
	for other := range h.shaky {
		h.shaky[other] = true
	}
}

// later returns the span that ends last.
func later(a, b span) span {
	if a.until.After(b.until) {
		return a
	}
	return b
}

func clock(t time.Time) string { return t.Format("Jan _2 15:04:05.000") }
