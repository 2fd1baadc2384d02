package schedule

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Target is one channel of a [Schedule]. There may be millions: fields are ordered
// by size, and what few channels have is kept apart. What the caller keeps of a
// channel is in the same allocation.
type Target[C any] struct {
	Channel C          // the caller's; the schedule does not read it
	ID      channel.ID // not to be changed

	heapAt int32 // its place in the due heap; −1: not in it

	pace pace.Channel

	host *Host[C]   // that its polls ask first; nil: none yet
	next *Target[C] // in its host's queue, which is a ring
	rare *rare[C]   // nil: the zero value

	due int64 // intended begin of the next poll; when dormant: since when

	state   targetState
	dropped bool // it is not ordered: it is dormant, or about to be
	first   bool // its first poll is still to come, and rates do not plan that
	refused bool // the last poll was, by whatever verdict
}

// rare has the fields that most targets do not need.
type rare[C any] struct {
	hop       *Host[C] // that a redirect has led the poll to which is under way; nil: none
	notBefore int64    // the origin asked not to be asked for it before; 0: it did not
	others    int64    // until when other nodes may have asked for it; 0: none has
	body      int64    // bytes of memory that its last body took, if it was large; 0: it was not
	skip      pace.Skip
}

type targetState uint8

const (
	idle   targetState = iota // in the due heap, or never due, or dormant
	queued                    // at its host
	busy                      // with a worker, or claimed
)

// never is later than any due time.
const never = pace.Never

func (t *Target[C]) heapIndex() int32     { return t.heapAt }
func (t *Target[C]) setHeapIndex(i int32) { t.heapAt = i }

// Host returns the host that polls ask first, nil before [Schedule.Attach].
func (t *Target[C]) Host() *Host[C] { return t.host }

// Due returns when the next poll is due, in nanoseconds since 1970; ok is false when
// it never is.
func (t *Target[C]) Due() (at int64, ok bool) { return t.due, t.due != never }

// LastPoll returns when the last poll's request left, 0: never.
func (t *Target[C]) LastPoll() int64 { return t.pace.LastPoll }

// Pace returns the rate at which the target is polled, by how many pollers, and which of
// them this one is.
func (t *Target[C]) Pace() (rate overlay.Rate, width, rank int) {
	return t.pace.Rate, int(t.pace.Width), int(t.pace.Rank)
}

// Failures returns how often in a row the origin failed.
func (t *Target[C]) Failures() int { return int(t.pace.Failures) }

// Dropped reports a target without an order.
func (t *Target[C]) Dropped() bool { return t.dropped }

// Idle reports a target that neither waits at its host nor is polled.
func (t *Target[C]) Idle() bool { return t.state == idle }

// SetFirst says whether the target's first poll is still to come: it is due at once,
// and waits in a queue of its own.
func (t *Target[C]) SetFirst(first bool) { t.first = first }

// NotBefore returns when the origin may be asked for this channel; 0: it did not say.
func (t *Target[C]) NotBefore() int64 { return t.rareOf().notBefore }

// SetOthers notes until when other nodes may ask for the target's channel. Its next poll
// is a floor later at least.
func (t *Target[C]) SetOthers(until int64) {
	r := t.rareOf()
	r.others = max(r.others, until)
	t.setRare(r)
}

// SetWishes notes what an answer said of when to ask again: it is fresh until a time,
// 0: it did not say, and hours to be skipped.
func (t *Target[C]) SetWishes(freshUntil int64, skip pace.Skip) {
	t.pace.FreshUntil = freshUntil
	if t.rare == nil && skip == (pace.Skip{}) {
		return
	}
	r := t.rareOf()
	r.skip = skip
	t.setRare(r)
}

// Waits reports a target whose origin's wishes say not to ask now.
func (t *Target[C]) Waits(now int64) bool {
	return t.pace.FreshUntil > now || t.rareOf().skip.Excludes(now)
}

// wait returns what the next poll depends on beside its pace. A target without a host
// has no rate.
func (t *Target[C]) wait() pace.Wait {
	r := t.rareOf()
	w := pace.Wait{Phase: overlay.PhaseOf(t.ID), First: t.first, NotBefore: r.notBefore, Others: r.others, Skip: r.skip}
	if t.host != nil {
		w.Host = &t.host.rest
	}
	return w
}

func (t *Target[C]) rareOf() rare[C] {
	if t.rare == nil {
		return rare[C]{}
	}
	return *t.rare
}

func (t *Target[C]) setRare(r rare[C]) {
	switch {
	case r == (rare[C]{}):
		t.rare = nil
	case t.rare == nil:
		kept := r // r itself stays off the heap: most have none
		t.rare = &kept
	default:
		*t.rare = r
	}
}

// at returns the host that a target is asked at next: its own, or where a redirect
// has led the poll that is under way.
func (t *Target[C]) at() *Host[C] {
	if t.rare != nil && t.rare.hop != nil {
		return t.rare.hop
	}
	return t.host
}

// failing reports a target that is ordered, and whose origin's last answer was none
// that could be used.
func (t *Target[C]) failing() bool { return !t.dropped && t.pace.Failures > 0 }

// load returns how often this node polls the target, in millionths of a poll an
// interval; 0 when it is not ordered.
func (t *Target[C]) load() int64 {
	if t.dropped || t.pace.Rank >= t.pace.Width {
		return 0
	}
	return int64(t.pace.Rate.Float() / float64(t.pace.Width) * pollUnit)
}

// shift follows a wall clock that was set.
func (t *Target[C]) shift(step, now int64) {
	if t.pace.LastPoll != 0 {
		t.pace.LastPoll = min(t.pace.LastPoll+step, now)
	}
	latest := now + int64(pace.LongestRest)
	if t.pace.FreshUntil != 0 {
		t.pace.FreshUntil = min(t.pace.FreshUntil+step, latest)
	}
	if r := t.rareOf(); r.notBefore != 0 {
		r.notBefore = min(r.notBefore+step, latest)
		t.setRare(r)
	}
	if r := t.rareOf(); r.others != 0 {
		r.others = min(r.others+step, latest)
		t.setRare(r)
	}
}

// Record is what a restart must know of a target.
type Record struct {
	LastPoll, NotBefore   int64
	Rate                  overlay.Rate
	Failures, Rank, Drift uint16
	Refused               bool
}

// Record returns what a restart must know of a target.
func (t *Target[C]) Record() Record {
	return Record{
		LastPoll: t.pace.LastPoll, NotBefore: t.rareOf().notBefore, Rate: t.pace.Rate,
		Failures: t.pace.Failures, Rank: t.pace.Rank, Drift: t.pace.Drift, Refused: t.refused,
	}
}
