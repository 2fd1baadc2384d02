package deltas

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// region is where lines of a page come and go: between two lines that stay. It is
// remembered by digests of the two, numbers in them aside.
type region struct {
	before, after uint32 // 0: the beginning, the end of the page
	last          uint32 // digest of what stood there at the last look
	seen          sketch // of the lines that stood there
	rhythm
}

var regionPolicy = policy{again: 2, mask: 5, early: 3, byTime: true}

const (
	maxRegions = 8
	// regionLines is how many lines a region holds at most, and regionPart the part
	// of the page: where more changes, something was written.
	regionLines = 24
	regionPart  = 4
	leastRegion = 4 // lines that may be a region of however short a page
	// joinGap is how many lines may stay between changed ones that belong together.
	joinGap = 3
)

// sketch is a Bloom filter of lines, with three hashes.
type sketch [8]uint64

// mostBits is how full a sketch may be before it knows too much by chance.
const mostBits = 160

// bitsOf returns the three bits of a line.
func bitsOf(line uint32) (bits [3]uint32) {
	for i := range bits {
		bits[i] = line >> (3 + 9*i) & 511
	}
	return bits
}

func (s *sketch) add(line uint32) {
	for _, bit := range bitsOf(line) {
		s[bit>>6] |= 1 << (bit & 63)
	}
}

func (s *sketch) has(line uint32) bool {
	for _, bit := range bitsOf(line) {
		if s[bit>>6]&(1<<(bit&63)) == 0 {
			return false
		}
	}
	return true
}

func (s *sketch) full() bool {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n > mostBits
}

// run is a run of lines [from, to) of a page.
type run struct{ from, to int }

// paged is a page's lines, each by digests.
type paged []pageLine

// pageLine is what a line is known by.
type pageLine struct {
	shape uint32 // without numbers, a stamp's date aside: what stays of it while it counts; never 0
	said  uint32 // all that it says
	label bool   // it is short and has no number: a sky, a mood, a state
}

// pagedOf reads the lines of a body.
func (r *reader) pagedOf(body string) paged {
	lines := make(paged, 0, strings.Count(body, "\n"))
	for line := range strings.Lines(body) {
		lines = append(lines, r.digestOf(strings.TrimSuffix(line, "\n")))
	}
	return lines
}

func (r *reader) digestOf(line string) pageLine {
	r.read(r.mask(line))
	return pageLine{
		shape: uint32(xxhash.Sum64(r.shape)) | 1,
		said:  uint32(xxhash.Sum64String(line)),
		label: len(r.numbers) == 0 && len(line) <= labelBytes && strings.Count(line, " ") < labelWords,
	}
}

// A label has at most so many bytes and words.
const (
	labelBytes = 24
	labelWords = 3
)

// longest is how many lines of a page may be one region.
func (p paged) longest() int {
	return max(leastRegion, min(len(p)/regionPart, regionLines))
}

// around returns the region of a run.
func (p paged) around(s run) (before, after uint32) {
	if s.from > 0 {
		before = p[s.from-1].shape
	}
	if s.to < len(p) {
		after = p[s.to].shape
	}
	return before, after
}

// find returns where a region is on a page: its first occurrence.
func (p paged) find(before, after uint32) (run, bool) {
	if before == 0 {
		return p.ending(0, after)
	}
	for i, line := range p {
		if line.shape == before {
			if s, ok := p.ending(i+1, after); ok {
				return s, true
			}
		}
	}
	return run{}, false
}

// ending returns the lines of a region that begins at a line.
func (p paged) ending(from int, after uint32) (run, bool) {
	end := min(from+p.longest(), len(p))
	for to := from; to < end; to++ {
		if p[to].shape == after {
			return run{from, to}, true
		}
	}
	return run{from, end}, end == len(p) && after == 0 || end < len(p) && p[end].shape == after
}

// hash returns a digest of what stands in a run.
func (p paged) hash(s run) uint32 {
	sum := uint32(1)
	for _, line := range p[s.from:s.to] {
		sum = sum*16777619 ^ line.said
	}
	return sum
}

// changes returns the runs of a page that the changed lines, given by their
// numbers, make up, as far as they may be regions.
func (p paged) changes(lines []int) []run {
	slices.Sort(lines)
	var runs []run
	for _, at := range lines {
		if last := len(runs) - 1; last >= 0 && at-runs[last].to <= joinGap {
			runs[last].to = at + 1
		} else {
			runs = append(runs, run{at, at + 1})
		}
	}
	return slices.DeleteFunc(runs, func(s run) bool { return s.to-s.from > p.longest() })
}

// likely reports whether what stands in a run is like what its region has shown: lines
// seen before and labels or, where it has changed for long and few regions do, most of
// them.
func (l *region) likely(p paged, s run, few bool) bool {
	known, odd := 0, 0
	for _, line := range p[s.from:s.to] {
		switch {
		case l.seen.has(line.said):
			known++
		case !line.label:
			odd++
		}
	}
	return odd == 0 || few && l.score >= longChanging && 2*known >= s.to-s.from
}

const (
	// longChanging is the score of a region that hides lines never seen there, if most
	// were, and fewRegions how many may do so: where more change, it is a front page.
	longChanging = 24
	fewRegions   = 3
)

// learn remembers what stands in a run.
func (l *region) learn(p paged, s run) {
	if l.seen.full() {
		l.seen = sketch{}
	}
	for _, line := range p[s.from:s.to] {
		l.seen.add(line.said)
	}
}

func compareRegions(a, b region) int {
	return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after))
}

// learnRegions takes in what differs between a page and the current one.
func (n *Noise) learnRegions(t *ticks, now *Core, at uint32) {
	base, next := t.base, t.next
	for _, s := range t.come {
		n.watchRegion(next.around(s))
	}
	for _, s := range t.left {
		n.watchRegion(base.around(s))
	}
	if len(n.regions) > 0 && next == nil {
		next = t.is.pagedOf(now.body)
		base = next
	}
	for i := range n.regions {
		l := &n.regions[i]
		is, ok := next.find(l.before, l.after)
		if !ok {
			continue
		}
		was, known := base.find(l.before, l.after)
		digest := next.hash(is)
		if digest != l.last && (!known || digest != base.hash(was)) {
			l.tick(regionPolicy, at)
		} else {
			l.rest(regionPolicy, 1)
		}
		l.last = digest
		l.learn(next, is)
		if known {
			l.learn(base, was)
		}
	}
}

func (n *Noise) watchRegion(before, after uint32) {
	l := region{before: before, after: after}
	if at, known := slices.BinarySearchFunc(n.regions, l, compareRegions); !known {
		n.regions = slices.Insert(n.regions, at, l)
	}
}

// hidden returns which lines of a page stand in masked regions that show what they
// have shown before.
func (n *Noise) hidden(p paged) []bool {
	var hidden []bool
	n.eachHiding(p, func(_ *region, s run) {
		if hidden == nil {
			hidden = make([]bool, len(p))
		}
		for at := s.from; at < s.to; at++ {
			hidden[at] = true
		}
	})
	return hidden
}

// eachHiding calls f with each region that hides lines of a page, and which.
func (n Noise) eachHiding(p paged, f func(*region, run)) {
	few := len(n.maskedRegions()) <= fewRegions
	for i := range n.regions {
		l := &n.regions[i]
		if !l.masked {
			continue
		}
		if s, ok := p.find(l.before, l.after); ok && l.likely(p, s, few) {
			f(l, s)
		}
	}
}
