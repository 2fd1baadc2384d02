package originaudit

import (
	"fmt"
	"time"
)

// page is what is known of a URL.
type page struct {
	before   *Exchange  // the last request
	pairs    []delivery // validators that it gave, the latest last
	failures int        // answers in a row that were no good
	ok       bool       // the last answer was good
	hints    Hints
	hinted   time.Time // when they were last said
	fresh    span
	period   span
	resting  span
	gone     time.Time // when it said so
	moved    move
}

// move is a permanent redirect that holds.
type move struct {
	target string
	since  time.Time
}

// hopeless is after how many failures in a row a reader must have slowed down: to
// half the rate of a plain feed reader, or less.
const hopeless = 6

// checkPage finds requests that come at the wrong time for their URL.
func (t *trial) checkPage(e *Exchange, key pageKey, p *page) {
	slack := t.policy.Slack
	if p.before != nil {
		t.checkPace(e, key, p)
	}
	for _, s := range []struct {
		kind Kind
		span
	}{{Resting, p.resting}, {Fresh, p.fresh}, {Period, p.period}} {
		// What the whole host was told is found there, once.
		if s.covers(e, slack) && (s.kind != Resting || s.span != t.host(e.Host).resting) {
			t.find(e, s.kind, "not before %s: %s", clock(s.until), s.why)
		}
	}
	if e.Arrived.After(p.hinted.Add(slack)) && p.hints.skips(e.Arrived.Add(-slack)) && p.hints.skips(e.Arrived.Add(slack)) {
		t.find(e, Skip, "hours %v and days %v are to be skipped", p.hints.SkipHours, p.hints.SkipDays)
	}
	if !p.gone.IsZero() && e.Arrived.After(p.gone.Add(slack)) {
		t.find(e, Gone, "it said 410 at %s", clock(p.gone))
	}
	t.checkMoved(e, key, p)
}

// checkPace compares with the last request of the URL. One that a dying connection
// swallowed may be sent once more (RFC 9112, section 9.5). What a redirect leads to
// has the pace of its root, however long the hop to it waited for its host.
func (t *trial) checkPace(e *Exchange, key pageKey, p *page) {
	since := e.Arrived.Sub(p.before.Arrived)
	resent := p.before.Silent && p.before.Reused
	if since+t.policy.Slack < t.policy.Floor && key.url == key.root && !resent {
		t.find(e, Floor, "%s after the last time; want %s", since.Round(time.Millisecond), t.policy.Floor)
	}
	if relief := 2 * t.policy.Interval; p.failures >= hopeless && since+t.policy.Slack < relief {
		t.find(e, Unrelieved, "%s after %d failures in a row; want %s", since.Round(time.Millisecond), p.failures, relief)
	}
}

// checkMoved finds a permanent redirect that has held for long and leads well, and
// is asked all the same.
func (t *trial) checkMoved(e *Exchange, key pageKey, p *page) {
	held := e.Arrived.Sub(p.moved.since)
	if t.policy.MovedFor == 0 || p.moved.target == "" || held < t.policy.MovedFor+t.policy.Slack {
		return
	}
	if t.page(pageKey{p.moved.target, key.root}).ok {
		t.find(e, Moved, "it has been at %s for %s", p.moved.target, held.Round(time.Second))
	}
}

// learnWords notes what an answer says of when to ask again.
func (p *page) learnWords(e *Exchange) {
	said := &e.Said
	if said.Status == 410 {
		p.gone = e.Answered
	}
	if !said.well() || said.Doubtful {
		return
	}
	if said.Status != 304 {
		p.hints, p.hinted = said.Hints, e.Answered
	}
	p.fresh = span{e.Answered, e.Answered.Add(freshFor(said)), fmt.Sprintf("Cache-Control %q, Expires %q, Age %q at %s",
		said.Fields.Get("Cache-Control"), said.Fields.Get("Expires"), said.Fields.Get("Age"), clock(e.Answered))}
	p.period = span{e.Answered, e.Answered.Add(min(p.hints.Every, longest)), fmt.Sprintf("every %s", p.hints.Every)}
}

// manyURLs is from how many URLs on a start can be told from chance.
const manyURLs = 30

// stampedes finds starts that ask for everything at once: of the URLs asked before,
// a tenth is due in the first tenth of an interval.
func stampedes(log Log, policy Policy) (found []Violation) {
	for _, start := range policy.Starts {
		before, soon := make(map[string]bool), make(map[string]bool)
		for i := range log {
			e := &log[i]
			if e.Arrived.Before(start) {
				before[e.URL()] = true
			} else if e.Arrived.Before(start.Add(policy.Interval / 10)) {
				soon[e.URL()] = true
			}
		}
		again := 0
		for url := range soon {
			if before[url] {
				again++
			}
		}
		if len(before) >= manyURLs && again > len(before)/3 {
			found = append(found, Violation{Kind: Stampede, At: start,
				Detail: fmt.Sprintf("%d of %d URLs within a tenth of an interval", again, len(before))})
		}
	}
	return found
}
