package schedule

import (
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Target is one channel of a [Schedule]. There may be millions: fields are ordered
// by size, and what few channels have is kept apart. What the caller keeps of a
// channel is in the same allocation.
type Target[C any] struct {
	Channel C          // the caller's; the schedule does not read it
	ID      channel.ID // not to be changed

	rate overlay.Rate

	host *Host[C]   // that its polls ask first; nil: none yet
	next *Target[C] // in its host's queue, which is a ring
	rare *rare[C]   // nil: the zero value

	due        int64 // intended begin of the next poll; when dormant: since when
	lastPoll   int64 // when the last poll began; 0: never
	freshUntil int64 // the origin said that what it showed is fresh until then; 0: it did not say

	heapAt int32 // its place in the due heap; −1: not in it

	width, rank uint16
	drift       uint16 // behind its slots: see driftWhole
	failures    uint16 // of the origin, in a row
	state       targetState
	dropped     bool // it is not ordered: it is dormant, or about to be
	first       bool // its first poll is still to come, and rates do not plan that
	refused     bool // the last poll was, by whatever verdict
}

// rare is what most targets have none of.
type rare[C any] struct {
	hop       *Host[C] // that a redirect has led the poll to which is under way; nil: none
	notBefore int64    // the origin asked not to be asked for it before; 0: it did not
	body      int64    // bytes of memory that its last body took, if it was large; 0: it was not
	skip      Skip
}

type targetState uint8

const (
	idle   targetState = iota // in the due heap, or never due, or dormant
	queued                    // at its host
	busy                      // with a worker, or claimed
)

// never is later than any due time.
const never = math.MaxInt64

func (t *Target[C]) heapIndex() int32     { return t.heapAt }
func (t *Target[C]) setHeapIndex(i int32) { t.heapAt = i }

// Host returns the host that polls ask first, nil before [Schedule.Attach].
func (t *Target[C]) Host() *Host[C] { return t.host }

// Due returns when the next poll is due, in nanoseconds since 1970; ok is false when
// it never is.
func (t *Target[C]) Due() (at int64, ok bool) { return t.due, t.due != never }

// LastPoll returns when the last poll began, 0: never.
func (t *Target[C]) LastPoll() int64 { return t.lastPoll }

// Failures returns how often in a row the origin failed.
func (t *Target[C]) Failures() int { return int(t.failures) }

// Dropped reports a target without an order.
func (t *Target[C]) Dropped() bool { return t.dropped }

// Idle reports a target that neither waits at its host nor is polled.
func (t *Target[C]) Idle() bool { return t.state == idle }

// SetFirst says whether the target's first poll is still to come: it is due at once,
// and waits in a queue of its own.
func (t *Target[C]) SetFirst(first bool) { t.first = first }

// NotBefore returns when the origin may be asked for this channel; 0: it did not say.
func (t *Target[C]) NotBefore() int64 { return t.rareOf().notBefore }

// SetWishes notes what an answer said of when to ask again: it is fresh until a time,
// 0: it did not say, and hours to be skipped.
func (t *Target[C]) SetWishes(freshUntil int64, skip Skip) {
	t.freshUntil = freshUntil
	if t.rare == nil && skip == (Skip{}) {
		return
	}
	r := t.rareOf()
	r.skip = skip
	t.setRare(r)
}

// Waits reports a target whose origin's wishes say not to ask now.
func (t *Target[C]) Waits(now int64) bool {
	return t.freshUntil > now || t.rareOf().skip.Excludes(now)
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
func (t *Target[C]) failing() bool { return !t.dropped && t.failures > 0 }

// shift follows a wall clock that was set.
func (t *Target[C]) shift(step, now int64) {
	if t.lastPoll != 0 {
		t.lastPoll = min(t.lastPoll+step, now)
	}
	latest := now + int64(LongestRest)
	if t.freshUntil != 0 {
		t.freshUntil = min(t.freshUntil+step, latest)
	}
	if r := t.rareOf(); r.notBefore != 0 {
		r.notBefore = min(r.notBefore+step, latest)
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
		LastPoll: t.lastPoll, NotBefore: t.rareOf().notBefore, Rate: t.rate,
		Failures: t.failures, Rank: t.rank, Drift: t.drift, Refused: t.refused,
	}
}
