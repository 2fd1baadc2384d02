package deltas

import (
	"fmt"
	"strings"
	"testing"
)

func pagedLines(lines ...string) paged {
	var r reader
	if len(lines) == 0 {
		return r.pagedOf("")
	}
	return r.pagedOf(strings.Join(lines, "\n") + "\n")
}

func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = "line " + strings.Repeat("x", i+1)
	}
	return lines
}

// Changed lines with at most three between them are one region, as long as that is no
// longer than a quarter of the page, of 4 to 24 lines.
func TestRegionsOfChanges(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines int
		at    []int
		want  string
	}{
		{"none", 40, nil, "[]"},
		{"one line", 40, []int{7}, "[{7 8}]"},
		{"two neighbours", 40, []int{8, 7}, "[{7 9}]"},
		{"three lines between", 40, []int{7, 11}, "[{7 12}]"},
		{"four lines between", 40, []int{7, 12}, "[{7 8} {12 13}]"},
		{"a quarter of the page", 40, []int{0, 3, 6, 9}, "[{0 10}]"},
		{"more than a quarter", 40, []int{0, 3, 6, 10}, "[]"},
		{"a short page: four lines", 6, []int{1, 2, 3, 4}, "[{1 5}]"},
		{"a short page: five lines", 6, []int{0, 1, 2, 3, 4}, "[]"},
		{"a long page: 24 lines", 400, []int{100, 103, 106, 109, 112, 115, 118, 121, 123}, "[{100 124}]"},
		{"a long page: 25 lines", 400, []int{100, 103, 106, 109, 112, 115, 118, 121, 124, 300}, "[{300 301}]"},
	} {
		if got := fmt.Sprint(pagedLines(numbered(tc.lines)...).changes(tc.at)); got != tc.want {
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
		var r reader
		if got := r.digestOf(line); got.label != label || got.shape == 0 {
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
// regions do, also what is mostly known.
func TestRegionIsLikely(t *testing.T) {
	known, label := []string{"Tip: drink water, it is good for you", "Tip: sleep well, as long as you can"}, "Sunny"
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
	} {
		l := region{rhythm: rhythm{score: tc.score}}
		page := pagedLines(known...)
		l.learn(page, run{0, 2})
		p := pagedLines(append([]string{"top"}, tc.lines...)...)
		if got := l.likely(p, run{1, len(p)}, tc.few); got != tc.want {
			t.Errorf("%s: likely %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A sketch knows what was added, little else, and begins again when it is full.
func TestSketch(t *testing.T) {
	var s sketch
	lines := pagedLines(numbered(60)...)
	for n, line := range lines[:40] {
		if s.has(line.said) {
			t.Errorf("line %d is known before", n)
		}
		if s.add(line.said); !s.has(line.said) {
			t.Errorf("line %d is not known", n)
		}
	}
	for n, line := range lines[:40] {
		if !s.has(line.said) {
			t.Errorf("line %d is forgotten", n)
		}
	}
	if bits := bitsOf(0xffffffff); bits != [3]uint32{511, 511, 511} {
		t.Errorf("bits %v", bits)
	}
	if bits := bitsOf(1<<3 | 2<<12 | 3<<21); bits != [3]uint32{1, 2, 3} {
		t.Errorf("bits %v", bits)
	}
	for _, tc := range []struct {
		bits int
		full bool
	}{{1, false}, {mostBits, false}, {mostBits + 1, true}, {512, true}} {
		var s sketch
		for n := range tc.bits {
			s[n%8] |= 1 << (n / 8)
		}
		if s.full() != tc.full {
			t.Errorf("%d bits: full %v", tc.bits, s.full())
		}
		l := region{seen: s}
		l.learn(lines, run{50, 51})
		if kept := l.seen == union(l.seen, s); kept == tc.full || !l.seen.has(lines[50].said) {
			t.Errorf("%d bits: what was seen before is kept: %v", tc.bits, kept)
		}
	}
}

func union(a, b sketch) sketch {
	for i := range a {
		a[i] |= b[i]
	}
	return a
}

// Regions are watched once each, in order, and hide their lines once they are masked.
func TestRegionsHide(t *testing.T) {
	var n Noise
	page := func(tip, sky string) paged {
		return pagedLines("The news of today, in full.", "a", tip, "b", "More news of today, in full.", "c", sky, "d", "e", "f", "g", "h")
	}
	first := page("Tip: drink water, it is good for you", "Sunny")
	tips, skies := run{2, 3}, run{6, 7}
	for _, s := range []run{skies, tips, skies, tips} {
		n.watchRegion(first.around(s))
	}
	if len(n.regions) != 2 || compareRegions(n.regions[0], n.regions[1]) >= 0 || compareRegions(n.regions[0], n.regions[0]) != 0 {
		t.Fatalf("regions %+v", n.regions)
	}
	if same := (region{before: n.regions[0].before, after: n.regions[0].after + 1}); compareRegions(n.regions[0], same) >= 0 {
		t.Error("regions of one beginning are not in the order of their ends")
	}
	if hidden := n.hidden(first); hidden != nil {
		t.Errorf("hidden before anything is masked: %v", hidden)
	}
	for i := range n.regions {
		n.regions[i].masked = true
		where, _ := first.find(n.regions[i].before, n.regions[i].after)
		n.regions[i].learn(first, where)
	}
	shown := func(hidden []bool) (lines string) {
		for at, hides := range hidden {
			if hides {
				lines += fmt.Sprint(at, " ")
			}
		}
		return lines
	}
	for _, tc := range []struct{ tip, sky, want string }{
		{"Tip: drink water, it is good for you", "Sunny", "2 6 "},
		{"Tip: drink water, it is good for you", "Cloudy", "2 6 "},
		{"Storm: three people are missing since last night", "Sunny", "6 "},
		{"Storm: three people are missing since last night", "Storm: three people are missing since last night", ""},
	} {
		if got := shown(n.hidden(page(tc.tip, tc.sky))); got != tc.want {
			t.Errorf("%q and %q: lines %sare hidden, want %s", tc.tip, tc.sky, got, tc.want)
		}
	}
	if hidden := n.hidden(pagedLines("other", "lines")); hidden != nil {
		t.Errorf("hidden on another page: %v", hidden)
	}
}
