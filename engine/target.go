package engine

import (
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// target is what the engine keeps in memory of one channel. There may be
// millions: fields are ordered by size, and strings that come together are kept
// together.
//
// While it is busy, its worker is the only one that reads or writes its part of
// the cache. Every field is guarded by Engine.mu.
type target struct {
	url     string        // that polls ask first
	host    *host         // of url
	next    *target       // in its host's queue, which is a ring
	holding store.Holding // of (version, hash)
	words   *words        // of the origin; nil: none. What it points to is not changed
	odd     *oddities     // nil: none

	incarnation uint64
	version     uint64 // current, by the last order or answer
	due         int64  // intended begin of the next poll; when dormant: since when
	lastPoll    int64  // when the last poll began; 0: never
	hold        int64  // what the last poll saw is fresh until then; 0: it did not say

	hash deltas.Hash // of version
	id   channel.ID
	rate overlay.Rate
	pos  int32  // in the due heap; −1: not in it
	row  int32  // in the ledger; 0: none yet
	size uint32 // bytes on the wire, smoothed

	subscribers uint32

	width, rank uint16
	drift       uint16 // behind its slots: see driftWhole
	failures    uint16 // of the origin, in a row
	status      uint16 // of the last response; 0: there was none
	state       targetState
	dropped     bool     // no order stands: it is dormant
	held        bool     // a candidate waits at the owner
	refused     bool     // the last poll was: see refusals
	polled      bool     // under this incarnation
	loaded      bool     // holding has been read from the cache, or needs not be
	shown       bool     // the last poll showed version
	stray       bool     // the cache may hold other content of it than the current version's
	told        most     // what the owner knows of words
	sized       sizeStep // what the owner knows of size
}

// oddities are what most targets have none of.
type oddities struct {
	hop       *hop    // where redirects have led the poll that is under way; nil: nowhere
	course    *course // where it leads; nil: nowhere else
	lastError string  // of the last poll; empty: it went well
	body      int64   // bytes of memory that its last body took, if it was large; 0: it was not
	notBefore int64   // the origin asked not to come before; 0: it did not
	failing   int64   // when the first of the failures in a row began; 0: none, or not known since a restart
	known     int64   // when the last poll began that showed version, where that is not lastPoll; 0: none did
}

func (t *target) oddities() oddities {
	if t.odd == nil {
		return oddities{}
	}
	return *t.odd
}

func (t *target) setOddities(o oddities) {
	switch {
	case o == (oddities{}):
		t.odd = nil
	case t.odd == nil:
		kept := o // o itself stays off the heap: most have none
		t.odd = &kept
	default:
		*t.odd = o
	}
}

type targetState uint8

const (
	idle   targetState = iota // in the due heap, or never due, or dormant
	queued                    // at its host
	busy                      // with a worker
)

// never is later than any due time.
const never = math.MaxInt64

func (t *target) place() int32         { return t.pos }
func (t *target) setPlace(place int32) { t.pos = place }

// isFirst reports a channel without content that has not been asked for yet.
func (t *target) isFirst() bool { return t.version == 0 && !t.polled }

// know takes in what the owner says is current. What is held of another version
// is worth nothing: a 304 against it would hide the difference.
func (t *target) know(version uint64, hash deltas.Hash) {
	if t.version == version && t.hash == hash {
		return
	}
	t.shown = t.shown && t.version == 0 // in an earlier run: the record tells what
	t.version, t.hash = version, hash
	t.holding = store.Holding{}
	t.loaded, t.stray = version == 0, t.stray || version > 0
	t.setKnown(0)
}

// reborn starts another incarnation of the channel: all content is forgotten, but
// not when the origin was last asked, nor when it may be asked again.
func (t *target) reborn(incarnation uint64) {
	t.incarnation = incarnation
	t.holding = store.Holding{}
	t.version, t.hash, t.loaded = 0, deltas.Hash{}, true
	t.stray = t.polled
	t.failures = 0
	o := t.oddities()
	o.lastError, o.failing = "", 0
	t.setOddities(o)
	t.words, t.hold, t.told, t.sized = nil, 0, 0, 0
	t.polled, t.held, t.refused, t.shown = false, false, false, false
	t.setKnown(0)
}

// known returns when the last poll began that showed the current version; 0: none
// that is remembered.
func (t *target) known() int64 {
	if t.shown {
		return t.lastPoll
	}
	return t.oddities().known
}

func (t *target) setKnown(at int64) {
	if at == 0 && t.odd == nil {
		return
	}
	o := t.oddities()
	o.known = at
	t.setOddities(o)
}

// shift follows a wall clock that was set.
func (t *target) shift(step, now int64) {
	if t.lastPoll != 0 {
		t.lastPoll = min(t.lastPoll+step, now)
	}
	latest := now + int64(longestRest)
	if t.hold != 0 {
		t.hold = min(t.hold+step, latest)
	}
	if o := t.oddities(); o.notBefore != 0 {
		o.notBefore = min(o.notBefore+step, latest)
		t.setOddities(o)
	}
	if o := t.oddities(); o.failing != 0 {
		o.failing = min(o.failing+step, now)
		t.setOddities(o)
	}
	if at := t.oddities().known; at != 0 {
		t.setKnown(min(at+step, now))
	}
}

// smooth folds the size of one more exchange into the expected one.
func (t *target) smooth(bytes int64) {
	size := min(max(bytes, 0), math.MaxUint32)
	if t.size != 0 {
		const weight = 8
		size = int64(t.size) + (size-int64(t.size))/weight
	}
	t.size = uint32(size)
}

// largeBody is how much memory a body takes that polls wait for before they ask.
const largeBody = 1 << 20

// expect notes how much memory the next body is to have. A 304 says nothing about it; a
// body that there was no room for counts as large, so that it is not thrown away twice.
func (t *target) expect(r *result) {
	o := t.oddities()
	switch {
	case r.memory >= largeBody || r.busy && r.memory > 0:
		o.body = max(r.memory, largeBody)
	case r.status/100 == 2:
		o.body = 0
	}
	t.setOddities(o)
}

// resized reports that the owner is to hear of the expected size, and takes it for
// told.
func (t *target) resized() bool {
	size, told := float64(t.size), t.sized.bytes()
	if size == 0 || t.sized != 0 && size <= farSize*told && told <= farSize*size {
		return false
	}
	t.sized = sizeStepOf(size)
	return true
}

// farSize is by how much a size differs that the owner is to hear of.
const farSize = 1.25

// sizeStep is a size on a scale of logarithms, from one byte to billions; 0: none.
type sizeStep uint8

const sizeSteps = 8 // to a factor of two

func sizeStepOf(bytes float64) sizeStep {
	return sizeStep(min(1+math.Round(sizeSteps*math.Log2(bytes)), math.MaxUint8))
}

func (s sizeStep) bytes() float64 { return math.Exp2((float64(s) - 1) / sizeSteps) }
