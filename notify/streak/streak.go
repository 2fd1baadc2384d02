package streak

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Streak is what the keeper of an endpoint knows of it. The zero value of all fields but
// Record knows nothing more than that.
type Streak struct {
	Record channel.Endpoint
	waits  time.Time // end of the wait that the endpoint asked for in Retry-After
	began  time.Time // when the newest request began that failed
	works  time.Time // since when the endpoint does: failures of earlier requests do not count
	grant  grant     // that is out; the zero value: none
}

// Resume returns the streak of a record that was stored. It does not know what requests are
// under way: until the next try is due only that one, or a test, ends the streak. If it was due
// before now, the keeper before has perhaps granted it, and the first request since then is it.
func Resume(record channel.Endpoint, now time.Time) Streak {
	began := now
	if record.State == channel.EndpointActive && !record.Works() && record.NextAttempt.Before(now) {
		began = record.NextAttempt
	}
	return Streak{Record: record, waits: record.NextAttempt, began: began}
}

// grant lets one deliverer make one request.
type grant struct {
	number uint64
	holder uint64
	since  time.Time
	until  time.Time // it ends by then without an outcome
}

// Question is what a deliverer tells the keeper, and asks of it.
type Question struct {
	From  uint64 // the deliverer
	Works bool   // it goes by a record of an endpoint that works
	Wants bool   // it has something for the endpoint, and no request under way

	Outcomes []Outcome // of requests, the oldest first
	Unused   uint64    // a grant whose request was not made; 0: none
	Created  time.Time // when the newest subscription was made that the deliverer knows
}

// Outcome is how a request ended.
type Outcome struct {
	Failed *Failure  // nil: it was acknowledged
	Grant  uint64    // that it is the request of; 0: of none
	Tested bool      // it was a test message
	Began  time.Time // by the keeper's clock
}

// Failure is what counts of a failed request.
type Failure struct {
	Gone       bool // the endpoint answered 410
	Text       string
	RetryAfter time.Duration // wait that the endpoint asked for; 0 for none
}

// Answer is what a deliverer goes by from now on.
type Answer struct {
	Record    channel.Endpoint
	Grant     uint64        // one request may go; 0: none
	LostUntil time.Time     // what was committed until then the request of the grant declares lost
	Again     time.Duration // a deliverer with something for an endpoint that fails asks again after this
}

// Times of the protocol.
const (
	// Start is how long a deliverer may wait before the request of a grant begins.
	Start = time.Second
	// KeepLost is how long a record keeps LostUntil: as long as updates are kept.
	KeepLost = 76 * time.Hour

	// AgainBusy is when a deliverer asks again while another one has the grant.
	AgainBusy = 5 * time.Second
	// AgainAfter is when it does at the latest: the endpoint may work again sooner than it
	// is tried.
	AgainAfter = time.Minute
)

// Answer returns the streak after a question, and the answer. A new grant gets the given
// number, and ends after the longest request.
func (s Streak) Answer(q Question, now time.Time, number uint64, longest time.Duration) (Streak, Answer) {
	s.end(q.Unused)
	for _, outcome := range q.Outcomes {
		granted := s.end(outcome.Grant)
		if outcome.Failed != nil {
			s.failed(outcome, now, granted.number != 0 || s.Record.Works() && q.Works)
		} else {
			s.succeeded(outcome, now, granted)
		}
	}
	if s.Record.State == channel.EndpointDisabled && q.Created.After(s.Record.FailingSince) {
		s.revive(q.Created, now)
	}
	a := Answer{Record: s.Record}
	if q.Wants {
		a.Grant, a.LostUntil = s.give(q.From, now, number, longest)
	}
	a.Again = s.again(now)
	return s, a
}

// end returns the grant with a number, which has ended; none, if another one is out.
func (s *Streak) end(number uint64) (ended grant) {
	if number != 0 && s.grant.number == number {
		ended, s.grant = s.grant, grant{}
	}
	return ended
}

// failed notes a failed request. Requests that were under way when a streak began are no
// steps of it, but their Retry-After counts. One that began before the endpoint was seen to
// work is not of now: a 410 may be told again after a subscription has revived the endpoint.
func (s *Streak) failed(o Outcome, now time.Time, isStep bool) {
	if o.Began.Before(s.works) {
		return
	}
	f, was := o.Failed, s.Record
	if o.Began.After(s.began) {
		s.began = o.Began
	}
	switch {
	case was.State == channel.EndpointDisabled:
		return
	case f.Gone:
		s.Record = disabled(was, now, f.Text)
	case isStep:
		s.Record = failed(was, now, f.Text)
	}
	if f.RetryAfter > 0 {
		s.Record = postponed(s.Record, now, f.RetryAfter)
		s.waits = now.Add(f.RetryAfter)
	}
	if s.Record != was {
		s.grant = grant{}
	}
}

// succeeded ends a streak. The request of a grant does, and a test; another one if it
// began after each that failed, and no Retry-After is running: else it does not show that
// the endpoint accepts more. Only a new subscription revives an endpoint that answered 410.
func (s *Streak) succeeded(o Outcome, now time.Time, granted grant) {
	isTry := granted.number != 0 || o.Tested
	if s.Record.Works() || s.Record.State == channel.EndpointDisabled || !isTry && (now.Before(s.waits) || !o.Began.After(s.began)) {
		return
	}
	lostUntil := now
	if granted.number != 0 {
		lostUntil = granted.since
	}
	s.revive(lostUntil, o.Began)
}

// revive has an endpoint work again, since a time. After a suspension, what was committed
// until lostUntil is lost.
func (s *Streak) revive(lostUntil, since time.Time) {
	was := s.Record
	*s = Streak{Record: channel.Endpoint{URL: was.URL, LostUntil: was.LostUntil}, works: since}
	if was.State != channel.EndpointActive && lostUntil.After(was.LostUntil) {
		s.Record.LostUntil = stamp(lostUntil)
	}
}

// Granted reports whether a grant is out that has a number: it may be over, if no other one
// was given.
func (s Streak) Granted(number uint64) bool { return s.grant.number == number }

// give returns the number of a deliverer's grant when the next request is due and none is
// out. One that asks again for a grant that it has gets the same: its answer was lost.
func (s *Streak) give(to uint64, now time.Time, number uint64, longest time.Duration) (uint64, time.Time) {
	if s.Record.Works() || s.Record.State == channel.EndpointDisabled || now.Before(s.Record.NextAttempt) {
		return 0, time.Time{}
	}
	switch out := s.grant.number != 0 && now.Before(s.grant.until); {
	case out && s.grant.holder != to:
		return 0, time.Time{}
	case !out:
		s.grant = grant{number: number, holder: to, since: stamp(now), until: now.Add(Start + longest)}
	}
	if s.Record.State == channel.EndpointSuspended {
		return s.grant.number, s.grant.since
	}
	return s.grant.number, s.Record.LostUntil
}

func (s *Streak) again(now time.Time) time.Duration {
	wait := s.Record.NextAttempt.Sub(now)
	switch {
	case s.Record.Works():
		return 0
	case s.Record.State == channel.EndpointDisabled, wait > AgainAfter:
		return AgainAfter
	case wait <= 0:
		return AgainBusy
	}
	return wait
}

// Forgets returns when a record is to be looked at without a question: of an endpoint
// that works, when LostUntil goes. The zero time: never.
func Forgets(record channel.Endpoint) time.Time {
	if record.LostUntil.IsZero() || !record.Works() {
		return time.Time{}
	}
	return record.LostUntil.Add(KeepLost)
}

// MaxOutcomes is how many outcomes a question holds. A deliverer sends nothing while one is
// not answered, so they are as many as it has requests under way at a time.
const MaxOutcomes = 64

// Merge returns the question that stands for two of one deliverer, of which the second
// one is newer.
func Merge(older, newer Question) Question {
	merged := newer
	merged.Works = older.Works // a streak's first failure came when it did
	merged.Outcomes = slices.Concat(older.Outcomes, newer.Outcomes)
	if beyond := len(merged.Outcomes) - MaxOutcomes; beyond > 0 {
		merged.Outcomes = merged.Outcomes[beyond:]
	}
	if merged.Unused == 0 {
		merged.Unused = older.Unused
	}
	if older.Created.After(merged.Created) {
		merged.Created = older.Created
	}
	return merged
}
