package judge

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
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
	// maxRuns is how many runs of lines may differ for any to be a region: of a page that
	// differs at more places much was written. Each run costs scans of the page.
	maxRuns = 4 * maxRegions
	// regionLines is how many lines a region holds at most, and regionPart the part
	// of the page: where more changes, something was written.
	regionLines = 24
	regionPart  = 4
	leastRegion = 4 // lines that may be a region of however short a page
	// joinGap is how many lines may stay between changed ones that belong together.
	joinGap = 6
)

// sketch is a Bloom filter of lines, with three hashes, in two halves: once the first
// is full it takes the place of the second, so that what was seen last is known.
type sketch [8]uint64

const (
	sketchHalf = len(sketch{}) / 2 // words
	// mostBits is how full a half may be before it knows too much by chance.
	mostBits = 104
)

// bitsOf returns the three bits of a line in a half.
func bitsOf(line uint32) (bits [3]uint32) {
	for i := range bits {
		bits[i] = line >> (3 + 9*i) & 255
	}
	return bits
}

func (s *sketch) add(line uint32) {
	if s.inHalf(line, 0) {
		return
	}
	if s.full() {
		copy(s[sketchHalf:], s[:sketchHalf])
		clear(s[:sketchHalf])
	}
	for _, bit := range bitsOf(line) {
		s[bit>>6] |= 1 << (bit & 63)
	}
}

func (s *sketch) has(line uint32) bool { return s.inHalf(line, 0) || s.inHalf(line, sketchHalf) }

func (s *sketch) inHalf(line uint32, first int) bool {
	for _, bit := range bitsOf(line) {
		if s[first+int(bit>>6)]&(1<<(bit&63)) == 0 {
			return false
		}
	}
	return true
}

// full reports whether the first half is.
func (s *sketch) full() bool {
	n := 0
	for _, word := range s[:sketchHalf] {
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
	shape   uint32 // without numbers: what stays of it while it counts; never 0
	all     uint32 // all that it says
	said    uint32 // the same without numbers that are masked
	numbers bool
	label   bool // it is short and has no number: a sky, a mood, a state
}

// pagedOf reads the lines of a body.
func (m *masker) pagedOf(body string) paged {
	lines := make(paged, 0, strings.Count(body, "\n"))
	for line := range strings.Lines(body) {
		lines = append(lines, m.digestOf(strings.TrimSuffix(line, "\n")))
	}
	return lines
}

// pagedBeside is pagedOf of a body that shares most lines with another one, whose
// lines are known.
func (m *masker) pagedBeside(body, other string, known paged) paged {
	head := scan.CommonHead(body, other)
	tail := scan.CommonTail(body[head:], other[head:])
	first, last := strings.Count(body[:head], "\n"), strings.Count(body[len(body)-tail:], "\n")
	return slices.Concat(known[:first], m.pagedOf(body[head:len(body)-tail]), known[len(known)-last:])
}

func (m *masker) digestOf(line string) pageLine {
	m.read(line)
	l := pageLine{
		shape: uint32(xxhash.Sum64(m.shape)) | 1,
		all:   uint32(xxhash.Sum64String(line)),
		label: len(m.numbers) == 0 && len(line) <= labelBytes && strings.Count(line, " ") < labelWords,
	}
	l.said, l.numbers = l.all, len(m.numbers) > 0
	if len(m.ticking) > 0 && l.numbers {
		l.said = uint32(xxhash.Sum64String(m.maskNumbers(line, slotNumber)))
	}
	return l
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
		sum = sum*16777619 ^ line.all
	}
	return sum
}

// changes returns the runs of a page at which lines came to it, and left the page
// before, as far as they may be regions. A run of lines that left is empty.
func (p paged) changes(left, come []int) []run {
	slices.Sort(left)
	slices.Sort(come)
	var runs []run
	stayed := 0 // lines of p before at that the page before had
	for at := 0; at <= len(p) && len(left)+len(come) > 0; at++ {
		for ; len(left) > 0 && left[0] <= stayed; left = left[1:] {
			runs = join(runs, run{at, at})
			stayed++ // as the page before counts
		}
		if len(come) > 0 && come[0] == at {
			come = come[1:]
			runs = join(runs, run{at, at + 1})
		} else {
			stayed++
		}
	}
	return slices.DeleteFunc(p.apart(runs), func(s run) bool { return s.to-s.from > p.longest() })
}

// join adds a run behind others, to the last if that is near.
func join(runs []run, s run) []run {
	if last := len(runs) - 1; last >= 0 && s.from-runs[last].to <= joinGap {
		runs[last].to = s.to
		return runs
	}
	return append(runs, s)
}

// apart returns the runs with each extended to the nearest lines whose shape no other
// line of the page has: what repeats on a page, such as the names and dates of posts,
// says nothing of where it stands.
func (p paged) apart(runs []run) []run {
	if len(runs) == 0 {
		return nil
	}
	often := make(map[uint32]int, len(p))
	for _, line := range p {
		often[line.shape]++
	}
	wide := runs[:0]
	for _, s := range runs {
		if last := len(wide) - 1; last >= 0 && s.to <= wide[last].to {
			continue // the one before was extended over it
		}
		for s.from > 0 && often[p[s.from-1].shape] > 1 {
			s.from--
		}
		for s.to < len(p) && often[p[s.to].shape] > 1 {
			s.to++
		}
		if last := len(wide) - 1; last >= 0 && s.from <= wide[last].to {
			wide[last].to = max(wide[last].to, s.to)
		} else {
			wide = append(wide, s)
		}
	}
	return wide
}

// likely reports whether what stands in a run is like what its region has shown: lines
// seen before and labels or, where it has changed for long and few regions do, in half
// of its lines others with numbers that were not seen.
func (l *region) likely(p paged, s run, few bool) bool {
	known, alike, odd := 0, 0, 0
	for _, line := range p[s.from:s.to] {
		switch {
		case l.seen.has(line.said):
			known++
		case line.numbers && l.seen.has(line.shape):
			alike++
			odd++
		case !line.label:
			odd++
		}
	}
	return odd == 0 || few && l.score >= longChanging && 2*(known+alike) >= s.to-s.from
}

const (
	// longChanging is the score of a region that hides lines never seen there, if most
	// were, and fewRegions how many may do so: where more change, it is a front page.
	longChanging = 24
	fewRegions   = 3
)

// learn remembers what stands in a run.
func (l *region) learn(p paged, s run) {
	for _, line := range p[s.from:s.to] {
		l.seen.add(line.said)
		if line.numbers {
			l.seen.add(line.shape)
		}
	}
}

func compareRegions(a, b region) int {
	return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.after, b.after))
}

// learnRegions learns from what differs between a page and the current one.
func (n *Noise) learnRegions(t *ticks, was, now *content.Core, at uint32) {
	if len(n.regions)+len(t.left)+len(t.come) == 0 {
		return
	}
	m := masker{reader: t.is}
	m.add(n.slots)
	next := m.pagedOf(now.Body())
	base := m.pagedBeside(was.Body(), now.Body(), next)
	if runs := next.changes(t.left, t.come); len(runs) <= maxRuns {
		for _, s := range runs {
			n.watchRegion(next, s)
		}
	}
	for i := range n.regions {
		l := &n.regions[i]
		is, ok := next.find(l.before, l.after)
		if !ok {
			l.rest(regionPolicy, 1)
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

// watchRegion watches a run of a page. It reads the regions inside the run: a line that
// moves through a region is not an end of it.
func (n *Noise) watchRegion(p paged, s run) {
	l := region{}
	l.before, l.after = p.around(s)
	for i := range n.regions {
		is, ok := p.find(n.regions[i].before, n.regions[i].after)
		switch {
		case !ok:
		case is.from <= s.from && s.to <= is.to:
			return
		case s.from <= is.from && is.to <= s.to && n.regions[i].score >= l.score:
			l.seen, l.rhythm = n.regions[i].seen, n.regions[i].rhythm
		}
	}
	n.regions = slices.DeleteFunc(n.regions, func(old region) bool {
		is, ok := p.find(old.before, old.after)
		return ok && s.from <= is.from && is.to <= s.to
	})
	at, _ := slices.BinarySearchFunc(n.regions, l, compareRegions)
	n.regions = slices.Insert(n.regions, at, l)
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
	var found [maxRegions]run
	shown := 0
	for i := range n.regions {
		if s, ok := p.find(n.regions[i].before, n.regions[i].after); ok && n.regions[i].masked {
			found[i] = s
			shown++
		}
	}
	for i := range n.regions {
		if s := found[i]; s.to > 0 && n.regions[i].likely(p, s, shown <= fewRegions) {
			f(&n.regions[i], s)
		}
	}
}
