package engine

import (
	"cmp"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// target is a channel in the schedule, with what the engine knows of it, and host is
// an origin. Every field is guarded by Engine.mu.
type (
	target = schedule.Target[channelState]
	host   = schedule.Host[channelState]
)

// channelState is what the engine keeps in memory of one channel, beside its place in
// the schedule. There may be millions: fields are ordered by size, and strings that
// come together are kept together. While the target is busy, its worker alone reads
// and writes its part of the cache.
type channelState struct {
	url     string        // that polls ask first
	holding store.Holding // of (version, hash)
	words   *words        // of the origin; nil: none. What it points to is not changed
	odd     *oddities     // nil: none

	incarnation uint64
	version     uint64 // current, by the last order or answer
	hash        deltas.Hash

	row         int32  // in the ledger; 0: none yet
	size        uint32 // expected bytes on the wire, an exponential moving average
	subscribers uint32

	status    uint16   // of the last response; 0: there was none
	candidate bool     // one waits at the owner for confirmation
	polled    bool     // under this incarnation
	loaded    bool     // holding has been read from the cache, or needs not be
	shown     bool     // the last poll showed version
	stray     bool     // the cache may hold other content of it than the current version's
	saidRate  rateStep // what the owner knows of the rate that words allow
	saidSize  sizeStep // what the owner knows of size
}

// oddities has the fields that most channels do not need.
type oddities struct {
	hop       *hop           // where redirects have led the poll that is under way; nil: nowhere
	redirect  *redirectState // nil: it leads nowhere else
	lastError string         // of the last poll; empty: it went well
	failing   int64          // when the first of the failures in a row began; 0: none, or not known since a restart
	known     int64          // when the last poll began that showed version, where that is not lastPoll; 0: none did
}

// redirectState is where a channel leads other than to its URL: most have none. It
// is replaced as a whole, never changed.
type redirectState struct {
	own   string // the channel's URL, while another one is asked first
	final string // where the last poll ended; empty: at the channel's URL
	moved string // where permanent redirects alone led it; empty: nowhere
	since int64  // when they first led there, without a break

	// By the last order:
	ask   string // to be asked instead of the channel's URL; empty: none
	known string // where the owner knows that permanent redirects lead
	again int64  // when the owner wants to be told of that again; 0: never
}

// hop is a redirect that a poll follows: a request like any other, which waits for
// its turn at the host that it really contacts. It is not changed once it is made.
type hop struct {
	url   string   // to be asked
	trail []string // the URLs that redirected here, the first one first
	moved string   // where permanent redirects alone have led; empty: nowhere
}

func (c *channelState) oddities() oddities {
	if c.odd == nil {
		return oddities{}
	}
	return *c.odd
}

func (c *channelState) setOddities(o oddities) {
	switch {
	case o == (oddities{}):
		c.odd = nil
	case c.odd == nil:
		kept := o // o itself stays off the heap: most have none
		c.odd = &kept
	default:
		*c.odd = o
	}
}

// redirect returns what is known of where redirects lead the channel.
func (c *channelState) redirect() redirectState {
	if c.odd == nil || c.odd.redirect == nil {
		return redirectState{}
	}
	return *c.odd.redirect
}

// own returns the channel's URL, of which its ID is made.
func (c *channelState) own() string { return cmp.Or(c.redirect().own, c.url) }

// isFirst reports a channel without content that has not been asked for yet.
func (c *channelState) isFirst() bool { return c.version == 0 && !c.polled }

// setVersion notes what the owner says is current. The holding of another version is
// dropped: a 304 against its validators would hide the difference.
func (c *channelState) setVersion(version uint64, hash deltas.Hash) {
	if c.version == version && c.hash == hash {
		return
	}
	c.shown = c.shown && c.version == 0 // in an earlier run: the record tells what
	c.version, c.hash = version, hash
	c.holding = store.Holding{}
	c.loaded, c.stray = version == 0, c.stray || version > 0
	c.setKnown(0)
}

// setIncarnation starts another incarnation of the channel: all content is
// forgotten.
func (c *channelState) setIncarnation(incarnation uint64) {
	c.incarnation = incarnation
	c.holding = store.Holding{}
	c.version, c.hash, c.loaded = 0, deltas.Hash{}, true
	c.stray = c.polled
	o := c.oddities()
	o.lastError, o.failing = "", 0
	c.setOddities(o)
	c.words, c.saidRate, c.saidSize = nil, 0, 0
	c.polled, c.candidate, c.shown = false, false, false
	c.setKnown(0)
}

// setRecord notes what the cache has recorded, and reports whether it is of the
// channel's incarnation. The zero record is none.
func (c *channelState) setRecord(found *store.Record) (same bool) {
	c.loaded = true
	same = found.Incarnation == c.incarnation
	if same && found.Version == c.version && found.Hash == c.hash && found.Holding.OK {
		c.holding = found.Holding
	} else {
		c.shown = false
	}
	return same
}

// knownAt returns when the last poll began that showed the current version; 0: none
// that is remembered.
func knownAt(t *target) int64 {
	if t.Channel.shown {
		return t.LastPoll()
	}
	return t.Channel.oddities().known
}

func (c *channelState) setKnown(at int64) {
	if at == 0 && c.odd == nil {
		return
	}
	o := c.oddities()
	o.known = at
	c.setOddities(o)
}

// shift follows a wall clock that was set.
func (c *channelState) shift(step, now int64) {
	if c.odd == nil {
		return
	}
	for _, at := range []*int64{&c.odd.failing, &c.odd.known} {
		if *at != 0 {
			*at = min(*at+step, now)
		}
	}
}

// addSize folds the size of one more exchange into the expected one.
func (c *channelState) addSize(bytes int64) {
	size := min(max(bytes, 0), math.MaxUint32)
	if c.size != 0 {
		const weight = 8
		size = int64(c.size) + (size-int64(c.size))/weight
	}
	c.size = uint32(size)
}

// newSize reports that the owner is to be told the expected size, and takes it for
// told.
func (c *channelState) newSize() bool {
	size, told := float64(c.size), c.saidSize.bytes()
	if size == 0 || c.saidSize != 0 && size <= farSize*told && told <= farSize*size {
		return false
	}
	c.saidSize = sizeStepOf(size)
	return true
}

// farSize is by how much a size differs that the owner is told.
const farSize = 1.25

// sizeStep is a size on a scale of logarithms, from one byte to billions; 0: none.
type sizeStep uint8

const sizeSteps = 8 // to a factor of two

func sizeStepOf(bytes float64) sizeStep {
	return sizeStep(min(1+math.Round(sizeSteps*math.Log2(bytes)), math.MaxUint8))
}

func (s sizeStep) bytes() float64 { return math.Exp2((float64(s) - 1) / sizeSteps) }

// setWords notes what an answer of now said.
func setWords(t *target, said words, remaining time.Duration, now int64) {
	c := &t.Channel
	if said == (words{}) {
		c.words = nil
		t.SetWishes(0, pace.Skip{})
		return
	}
	if c.words == nil || *c.words != said {
		kept := said // said itself stays off the heap, as most of them
		c.words = &kept
	}
	t.SetWishes(said.freshUntil(now, remaining), pace.NewSkip(said.hints.SkipHours, said.hints.SkipDays))
}

// timeOf returns nanoseconds since 1970 as a time; 0 is the zero time.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

func wallNow() int64 { return time.Now().UnixNano() }
