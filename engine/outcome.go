package engine

import (
	"errors"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
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
	gone                         // 410, and the owner still wants polls
	ended                        // the owner knows no such channel, or ended it
	statusError                  // another status
	fetchError                   // no response
	documentError                // a body that cannot be read
	ownerError                   // no answer from the owner
	cacheError                   // the content cache failed
	canceled                     // we stop, or had no connection to spare
	outcomes                     // their number
)

var outcomeNames = [outcomes]string{
	notModified: "not_modified", unchanged: "unchanged", changed: "changed", heldBack: "held", declined: "declined", outdated: "outdated",
	gone: "gone", ended: "ended", statusError: "status_error", fetchError: "fetch_error", documentError: "document_error",
	ownerError: "owner_error", cacheError: "cache_error", canceled: "canceled",
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
	wire       int64         // bytes received
	retryAfter time.Duration // as the origin asked

	answered bool // the owner said:
	version  uint64
	hash     deltas.Hash
	held     bool

	holding holding // of the version that is now current; not ok: as before

	staged bool // the cache's content was changed:
	stray  bool // it may hold other content of the channel than the current version's
}

// maxProblem is the longest text of an error, in bytes, that is kept per channel.
const maxProblem = 200

func (r result) fail(o outcome, problem string) result {
	r.outcome, r.problem = o, problem
	if len(problem) > maxProblem {
		r.problem = problem[:maxProblem] + "…"
	}
	return r
}

// fetchFailed is the result of a fetch without a response.
func (r result) fetchFailed(err error) result {
	var fetchErr *fetcher.Error
	if !errors.As(err, &fetchErr) {
		return r.fail(fetchError, err.Error())
	}
	if fetchErr.Class == fetcher.Canceled || fetchErr.Class == fetcher.Busy {
		r.took = 0 // it tells nothing about the host
		return r.fail(canceled, fetchErr.Class.String())
	}
	return r.fail(fetchError, fetchErr.Class.String()+": "+fetchErr.Err.Error())
}

// statusFailed is the result of a response that is no content.
func (r result) statusFailed(resp *fetcher.Response) result {
	r.retryAfter = retryAfter(resp.RetryAfter)
	return r.fail(statusError, "HTTP status "+strconv.Itoa(resp.Status))
}

// knows takes in the owner's answer.
func (r result) knows(a Answer) result {
	r.answered, r.version, r.hash, r.held = true, a.Version, a.Hash, a.Held
	return r
}

// finish updates the poll's target, which is idle afterwards.
func (s *schedule) finish(p *poll, r *result, now int64) {
	t := p.target
	t.state = idle
	s.inFlight--
	s.polls[p.class]--
	s.unpark(now)
	t.lastPoll = p.begun.UnixNano()
	if t.incarnation == p.incarnation {
		t.conclude(p, r, now)
	}
	if r.outcome == ended && t.incarnation == p.incarnation && !t.dropped {
		t.dropped = true
		s.live--
	}
	if t.dropped {
		s.lay(t, now)
		return
	}
	s.plan(t, now)
}

// conclude takes in what a poll of the present incarnation found out.
func (t *target) conclude(p *poll, r *result, now int64) {
	t.polled = t.polled || r.outcome != canceled
	t.lastError, t.status = r.problem, uint16(r.status)
	if r.outcome.originFailed() {
		t.failures = min(t.failures, 1<<15) + 1
	} else if r.outcome != canceled {
		t.failures = 0
	}
	t.notBefore = 0
	if r.retryAfter > 0 {
		t.notBefore = now + int64(r.retryAfter)
	}
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
	current := p.version == t.version && p.hash == t.hash
	if r.answered {
		current = r.version == t.version && r.hash == t.hash
	}
	if current && r.holding.ok {
		t.holding, t.loaded = r.holding, true
	}
}
