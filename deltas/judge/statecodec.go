package judge

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// The layout of a stored state, all integers big endian, times in nanoseconds since
// 1970, −2^63 for none:
//
//	version(1): 3
//	extractor(2) current hash(16) face(16) shown(8) looked(8) epoch(2) first looks(1)
//	score of front pages(1) flaps(1) stood(1)
//	recent hashes(1) candidates(1): 0 or 1, slots(1), regions(1): how many follow
//	each recent hash(16), the newest last
//	the candidate: hash(16) begun(8) polls(1), and of what it lacks how many(1), digests(4 each)
//	each slot, by key: key(4), the upper two bits its kind, last(4) rhythm
//	each region, by its ends: before(4) after(4) last(4) sketch(64) rhythm
//
// A rhythm is score(1), the upper bit of which is masked, still(1) and changed(4). A
// channel without noise takes 70 to 350 bytes. Versions 1 and 2 are read, without what
// they had learned.
const (
	stateVersion   = 3
	stateHeader    = 1 + 2 + 2*len(content.Hash{}) + 2*8 + 2 + 1 + 1 + 1 + 1 + 4
	stateCandidate = len(content.Hash{}) + 8 + 1 + 1
	stateGone      = 4
	stateRhythm    = 1 + 1 + 4
	stateSlot      = 4 + 4 + stateRhythm
	stateRegion    = 4 + 4 + 4 + len(sketch{})*8 + stateRhythm
	rhythmMasked   = 0x80 // beside a score

	maxState = stateHeader + maxRecent*len(content.Hash{}) + stateCandidate + maxGone*stateGone + maxSlots*stateSlot + maxRegions*stateRegion
)

// MarshalBinary returns the state's stored form, at most maxState bytes. It does not
// fail. Times are kept to the nanosecond.
func (s State) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, stateHeader+len(s.Recent)*len(content.Hash{})+stateCandidate+maxGone*stateGone+len(s.Noise.slots)*stateSlot+len(s.Noise.regions)*stateRegion)
	b = append(b, stateVersion)
	b = binary.BigEndian.AppendUint16(b, s.Extractor)
	b = append(append(b, s.Current[:]...), s.Face[:]...)
	b = appendTime(appendTime(b, s.Shown), s.Looked)
	b = binary.BigEndian.AppendUint16(b, s.Noise.Epoch)
	b = append(b, s.Noise.looks, s.Noise.chosen, s.Flaps, flag(s.Stood), byte(len(s.Recent)), 0, byte(len(s.Noise.slots)), byte(len(s.Noise.regions)))
	for _, h := range s.Recent {
		b = append(b, h[:]...)
	}
	if c := s.Candidate; c != nil {
		b[stateHeader-3] = 1
		b = append(b, c.Hash[:]...)
		b = append(appendTime(b, c.Begun), c.Polls, byte(len(c.Gone)))
		for _, gone := range c.Gone {
			b = binary.BigEndian.AppendUint32(b, gone)
		}
	}
	for _, slot := range s.Noise.slots {
		b = binary.BigEndian.AppendUint32(b, uint32(slot.key))
		b = slot.append(binary.BigEndian.AppendUint32(b, slot.last))
	}
	for _, l := range s.Noise.regions {
		b = binary.BigEndian.AppendUint32(b, l.before)
		b = binary.BigEndian.AppendUint32(b, l.after)
		b = binary.BigEndian.AppendUint32(b, l.last)
		for _, word := range l.seen {
			b = binary.BigEndian.AppendUint64(b, word)
		}
		b = l.append(b)
	}
	return b, nil
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func (r rhythm) append(b []byte) []byte {
	score := r.score
	if r.masked {
		score |= rhythmMasked
	}
	return binary.BigEndian.AppendUint32(append(b, score, r.still), r.changed)
}

// UnmarshalBinary reads what MarshalBinary wrote, and what older versions did, of which
// nothing learned is kept; nothing at all is the zero State. The error is [content.ErrVersion] or
// [content.ErrCorrupt].
func (s *State) UnmarshalBinary(data []byte) error {
	*s = State{}
	if len(data) == 0 {
		return nil
	}
	read := State{}
	var err error
	switch data[0] {
	case stateVersion:
		err = read.read(data[1:])
	case 1, 2:
		err = read.readOld(data)
	default:
		return fmt.Errorf("%w of judge state: %d", content.ErrVersion, data[0])
	}
	if err != nil {
		return err
	}
	*s = read
	return nil
}

func (s *State) read(data []byte) error {
	r := fields{left: data}
	s.Extractor, s.Current, s.Face, s.Shown, s.Looked = r.uint16(), r.hash(), r.hash(), r.time(), r.time()
	s.Noise.Epoch, s.Noise.looks, s.Noise.chosen, s.Flaps = r.uint16(), min(r.byte(), earlyLooks), min(r.byte(), mostChosen), min(r.byte(), maxFlaps)
	s.Stood = r.byte() != 0
	recent, candidates, slots, regions := r.byte(), r.byte(), r.byte(), r.byte()
	if recent > maxRecent || candidates > 1 || slots > maxSlots || regions > maxRegions {
		return fmt.Errorf("%w: judge state of %d bytes", content.ErrCorrupt, len(data))
	}
	for range recent {
		s.Recent = append(s.Recent, r.hash())
	}
	if candidates == 1 {
		s.Candidate = r.candidate()
	}
	for range slots {
		if read := (slot{slotKey(r.uint32()), r.uint32(), r.rhythm()}); read.key.kind() < slotKinds {
			s.Noise.slots = append(s.Noise.slots, read) // other kinds were watched once
		}
	}
	for range regions {
		l := region{before: r.uint32(), after: r.uint32(), last: r.uint32()}
		for i := range l.seen {
			l.seen[i] = r.uint64()
		}
		l.rhythm = r.rhythm()
		s.Noise.regions = append(s.Noise.regions, l)
	}
	if r.short || len(r.left) > 0 || !s.Noise.ordered() {
		return fmt.Errorf("%w: judge state of %d bytes", content.ErrCorrupt, len(data))
	}
	return nil
}

// ordered reports whether slots and regions are in order, without repeats.
func (n *Noise) ordered() bool {
	for i, s := range n.slots {
		if i > 0 && n.slots[i-1].key >= s.key {
			return false
		}
	}
	for i := range n.regions {
		if i > 0 && compareRegions(n.regions[i-1], n.regions[i]) >= 0 {
			return false
		}
	}
	return true
}

// readOld reads a state of version 1 or 2. What they had learned meant something else;
// without it the current content has another face, which the judge finds out.
func (s *State) readOld(data []byte) error {
	r := fields{left: data[1:]}
	s.Extractor, s.Current = r.uint16(), r.hash()
	slots := byte(0)
	if data[0] == 1 {
		s.Shown = r.time()
	} else {
		r.hash() // the face
		s.Shown = r.time()
		r.time() // of the last look
		s.Noise.Epoch = r.uint16()
		r.byte() // how chosen entries are
	}
	r.byte() // returns
	recent, candidates := r.byte(), r.byte()
	if data[0] == 2 {
		slots = r.byte()
	}
	for range min(recent, maxRecent) {
		s.Recent = append(s.Recent, r.hash())
	}
	r.take(int(candidates)*oldCandidate + int(slots)*oldSlot)
	if r.short || len(r.left) > 0 || recent > maxRecent || candidates > 1 {
		return fmt.Errorf("%w: judge state of version %d", content.ErrCorrupt, data[0])
	}
	s.Looked, s.Noise.looks = s.Shown, earlyLooks
	return nil
}

// The lengths of what versions 1 and 2 stored of candidates and slots.
const (
	oldCandidate = len(content.Hash{}) + 8 + 1
	oldSlot      = 4 + 4 + 1
)

// fields reads bytes from their beginning. Reading past the end makes it short.
type fields struct {
	left  []byte
	short bool
}

func (f *fields) take(n int) []byte {
	if len(f.left) < n {
		f.short, f.left = true, nil
		return make([]byte, n)
	}
	taken := f.left[:n]
	f.left = f.left[n:]
	return taken
}

func (f *fields) byte() byte         { return f.take(1)[0] }
func (f *fields) uint16() uint16     { return binary.BigEndian.Uint16(f.take(2)) }
func (f *fields) uint32() uint32     { return binary.BigEndian.Uint32(f.take(4)) }
func (f *fields) uint64() uint64     { return binary.BigEndian.Uint64(f.take(8)) }
func (f *fields) hash() content.Hash { return content.Hash(f.take(len(content.Hash{}))) }
func (f *fields) time() time.Time    { return readTime(f.take(8)) }

func (f *fields) rhythm() rhythm {
	score := f.byte()
	return rhythm{score: min(score&^rhythmMasked, mostScore), masked: score&rhythmMasked != 0, still: min(f.byte(), mostStill), changed: f.uint32()}
}

func (f *fields) candidate() *Candidate {
	c := &Candidate{Hash: f.hash(), Begun: f.time(), Polls: f.byte()}
	for range min(f.byte(), maxGone) {
		c.Gone = append(c.Gone, f.uint32())
	}
	return c
}

// appendTime writes nanoseconds since 1970, and the smallest number for the zero time.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.BigEndian.AppendUint64(b, 1<<63)
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano()))
}

func readTime(b []byte) time.Time {
	n := binary.BigEndian.Uint64(b)
	if n == 1<<63 {
		return time.Time{}
	}
	return time.Unix(0, int64(n)).UTC()
}
