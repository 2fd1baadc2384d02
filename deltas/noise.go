package deltas

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Noise is what the owner of a channel has learned of its content: numbers that
// tick, lines that come and go, without meaning anything. What it masks, [Judge]
// and [Noise.Compare] do not see. It changes by the owner's judgements alone;
// pollers know nothing of it.
//
// The zero Noise masks what is taken for noise on a channel that nobody knows:
// build stamps and controls.
type Noise struct {
	Epoch  uint16 // counts changes of what is masked
	chosen uint8  // score: entries leave from anywhere, or lines come in any order, see learnWindow
	slots  []slot // in the order of their keys, of each kind at most its policy's room
}

// slot is a place of the content that is watched.
type slot struct {
	key    slotKey
	last   uint32 // digest of what stood there at the last look
	score  uint8  // grows when it ticks, shrinks with looks at which it does not
	masked bool
}

// slotKey names a place by what it looks like wherever it stands: the upper two
// bits are its slotKind, the others a hash.
type slotKey uint32

type slotKind uint8

const (
	slotNumber slotKind = iota // a number between the words around it
	slotLine                   // a line, by all that it says; it comes and goes
	slotStamp                  // a build stamp, by the rest of its line

	slotKinds
)

func newKey(kind slotKind, what string) slotKey {
	return slotKey(uint32(xxhash.Sum64String(what))>>2 | uint32(kind)<<30)
}

func (k slotKey) kind() slotKind { return slotKind(k >> 30) }

// policy is how slots of a kind are learned. A look is a time in which the
// channel is usually polled once.
type policy struct {
	gain   int // score of a tick
	tally  int // score of a tick of many entries at once
	mask   int // score from which a slot is masked; until it is 0 again
	most   int // highest score: how many calm looks unmask what has long ticked
	begins int // score at the first sight
	room   int // how many are watched
}

// A number must tick at three looks more than it does not. A line must come or go
// at four looks of about as many, or at half of very many: twice may be news and
// its end. A stamp is masked until it was calm at four looks.
var policies = [slotKinds]policy{
	slotNumber: {gain: 1, tally: 2, mask: 3, most: 48, room: 32},
	slotLine:   {gain: 3, tally: 3, mask: 12, most: 24, room: 32},
	slotStamp:  {gain: 1, tally: 2, mask: 4, most: 48, begins: 4, room: 16},
}

const (
	maxSlots = 32 + 32 + 16
	// maxToggled is how many lines may come and go at once and be watched: of
	// what is more, something was written.
	maxToggled = 32
	// manyEntries is how many entries must tick alike, and be a quarter of all,
	// to count as many.
	manyEntries = 3
)

func (n *Noise) find(key slotKey) (int, bool) {
	return slices.BinarySearchFunc(n.slots, key, func(s slot, key slotKey) int { return cmp.Compare(s.key, key) })
}

// rest returns the noise after looks at which base stood unchanged. Stamps of
// base are watched from then on.
func (n Noise) rest(base *Core, looks int) Noise {
	if looks == 0 {
		return n
	}
	stamps := make(map[slotKey]int)
	var r reader
	r.stamps(base, func(key slotKey) { stamps[key] = 0 })
	next := Noise{Epoch: n.Epoch, chosen: n.chosen, slots: slices.Clone(n.slots)}
	next.watch(stamps)
	for i := range next.slots {
		next.slots[i].rest(looks)
	}
	if len(base.Entries) == 0 {
		next.chosen -= uint8(min(looks, int(next.chosen)))
	}
	return next.settled(n)
}

// learn returns the noise after a look that showed next where base is the
// current content. A number ticks when it differs from base and from the last
// look: entries that come bring numbers too. A line ticks when it comes or goes.
func (n Noise) learn(base, next *Core) Noise {
	t := compareSlots(base, next)
	after := Noise{Epoch: n.Epoch, chosen: n.chosen, slots: slices.Clone(n.slots)}
	after.learnWindow(base, next)
	after.watch(t.slots)
	digests := after.digests(next)
	for i := range after.slots {
		s := &after.slots[i]
		ticks, differs := t.slots[s.key]
		_, known := n.find(s.key)
		if !known || digests[i] != s.last && (differs || s.key.kind() == slotLine) {
			s.tick(ticks >= manyEntries && 4*ticks >= t.units)
		} else {
			s.rest(1)
		}
		s.last = digests[i]
	}
	return after.settled(n)
}

// The scores from which entries are taken to leave from anywhere, and the highest.
const (
	chosenFrom = 3
	mostChosen = 8
)

// learnWindow takes in what went when entries came. Of a list in the order of
// time the oldest go. Where others go, somebody chooses what is shown, as on a
// front page, and an entry that goes was not taken back.
// What has no entries has lines: that they are the same in another order means
// nothing where it happens again and again.
func (n *Noise) learnWindow(base, next *Core) {
	c := compareEntries(base, next)
	switch {
	case len(base.Entries)+len(next.Entries) == 0:
		if sameLines(n.view(base).body, n.view(next).body) {
			n.chosen = min(n.chosen+1, mostChosen)
		} else {
			n.chosen = max(n.chosen, 1) - 1
		}
	case len(c.added) == 0 || c.survivors == 0:
	case len(c.withdrawn) > 0:
		n.chosen = min(n.chosen+1, mostChosen)
	case len(c.left) > 0:
		n.chosen = max(n.chosen, 1) - 1
	}
}

// shuffled reports that the order of a content's lines means nothing.
func (n Noise) shuffled(c *Core) bool { return n.chosen >= chosenFrom && len(c.Entries) == 0 }

// compare is [compareEntries], but that nothing is withdrawn where entries leave
// from anywhere.
func (n Noise) compare(base, next *Core) comparison {
	c := compareEntries(base, next)
	if n.chosen >= chosenFrom {
		c.left, c.withdrawn = append(c.left, c.withdrawn...), nil
	}
	return c
}

// watch adds slots that are not watched yet.
func (n *Noise) watch(keys map[slotKey]int) {
	for key := range keys {
		if at, known := n.find(key); !known {
			p := policies[key.kind()]
			n.slots = slices.Insert(n.slots, at, slot{key: key, score: uint8(p.begins), masked: p.begins >= p.mask})
		}
	}
}

func (s *slot) tick(many bool) {
	p := policies[s.key.kind()]
	gain := p.gain
	if many {
		gain = p.tally
	}
	s.score = uint8(min(int(s.score)+gain, p.most))
}

func (s *slot) rest(looks int) { s.score -= uint8(min(looks, int(s.score))) }

// settled masks and unmasks what the scores say, forgets what is calm, and
// counts the epoch if other things are masked than before.
func (n Noise) settled(before Noise) Noise {
	kept := n.slots[:0]
	for _, s := range n.slots {
		p := policies[s.key.kind()]
		s.masked = s.score > 0 && (s.masked || int(s.score) >= p.mask)
		if s.score > 0 || p.begins > 0 {
			kept = append(kept, s)
		}
	}
	n.slots = kept
	n.makeRoom()
	if n.sameMasks(before) {
		return n
	}
	n.Epoch++
	return n
}

// makeRoom forgets the slots of each kind with the lowest scores, beyond its room.
func (n *Noise) makeRoom() {
	for kind, p := range policies {
		var scores []uint8
		for _, s := range n.slots {
			if s.key.kind() == slotKind(kind) {
				scores = append(scores, s.score)
			}
		}
		excess := len(scores) - p.room
		if excess <= 0 {
			continue
		}
		slices.Sort(scores)
		lowest := scores[excess-1]
		n.slots = slices.DeleteFunc(n.slots, func(s slot) bool {
			goes := s.key.kind() == slotKind(kind) && s.score <= lowest && excess > 0
			if goes {
				excess--
			}
			return goes
		})
	}
}

// sameMasks reports whether the two mask the same. A stamp that is not watched
// is masked.
func (n Noise) sameMasks(other Noise) bool {
	return (n.chosen >= chosenFrom) == (other.chosen >= chosenFrom) && slices.Equal(n.exceptions(), other.exceptions())
}

// exceptions returns the keys of what is not as the zero Noise has it, in order.
func (n Noise) exceptions() []slotKey {
	var keys []slotKey
	for _, s := range n.slots {
		if s.masked != (policies[s.key.kind()].begins > 0) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// digests returns what stands at each slot of a content, parallel to the slots.
func (n *Noise) digests(c *Core) []uint32 {
	sums := make([]uint32, len(n.slots))
	add := func(key slotKey, value string) {
		if at, ok := n.find(key); ok {
			sums[at] += uint32(xxhash.Sum64String(value)) | 1
		}
	}
	var wanted [slotKinds]bool
	for _, s := range n.slots {
		wanted[s.key.kind()] = true
	}
	if wanted[slotStamp] = c.has(oddStamp); wanted == [slotKinds]bool{} {
		return sums
	}
	var r reader
	for line := range strings.Lines(c.content) {
		r.slots(strings.TrimSuffix(line, "\n"), wanted, add)
	}
	return sums
}
