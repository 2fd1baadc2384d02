package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Noise is what the owner of a channel has learned of its content: numbers that
// tick, places whose lines come and go, without meaning anything. What it masks,
// [Decide] and [Noise.Compare] do not see. It changes by the owner's judgements
// alone; pollers know nothing of it.
//
// The zero Noise masks what is taken for noise on a channel without a history:
// controls.
type Noise struct {
	Epoch   uint16   // counts changes of what is masked
	looks   uint8    // at the channel, at most earlyLooks
	chosen  uint8    // score: entries leave from anywhere, see learnWindow
	slots   []slot   // in the order of their keys, of each kind at most its room
	regions []region // in the order of [compareRegions], at most maxRegions
}

// slot is a number that is watched.
type slot struct {
	key  slotKey
	last uint32 // digest of what stood there at the last look
	rhythm
}

// slotKey names a slot by what it looks like wherever it stands: the upper two
// bits are its slotKind, the others a hash.
type slotKey uint32

type slotKind uint8

const (
	slotNumber slotKind = iota // a number between the words around it
	slotField                  // the same in entries

	slotKinds
)

func newKey(kind slotKind, what string) slotKey {
	return slotKey(uint32(xxhash.Sum64String(what))>>2 | uint32(kind)<<30)
}

func (k slotKey) kind() slotKind { return slotKind(k >> 30) }

// A number of a page is masked after three looks in a row at which it changed, one
// of entries after two at which it changed in half of them and more.
var policies = [slotKinds]policy{
	slotNumber: {again: 2, mask: 5, early: 3, byTime: true},
	slotField:  {again: 2, mask: 3, early: 3},
}

// earlyLooks is how many looks at a channel count as its first: what has changed at
// each of them since it began is soon taken for a clock.
const earlyLooks = 8

// room is how many slots of a kind are watched.
var room = [slotKinds]int{slotNumber: 32, slotField: 16}

const maxSlots = 32 + 16

func (n *Noise) find(key slotKey) (int, bool) {
	return slices.BinarySearchFunc(n.slots, key, func(s slot, key slotKey) int { return cmp.Compare(s.key, key) })
}

func (n Noise) clone() Noise {
	n.slots, n.regions = slices.Clone(n.slots), slices.Clone(n.regions)
	return n
}

// rest returns the noise at a time before which so many looks showed the current
// content. Numbers of entries are compared where something changed alone.
func (n Noise) rest(looks int, at uint32) Noise {
	next := n.clone()
	next.looks = uint8(min(int(n.looks)+looks, earlyLooks))
	for i := range next.slots {
		if kind := next.slots[i].key.kind(); kind != slotField {
			next.slots[i].rest(policies[kind], looks)
		}
	}
	for i := range next.regions {
		next.regions[i].rest(regionPolicy, looks)
	}
	return next.settled(n, at)
}

// learn returns the noise after a look that showed next where base is the
// current content. What differs from base and from the last look has changed: of
// entries that come, other numbers are seen.
func (n Noise) learn(base, next *content.Core, at uint32) Noise {
	t := compareSlots(base, next)
	after := n.clone()
	after.looks = min(n.looks+1, earlyLooks)
	after.learnWindow(base, next)
	after.watch(t.slots, at)
	digests := after.digests(next)
	for i := range after.slots {
		s := &after.slots[i]
		p := policies[s.key.kind()]
		if digests[i] != s.last && t.changed(s.key) {
			s.tick(p, at)
		} else {
			s.rest(p, 1)
		}
		s.last = digests[i]
	}
	after.learnRegions(&t, base, next, at)
	return after.settled(n, at)
}

// The scores from which entries are taken to leave from anywhere, and the highest.
const (
	chosenFrom = 3
	mostChosen = 8
)

// learnWindow learns from which entries left when others came. Of a list in the order of
// time the oldest leave. Where others leave, a selection is shown, as on a front page,
// and an entry that leaves was not withdrawn.
func (n *Noise) learnWindow(base, next *content.Core) {
	c := compareEntries(base, next)
	switch {
	case len(c.added) == 0 || c.survivors == 0:
	case len(c.withdrawn) > 0:
		n.chosen = min(n.chosen+1, mostChosen)
	case len(c.left) > 0:
		n.chosen = max(n.chosen, 1) - 1
	}
}

// matureFrom is the score from which a mask hides what stands, too.
const matureFrom = 10

// beneath returns what an observation that differs from the current content only in noise
// is known by: its hash or, if it differs beneath young masks too (news), the face that it
// has without these.
func (n Noise) beneath(s sight) (shows content.Hash, news bool) {
	if s.all == nil {
		return s.Core.Hash, false
	}
	old := n.clone()
	for i := range old.slots {
		if s := &old.slots[i]; s.key.kind() == slotNumber {
			s.masked = s.masked && s.score >= matureFrom
		}
	}
	for i := range old.regions {
		old.regions[i].masked = old.regions[i].masked && old.regions[i].score >= matureFrom
	}
	if old.sameMasks(n) {
		return s.Core.Hash, false
	}
	if face := old.face(old.view(s.Core)); face != old.face(old.view(s.all)) {
		return face, true
	}
	return s.Core.Hash, false
}

// compare is [compareEntries], but that nothing is withdrawn where entries leave
// from anywhere.
func (n Noise) compare(base, next *content.Core) comparison {
	c := compareEntries(base, next)
	if n.chosen >= chosenFrom && !slices.ContainsFunc(c.withdrawn, base.IsChosen) {
		c.left, c.withdrawn = append(c.left, c.withdrawn...), nil
	}
	return c
}

// watch adds slots that are not watched yet.
func (n *Noise) watch(keys map[slotKey]int, at uint32) {
	var fresh []slot
	for key := range keys {
		if _, known := n.find(key); !known {
			fresh = append(fresh, slot{key: key, rhythm: rhythm{changed: at}})
		}
	}
	n.slots = append(n.slots, fresh...)
	slices.SortFunc(n.slots, func(a, b slot) int { return cmp.Compare(a.key, b.key) })
}

// settled masks and unmasks what the scores say at a time, forgets what is calm, and
// counts the epoch if other things are masked than before.
func (n Noise) settled(before Noise, at uint32) Noise {
	early := n.looks < earlyLooks
	for i := range n.slots {
		n.slots[i].settle(policies[n.slots[i].key.kind()], at, early)
	}
	for i := range n.regions {
		n.regions[i].settle(regionPolicy, at, early)
	}
	n.slots = slices.DeleteFunc(n.slots, func(s slot) bool { return s.score == 0 })
	n.regions = slices.DeleteFunc(n.regions, func(l region) bool { return l.score == 0 })
	n.makeRoom()
	if !n.sameMasks(before) {
		n.Epoch++
	}
	return n
}

// makeRoom forgets the slots of each kind, and the places, with the lowest scores.
func (n *Noise) makeRoom() {
	for kind, most := range room {
		n.slots = forget(n.slots, most, func(s slot) (int, bool) { return int(s.score), s.key.kind() == slotKind(kind) })
	}
	n.regions = forget(n.regions, maxRegions, func(l region) (int, bool) { return int(l.score), true })
}

// forget returns a list without those that have the lowest scores, until at most so
// many of those that count are left.
func forget[T any](list []T, most int, score func(T) (int, bool)) []T {
	var scores []int
	for _, one := range list {
		if n, counts := score(one); counts {
			scores = append(scores, n)
		}
	}
	excess := len(scores) - most
	if excess <= 0 {
		return list
	}
	slices.Sort(scores)
	highest := scores[excess-1]
	return slices.DeleteFunc(list, func(one T) bool {
		n, counts := score(one)
		goes := counts && n <= highest && excess > 0
		if goes {
			excess--
		}
		return goes
	})
}

// sameMasks reports whether the two mask the same.
func (n Noise) sameMasks(other Noise) bool {
	return (n.chosen >= chosenFrom) == (other.chosen >= chosenFrom) && slices.Equal(n.exceptions(), other.exceptions()) &&
		slices.EqualFunc(n.maskedRegions(), other.maskedRegions(), func(a, b region) bool { return compareRegions(a, b) == 0 && a.seen == b.seen })
}

// exceptions returns the keys of what is not as the zero Noise has it, in order.
func (n Noise) exceptions() []slotKey {
	var keys []slotKey
	for _, s := range n.slots {
		if s.masked {
			keys = append(keys, s.key)
		}
	}
	return keys
}

func (n Noise) maskedRegions() []region {
	return slices.DeleteFunc(slices.Clone(n.regions), func(l region) bool { return !l.masked })
}

// digests returns what stands at each slot of a content, parallel to the slots.
func (n *Noise) digests(c *content.Core) []uint32 {
	sums := make([]uint32, len(n.slots))
	add := func(key slotKey, value string) {
		if at, ok := n.find(key); ok {
			sums[at] += uint32(xxhash.Sum64String(value)) | 1
		}
	}
	if len(n.slots) == 0 {
		return sums
	}
	var r reader
	eachLine(c, func(line string, kind slotKind) { r.slots(line, kind, add) })
	return sums
}

// eachLine calls f with each line that may have slots, and the kind of its numbers.
func eachLine(c *content.Core, f func(line string, kind slotKind)) {
	head := len(c.ContentText())
	for _, section := range c.Sections() {
		head -= len(section)
	}
	for line := range strings.Lines(c.ContentText()[:head]) {
		f(strings.TrimSuffix(line, "\n"), slotNumber)
	}
	for line := range strings.Lines(c.ContentText()[head:]) {
		f(strings.TrimSuffix(line, "\n"), slotField)
	}
}
