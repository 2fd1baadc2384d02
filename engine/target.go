package engine

import (
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// target is what the engine keeps in memory of one channel. There may be
// millions: fields are ordered by size, and strings that come together are kept
// together.
//
// While it is busy, its worker is the only one that reads or writes its part of
// the cache. Every field is guarded by Engine.mu.
type target struct {
	url     string
	host    *host
	next    *target // in its host's queue, which is a ring
	holding holding // of (version, hash)

	lastError string // of the last poll; empty: it went well

	incarnation uint64
	version     uint64 // current, by the last order or answer
	due         int64  // intended begin of the next poll; when dormant: since when
	lastPoll    int64  // when the last poll began; 0: never
	notBefore   int64  // the origin asked not to come before; 0: it did not

	hash  deltas.Hash // of version
	id    channel.ID
	rate  overlay.Rate
	width int32
	rank  int32
	pos   int32  // in the due heap; −1: not in it
	size  uint32 // bytes on the wire, smoothed

	failures uint16 // of the origin, in a row
	status   uint16 // of the last response; 0: there was none
	state    targetState
	dropped  bool // no order stands: it is dormant
	held     bool // a candidate waits at the owner
	polled   bool // under this incarnation and since the start
	loaded   bool // holding has been read from the cache, or needs not be
	stray    bool // the cache may hold other content of it than the current version's
}

// holding is what the poller holds of a channel's current version. The zero value
// is nothing: the next poll gets the whole document.
type holding struct {
	rawHash    uint64 // of the body as it came
	validators validators
	feedURL    string // the feed that an HTML page names
	ok         bool
}

// sameOnDisk reports that h, as it is recorded, serves a restart as well as other.
func (h holding) sameOnDisk(other holding) bool {
	return h.ok && h.validators == other.validators && h.feedURL == other.feedURL
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
	t.version, t.hash = version, hash
	t.holding = holding{}
	t.loaded, t.stray = version == 0, t.stray || version > 0
}

// reborn starts another incarnation of the channel: all content is forgotten, but
// not when the origin was last asked.
func (t *target) reborn(incarnation uint64) {
	t.incarnation = incarnation
	t.holding = holding{}
	t.version, t.hash, t.loaded = 0, deltas.Hash{}, true
	t.stray = t.polled
	t.failures, t.lastError, t.notBefore = 0, "", 0
	t.polled, t.held = false, false
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

// validators are an ETag, a Last-Modified and the URL that they were given for,
// kept in one string. The zero value is none.
type validators struct {
	text               string
	etag, lastModified uint16 // lengths
}

// maxValidators caps what an origin may have us remember. A longer set is as good
// as none: polls get whole documents.
const maxValidators = 2048

// newValidators returns none when there is neither ETag nor Last-Modified. An
// empty url is the channel's own.
func newValidators(etag, lastModified, url string) validators {
	if etag == "" && lastModified == "" || len(etag)+len(lastModified)+len(url) > maxValidators {
		return validators{}
	}
	return validators{etag + lastModified + url, uint16(len(etag)), uint16(len(lastModified))}
}

func (v validators) split() (etag, lastModified, url string) {
	end := v.etag + v.lastModified
	return v.text[:v.etag], v.text[v.etag:end], v.text[end:]
}
