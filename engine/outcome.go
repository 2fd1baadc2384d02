package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// outcome is how a poll ended. DESIGN.md has the table.
type outcome uint8

const (
	notModified   outcome = iota // 304 against the current version
	unchanged                    // a body that is the current version
	changed                      // the owner made a new version of it, or had one
	heldBack                     // the owner waits for confirmation
	declined                     // the owner made nothing of it
	outdated                     // the base was stale, time and again
	redirected                   // the poll goes on at another URL
	gone                         // 410: withdrawn for good
	ended                        // the owner knows no such channel, or ended it
	refused                      // 429, or what means that: the host rests
	statusError                  // another status
	fetchError                   // no response
	documentError                // a body that cannot be read
	ownerError                   // no answer from the owner
	cacheError                   // the content cache failed
	deferred                     // the cache told that it is too soon: the origin was not asked
	canceled                     // we stop, or had no connection to spare
	outcomes                     // their number
)

var outcomeNames = [outcomes]string{
	notModified: "not_modified", unchanged: "unchanged", changed: "changed", heldBack: "held", declined: "declined", outdated: "outdated",
	redirected: "redirected", gone: "gone", ended: "ended", refused: "refused", statusError: "status_error", fetchError: "fetch_error", documentError: "document_error",
	ownerError: "owner_error", cacheError: "cache_error", deferred: "deferred", canceled: "canceled",
}

func (o outcome) String() string { return outcomeNames[o] }

// originFailed reports outcomes that the origin is to blame for: it is asked less
// and less often.
func (o outcome) originFailed() bool {
	return o == gone || o == statusError || o == fetchError || o == documentError
}

// result is what a poll found out. Its zero parts change nothing.
type result struct {
	outcome    outcome
	problem    string // what went wrong, for people; empty: nothing
	status     int    // of the response; 0: there was none
	took       time.Duration
	busy       bool               // we had no room for it
	wire       int64              // bytes received
	memory     int64              // bytes that the body took, or has to have the next time; 0: few, or not known
	retryAfter fetcher.RetryAfter // as the origin asked
	location   string             // where it redirects; empty: nowhere
	permanent  bool               // for good

	over     bool // the owner wants no more polls
	answered bool // the owner said:
	version  uint64
	hash     deltas.Hash
	held     bool

	holding store.Holding // of the version that is now current; not ok: as before
	forget  bool          // what is held is good for nothing

	kind deltas.Kind // of what the origin showed; 0: not known

	heard     bool // the origin said:
	words     words
	remaining time.Duration // of words.fresh

	noRoom bool // the disk has none for what it found

	staged bool // the cache's content was changed:
	stray  bool // it may hold other content of the channel than the current version's
}

// maxProblem is the longest text of an error, in bytes, that is kept per channel.
const maxProblem = 200

func (r result) fail(o outcome, problem string) result {
	r.outcome, r.problem = o, clipProblem(problem)
	return r
}

func clipProblem(problem string) string {
	if len(problem) > maxProblem {
		return problem[:maxProblem] + "…"
	}
	return problem
}

// fetchFailed is the result of a fetch without a response.
func (r result) fetchFailed(err error) result {
	var fetchErr *fetcher.Error
	if !errors.As(err, &fetchErr) {
		return r.fail(fetchError, err.Error())
	}
	r.took -= fetchErr.Waited
	r.wire, r.memory = fetchErr.WireBytes, fetchErr.Memory
	if fetchErr.Class == fetcher.Canceled || fetchErr.Class == fetcher.Busy {
		r.took = 0 // it tells nothing about the host
		r.busy = fetchErr.Class == fetcher.Busy
		return r.fail(canceled, fetchErr.Reason())
	}
	return r.fail(fetchError, fetchErr.Reason())
}

// ownerFailed is the result of a report that the owner gave no answer to.
func (r result) ownerFailed(err error) result {
	if errors.Is(err, context.DeadlineExceeded) {
		return r.fail(ownerError, "owner: no answer in time")
	}
	return r.fail(ownerError, "owner: "+err.Error())
}

// statusText says for people what a status without content means.
func statusText(status int) string {
	text := "HTTP status " + strconv.Itoa(status)
	if status == 0 {
		return "no response"
	}
	if meaning := statusMeanings[status]; meaning != "" {
		return text + ": " + meaning
	}
	if status >= 500 {
		return text + ": the origin fails"
	}
	return text
}

var statusMeanings = map[int]string{
	304: "not modified, though nothing said since what",
	401: "a login is asked for",
	403: "access is refused",
	404: "nothing is there",
	410: "gone for good",
	429: "asked too often",
	503: "the origin does not serve now",
}

// knows takes in the owner's answer.
func (r result) knows(a Answer) result {
	r.answered, r.version, r.hash, r.held = true, a.Version, a.Hash, a.Held
	return r
}

// conclude takes in what a poll has found out, and reports whether that, or what
// its host has said, is to be noted before the poll is finished.
func (s *schedule) conclude(p *poll, r *result, now int64) (noteworthy bool) {
	s.release(p, r, now)
	t := p.target
	defer s.recount(t, t.failing())
	if r.outcome != deferred {
		s.learn(p, r, now)
	}
	before := p.noted
	p.noted = t.ledgerRow()
	p.bound, p.least = s.untold(t)
	p.resized = t.resized()
	return p.atHost || p.bound || p.resized || p.noted.Differs(before)
}

// learn takes in what a request has shown of its target.
func (s *schedule) learn(p *poll, r *result, now int64) {
	t := p.target
	t.lastPoll = min(p.begun.UnixNano(), now) // the clock may have been set back meanwhile
	switch {
	case t.incarnation != p.incarnation:
	case r.outcome == redirected:
		t.witness(p, false)
	default:
		t.conclude(p, r, now)
		s.arrive(t, p)
		s.pace.keepFloor(t)
	}
}

// untold reports that the owner is to hear that a target's origin wants to be asked
// at another distance than the owner knows.
func (s *schedule) untold(t *target) (untold bool, least time.Duration) {
	if t.words != nil {
		least = t.words.least()
	}
	told := mostOf(overlay.RateOf(least, s.pace.interval, s.pace.floor))
	untold = told != t.told
	t.told = told
	return untold, least
}

// finish ends a concluded poll. Its target is idle afterwards, or queued where a
// redirect has led it.
func (s *schedule) finish(p *poll, r *result, now int64) {
	t := p.target
	s.inFlight--
	s.ease(p, r, now)
	s.polls[p.class]--
	s.unpark(now)
	if r.outcome == redirected && t.incarnation == p.incarnation && !t.dropped {
		s.follow(p, r, now)
		return
	}
	s.land(t)
	defer s.recount(t, t.failing())
	if r.over && t.incarnation == p.incarnation && !t.dropped {
		t.dropped = true
		s.live--
	}
	s.rest(t, now)
}

// conclude takes in what a poll of the present incarnation found out.
func (t *target) conclude(p *poll, r *result, now int64) {
	t.polled = (t.polled || r.outcome != canceled || r.wire > 0) && !(r.noRoom && p.version == 0)
	t.expect(r)
	t.status = uint16(r.status)
	t.blame(p, r, now)
	if r.wire > 0 {
		t.smooth(r.wire)
	}
	if r.staged {
		t.stray = r.stray
	}
	if r.answered && r.version >= t.version {
		t.know(r.version, r.hash)
		t.held = r.held
	}
	t.witness(p, r.shows(t, p))
	if t.shown && r.holding.OK {
		t.holding, t.loaded = r.holding, true
	}
	if r.forget {
		t.holding, t.loaded = store.Holding{}, true
	}
	if r.heard {
		t.hear(r.words, r.remaining, now)
	}
}

// shows reports a poll that showed what is current now: the version that it began
// with, or the one that the owner has made of what it brought.
func (r *result) shows(t *target, p *poll) bool {
	switch {
	case r.outcome == changed:
		return r.version == t.version && r.hash == t.hash
	case r.holding.OK, r.outcome == notModified, r.outcome == unchanged:
		return p.version == t.version && p.hash == t.hash
	}
	return false
}

// witness notes whether the last poll showed the current version, and when one did.
func (t *target) witness(p *poll, shown bool) {
	known := p.known
	if shown || p.version != t.version || p.hash != t.hash {
		known = 0
	}
	t.shown = shown
	t.setKnown(known)
}

// blame notes what went wrong and counts failures of the origin. That the host was
// asked too often, or that we were not able to ask, is none.
func (t *target) blame(p *poll, r *result, now int64) {
	odd := t.oddities()
	odd.lastError, odd.notBefore = r.problem, 0
	if r.outcome != canceled {
		odd.notBefore = p.spare(r, now)
		t.refused = p.verdict != concernsNobody
	}
	switch {
	case r.outcome == canceled || r.outcome == refused:
	case r.outcome.originFailed():
		if t.failures == 0 {
			odd.failing = t.lastPoll
		}
		t.failures = min(t.failures, 1<<15) + 1
	default:
		t.failures, odd.failing = 0, 0
	}
	t.setOddities(odd)
}

// failing reports a target that is ordered, and whose origin's last answer was none
// that could be used.
func (t *target) failing() bool { return !t.dropped && t.failures > 0 }

// recount keeps the number of failing targets, of which this one was one or not.
func (s *schedule) recount(t *target, was bool) {
	switch is := t.failing(); {
	case is && !was:
		s.failing++
	case was && !is:
		s.failing--
	}
}

// spare returns until when a poll's channel is not to be asked for; 0: nobody said.
func (p *poll) spare(r *result, now int64) int64 {
	switch {
	case r.outcome != refused && r.retryAfter.After > 0:
		return now + int64(min(r.retryAfter.After, longestRest))
	case r.outcome == refused && p.hop != nil:
		return p.host.rest.until // not its own host rests
	}
	return 0
}
