package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/fetcher"
)

// outcome is how a poll ended. DESIGN.md says what each changes, and what the owner hears.
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

	over      bool // the owner wants no more polls
	judged    bool // the owner said:
	version   uint64
	hash      deltas.Hash
	candidate bool // one waits for confirmation

	holding store.Holding // of the version that is now current; not ok: as before
	forget  bool          // what is held is good for nothing

	kind deltas.Kind // of what the origin showed; 0: not known

	answered  bool // the origin said:
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

// sentOf returns when the request of a fetch without a response had been written; zero: it
// was not.
func sentOf(err error) (sent time.Time) {
	var fetchErr *fetcher.Error
	if errors.As(err, &fetchErr) {
		sent = fetchErr.Sent
	}
	return sent
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

// withAnswer adds the owner's answer.
func (r result) withAnswer(a Answer) result {
	r.judged, r.version, r.hash, r.candidate = true, a.Version, a.Hash, a.Held
	return r
}

// blame says what the outcome means to the channel. That its host was asked too often,
// or that we could not ask, is not its failure.
func (o outcome) blame() schedule.Blame {
	switch {
	case o == canceled:
		return schedule.Canceled
	case o == refused:
		return schedule.Refused
	case o == gone || o == statusError || o == fetchError || o == documentError:
		return schedule.Failed
	}
	return schedule.Succeeded
}
