package judge

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func pagedLines(lines ...string) paged {
	var m masker
	if len(lines) == 0 {
		return m.pagedOf("")
	}
	return m.pagedOf(strings.Join(lines, "\n") + "\n")
}

func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = "line " + strings.Repeat("x", i+1)
	}
	return lines
}

// Lines that came to a page and places where lines left it are one region with at most
// six lines between them, as long as that is no longer than a quarter of the page, of 4
// to 24 lines.
func TestRegionsOfChanges(t *testing.T) {
	at := func(places ...int) []int { return places }
	posts := strings.Split(strings.Repeat("post ", 40), " ")[:40]
	for _, tc := range []struct {
		name       string
		lines      []string
		left, come []int
		want       string
	}{
		{"none", numbered(40), nil, nil, "[]"},
		{"one line replaced", numbered(40), at(7), at(7), "[{7 8}]"},
		{"one line came", numbered(40), nil, at(7), "[{7 8}]"},
		{"one line left", numbered(40), at(7), nil, "[{7 7}]"},
		{"three lines left side by side", numbered(40), at(8, 9, 7), nil, "[{7 7}]"},
		{"the first line left", numbered(40), at(0), nil, "[{0 0}]"},
		{"the last line left", numbered(40), at(40), nil, "[{40 40}]"},
		{"two neighbours", numbered(40), at(8, 7), at(8, 7), "[{7 9}]"},
		{"a line became two, and one behind left", numbered(40), at(7, 12), at(7, 8), "[{7 13}]"},
		{"a line moved by six", numbered(40), at(3), at(9), "[{3 10}]"},
		{"a line moved by seven", numbered(40), at(3), at(10), "[{3 3} {10 11}]"},
		{"six lines between", numbered(40), at(7, 14), at(7, 14), "[{7 15}]"},
		{"seven lines between", numbered(40), at(7, 15), at(7, 15), "[{7 8} {15 16}]"},
		{"places that lines left count as the page before counted", numbered(40), at(7, 15), nil, "[{7 7} {14 14}]"},
		{"a quarter of the page", numbered(40), at(0, 5, 9), at(0, 5, 9), "[{0 10}]"},
		{"more than a quarter", numbered(40), at(0, 5, 10), at(0, 5, 10), "[]"},
		{"a short page: four lines", numbered(6), nil, at(1, 2, 3, 4), "[{1 5}]"},
		{"a short page: five lines", numbered(6), nil, at(0, 1, 2, 3, 4), "[]"},
		{"a long page: 24 lines", numbered(400), nil, at(100, 105, 110, 115, 120, 123), "[{100 124}]"},
		{"a long page: 25 lines", numbered(400), nil, at(100, 105, 110, 115, 120, 124, 300), "[{300 301}]"},
		{"a page of one line, over and over", posts, nil, at(20), "[]"},
	} {
		if got := fmt.Sprint(pagedLines(tc.lines...).changes(tc.left, tc.come)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A run is joined to the last one with at most six lines between them.
func TestRunsJoin(t *testing.T) {
	for _, tc := range []struct {
		runs []run
		s    run
		want string
	}{
		{nil, run{3, 4}, "[{3 4}]"},
		{[]run{{3, 4}}, run{4, 4}, "[{3 4}]"},
		{[]run{{3, 4}}, run{4, 6}, "[{3 6}]"},
		{[]run{{3, 4}}, run{10, 11}, "[{3 11}]"},
		{[]run{{3, 4}}, run{11, 12}, "[{3 4} {11 12}]"},
		{[]run{{1, 2}, {12, 13}}, run{13, 14}, "[{1 2} {12 14}]"},
	} {
		if got := fmt.Sprint(join(tc.runs, tc.s)); got != tc.want {
			t.Errorf("%v and %v: %s, want %s", tc.runs, tc.s, got, tc.want)
		}
	}
}

// Regions end at lines whose shape the page has once, or at its ends; those that meet
// there are one.
func TestRegionsEndAtLinesThatOccurOnce(t *testing.T) {
	for _, tc := range []struct {
		name, lines string
		runs        []run
		want        string
	}{
		{"none", "a b c", nil, "[]"},
		{"between lines that occur once", "a b c d e", []run{{2, 3}}, "[{2 3}]"},
		{"between lines that repeat", "a - c - e", []run{{2, 3}}, "[{1 4}]"},
		{"before a line that repeats", "- a c - e", []run{{2, 3}}, "[{2 4}]"},
		{"behind a line that repeats", "- a - c e", []run{{3, 4}}, "[{2 4}]"},
		{"what repeats but for its numbers", "a n1 c n22 e", []run{{2, 3}}, "[{1 4}]"},
		{"a run that repeats itself", "a - - d", []run{{1, 3}}, "[{1 3}]"},
		{"an empty run", "a - - d", []run{{2, 2}}, "[{1 3}]"},
		{"up to the ends of the page", "- - c - -", []run{{2, 3}}, "[{0 5}]"},
		{"two with one line between", "a b c d e", []run{{1, 2}, {3, 4}}, "[{1 2} {3 4}]"},
		{"two that meet", "- b - d e", []run{{1, 2}, {3, 4}}, "[{0 4}]"},
		{"two that overlap", "a b - - e f", []run{{1, 2}, {4, 5}}, "[{1 5}]"},
		{"one within the other", "a - - d - f", []run{{1, 5}, {2, 3}}, "[{1 5}]"},
		{"the third alone", "a b - - e f g h", []run{{1, 2}, {4, 5}, {6, 7}}, "[{1 5} {6 7}]"},
	} {
		if got := fmt.Sprint(pagedLines(strings.Fields(tc.lines)...).apart(tc.runs)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A region is known by the lines around it, numbers in them aside, and found again
// where those stand.
func TestRegionIsFound(t *testing.T) {
	was := pagedLines("top 1", "a", "b", "end 1", "tail")
	before, after := was.around(run{1, 3})
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"as it was", []string{"top 1", "a", "b", "end 1", "tail"}, "{1 3} true"},
		{"other numbers, other lines", []string{"top 22", "c", "d", "e", "end 7", "tail"}, "{1 4} true"},
		{"empty", []string{"top 1", "end 1", "tail"}, "{1 1} true"},
		{"four lines", []string{"top 1", "a", "b", "c", "d", "end 1"}, "{1 5} true"},
		{"five lines on a short page", []string{"top 1", "a", "b", "c", "d", "e", "end 1"}, "{0 0} false"},
		{"the second top has an end", []string{"top 1", "a", "b", "c", "d", "e", "top 2", "f", "end 1"}, "{7 8} true"},
		{"no end", []string{"top 1", "a", "b"}, "{0 0} false"},
		{"no top", []string{"a", "b", "end 1"}, "{0 0} false"},
		{"nothing", nil, "{0 0} false"},
	} {
		s, ok := pagedLines(tc.lines...).find(before, after)
		if got := fmt.Sprint(s, ok); !ok && !strings.HasSuffix(tc.want, "false") || ok && got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	head, tail := was.around(run{0, 2})
	if head != 0 || tail != was[2].shape {
		t.Errorf("a region at the beginning is between %d and %d", head, tail)
	}
	if s, ok := pagedLines("new", "b", "x").find(head, tail); !ok || s != (run{0, 1}) {
		t.Errorf("at the beginning: %v %v", s, ok)
	}
	head, tail = was.around(run{3, 5})
	if head != was[2].shape || tail != 0 {
		t.Errorf("a region at the end is between %d and %d", head, tail)
	}
	if s, ok := pagedLines("b", "x", "y").find(head, tail); !ok || s != (run{1, 3}) {
		t.Errorf("at the end: %v %v", s, ok)
	}
	if _, ok := pagedLines(append([]string{"b"}, numbered(30)...)...).find(head, tail); ok {
		t.Error("a region is taken for most of the page")
	}
	if all, ok := pagedLines("a", "b").find(0, 0); !ok || all != (run{0, 2}) {
		t.Errorf("a whole page: %v %v", all, ok)
	}
}

// What lines say: short ones without a number are labels, what a region shows has an
// order.
func TestLinesOfRegions(t *testing.T) {
	for line, label := range map[string]bool{
		"Sunny": true, "Partly cloudy": true, "three short words": true, "four words are many": false,
		"aaaaaaaaaaaaaaaaaaaaaaaa": true, "aaaaaaaaaaaaaaaaaaaaaaaaa": false, "21": false, "": true,
	} {
		var m masker
		if got := m.digestOf(line); got.label != label || got.shape == 0 {
			t.Errorf("%q: %+v, want label %v", line, got, label)
		}
	}
	p := pagedLines("Tip 1", "Tip 2", "Tip 1", "other")
	if p[0].shape != p[1].shape || p[0].said == p[1].said || p[0].said != p[2].said || p[0].shape == p[3].shape {
		t.Errorf("%+v", p)
	}
	sums := map[uint32]run{}
	for _, s := range []run{{0, 1}, {1, 2}, {0, 2}, {1, 3}, {0, 3}, {1, 1}} {
		if other, known := sums[p.hash(s)]; known {
			t.Errorf("lines %v are taken for %v", s, other)
		}
		sums[p.hash(s)] = s
	}
	if p.hash(run{0, 1}) != p.hash(run{2, 3}) || p.hash(run{1, 1}) != 1 {
		t.Error("the same lines have different digests")
	}
	if got := pagedLines("a", "b").hash(run{0, 2}); got != 0x7e06843 {
		t.Errorf("the digest of what was learned is %#x", got)
	}
}

// A region hides what it has shown, and labels; where it has changed for long and few
// regions do, also what is mostly known, numbers aside.
func TestRegionIsLikely(t *testing.T) {
	known, label := []string{"Tip: drink water, it is good for you", "Tip: sleep well, as long as you can"}, "Sunny"
	counts := []string{"Drink 5 glasses of water a day, or more", "Drink 7 glasses of water a day, or more"}
	odd := []string{"Two people died in the storm of last night.", "The bridge is closed until further notice, they say."}
	for _, tc := range []struct {
		name  string
		lines []string
		score uint8
		few   bool
		want  bool
	}{
		{"what it has shown", known, 5, false, true},
		{"a label", []string{label}, 5, false, true},
		{"nothing", nil, 5, false, true},
		{"news", odd[:1], 5, true, false},
		{"news beside what it has shown", append(odd[:1:1], known...), 5, true, false},
		{"the same, changing for long", append(odd[:1:1], known...), longChanging, true, true},
		{"the same, one look less", append(odd[:1:1], known...), longChanging - 1, true, false},
		{"the same, among many regions", append(odd[:1:1], known...), longChanging, false, false},
		{"half of it known", append(odd[:1:1], known[0]), longChanging, true, true},
		{"less than half of it known", append(odd[:2:2], known[0]), longChanging, true, false},
		{"other numbers", counts[1:], 5, true, false},
		{"other numbers, changing for long", counts[1:], longChanging, true, true},
		{"other numbers, among many regions", counts[1:], longChanging, false, false},
		{"the same numbers", counts[:1], 5, false, true},
		{"other numbers beside news", append(odd[:1:1], counts[1]), longChanging, true, true},
		{"other numbers beside more news", append(odd[:2:2], counts[1]), longChanging, true, false},
		{"labels count for nothing beside news", []string{odd[0], "Sunny"}, longChanging, true, false},
	} {
		l := region{rhythm: rhythm{score: tc.score}}
		page := pagedLines(append(counts[:1:1], known...)...)
		l.learn(page, run{0, 3})
		p := pagedLines(append([]string{"top"}, tc.lines...)...)
		if got := l.likely(p, run{1, len(p)}, tc.few); got != tc.want {
			t.Errorf("%s: likely %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A sketch knows what was added, and little else. A half that is full makes room for
// another.
func TestSketch(t *testing.T) {
	var s sketch
	lines := pagedLines(numbered(200)...)
	for n, line := range lines[:35] {
		if s.has(line.said) {
			t.Errorf("line %d is known before", n)
		}
		if s.add(line.said); !s.has(line.said) {
			t.Errorf("line %d is not known", n)
		}
	}
	if s.full() || s.second() != [4]uint64{} {
		t.Errorf("35 lines fill a half: %x", s)
	}
	if bits := bitsOf(0xffffffff); bits != [3]uint32{255, 255, 255} {
		t.Errorf("bits %v", bits)
	}
	if bits := bitsOf(1<<3 | 2<<12 | 3<<21 | 7 | 1<<11 | 1<<20 | 7<<29); bits != [3]uint32{1, 2, 3} {
		t.Errorf("bits %v", bits)
	}
	for _, tc := range []struct {
		bits int
		full bool
	}{{1, false}, {mostBits, false}, {mostBits + 1, true}, {256, true}} {
		var s sketch
		for n := range tc.bits {
			s[n%4] |= 1 << (n / 4)
		}
		first := [4]uint64(s[:4])
		copy(s[4:], []uint64{1 << 60, 1 << 61, 1 << 62, 1 << 63})
		was := s.second()
		if s.full() != tc.full {
			t.Errorf("%d bits: full %v", tc.bits, s.full())
		}
		if tc.bits == 256 {
			if s.add(lines[50].said); s.second() != was {
				t.Error("what the first half knows is added to it")
			}
			continue
		}
		s.add(lines[50].said)
		if !s.has(lines[50].said) || tc.full != (s.second() == first) || tc.full == (s.second() == was) {
			t.Errorf("%d bits: %x after a line more", tc.bits, s)
		}
		if kept := s[0]&first[0] == first[0]; kept == tc.full {
			t.Errorf("%d bits: the first half is kept: %v", tc.bits, kept)
		}
	}
}

func (s sketch) second() [4]uint64 { return [4]uint64(s[4:]) }

// Whatever was added, the last 35 lines are known: as many fit in a half at least. What
// was added long before, and not again, is forgotten.
func TestSketchKnowsTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sketch
		added := rapid.SliceOfN(rapid.Uint32(), 0, 200).Draw(t, "lines")
		for n, line := range added {
			s.add(line)
			for _, late := range added[max(0, n-34) : n+1] {
				if !s.has(late) {
					t.Fatalf("after line %d one of the last 35 is not known", n)
				}
			}
		}
	})
	var s sketch
	lines := pagedLines(numbered(400)...)
	s.add(lines[0].said)
	for n, line := range lines[1:] {
		if s.add(line.said); n%20 == 0 {
			s.add(lines[1].said)
		}
	}
	if s.has(lines[0].said) || !s.has(lines[1].said) {
		t.Errorf("after 400 lines the first is known: %v; the second, seen again and again: %v", s.has(lines[0].said), s.has(lines[1].said))
	}
}
