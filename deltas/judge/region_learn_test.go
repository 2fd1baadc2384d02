package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A region learns its lines without masked numbers and, where they have numbers, their
// shapes.
func TestRegionLearns(t *testing.T) {
	m := masker{}
	m.add([]slot{numberSlot("Views: \x00", 12, true)})
	p := m.pagedOf("top\nRain\nViews: 5\nPrice: 7 dollars\nend\n")
	var l region
	l.learn(p, run{1, 4})
	then := m.pagedOf("Rain\nViews: 6\nPrice: 8 dollars\n")
	for at, want := range []struct{ said, shape bool }{{true, true}, {true, true}, {false, true}} {
		if said, shape := l.seen.has(then[at].said), l.seen.has(then[at].shape); said != want.said || shape != want.shape {
			t.Errorf("line %d: said %v, shape %v, want %v", at, said, shape, want)
		}
	}
	if l.seen.has(p[0].said) || l.seen.has(p[4].said) {
		t.Error("the lines around it are learned")
	}
	if p[2].all == then[1].all || p[2].said != then[1].said || p[3].said == then[2].said {
		t.Errorf("%+v", then)
	}
}

// What is watched already is not watched again, and a region that comes to hold others
// is one with them, and has the evidence of the most certain of them.
func TestRegionsAreWatched(t *testing.T) {
	p := pagedLines(numbered(40)...)
	type watched struct {
		at    run
		score uint8
	}
	for _, tc := range []struct {
		name  string
		known []watched
		s     run
		want  string // the regions with their scores
	}{
		{"the first", nil, run{10, 12}, "{10 12}:0"},
		{"the same", []watched{{run{10, 12}, 7}}, run{10, 12}, "{10 12}:7"},
		{"a part", []watched{{run{10, 13}, 7}}, run{11, 12}, "{10 13}:7"},
		{"its beginning", []watched{{run{10, 13}, 7}}, run{10, 12}, "{10 13}:7"},
		{"an empty place in it", []watched{{run{10, 13}, 7}}, run{13, 13}, "{10 13}:7"},
		{"more", []watched{{run{10, 12}, 7}}, run{9, 13}, "{9 13}:7"},
		{"more behind it", []watched{{run{10, 12}, 7}}, run{10, 13}, "{10 13}:7"},
		{"two", []watched{{run{10, 12}, 3}, {run{14, 15}, 7}}, run{9, 16}, "{9 16}:7"},
		{"two, the first more certain", []watched{{run{10, 12}, 7}, {run{14, 15}, 3}}, run{9, 16}, "{9 16}:7"},
		{"one that overlaps", []watched{{run{10, 12}, 7}}, run{11, 14}, "{10 12}:7 {11 14}:0"},
		{"another", []watched{{run{10, 12}, 7}}, run{20, 22}, "{10 12}:7 {20 22}:0"},
		{"one of two", []watched{{run{10, 12}, 7}, {run{20, 22}, 3}}, run{19, 23}, "{10 12}:7 {19 23}:3"},
		{"the beginning of the page", nil, run{0, 2}, "{0 2}:0"},
		{"the end of the page", nil, run{38, 40}, "{38 40}:0"},
	} {
		var n Noise
		for _, k := range tc.known {
			l := region{rhythm: rhythm{score: k.score, masked: true}}
			l.before, l.after = p.around(k.at)
			l.learn(p, k.at)
			n.regions = append(n.regions, l)
		}
		slices.SortFunc(n.regions, compareRegions)
		n.watchRegion(p, tc.s)
		var got []string
		for _, l := range n.regions {
			at, ok := p.find(l.before, l.after)
			if got = append(got, fmt.Sprintf("%v:%d", at, l.score)); !ok {
				t.Errorf("%s: a region is not found where it is watched", tc.name)
			}
			if known := l.seen != (sketch{}); known != (l.score > 0) || l.masked != (l.score > 0) {
				t.Errorf("%s: region %v has lines %v, masked %v", tc.name, at, known, l.masked)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tc.want || !slices.IsSortedFunc(n.regions, compareRegions) {
			t.Errorf("%s: %s, want %s", tc.name, strings.Join(got, " "), tc.want)
		}
	}
	elsewhere := Noise{regions: []region{{before: 1, after: 2, rhythm: rhythm{score: 7}}}}
	if elsewhere.watchRegion(p, run{10, 12}); len(elsewhere.regions) != 2 {
		t.Errorf("a region of which the page has no lines is gone: %+v", elsewhere.regions)
	}
}

// pageOfTips returns the lines of a page that has two tips behind each fourth line.
func pageOfTips(tips ...string) ([]string, paged) {
	lines := numbered(40)
	for at := range lines {
		if at%4 == 1 || at%4 == 2 {
			lines[at] = tips[at%4-1]
		}
	}
	return lines, pagedLines(lines...)
}

// watchedTips returns noise with regions of such a page that are masked, that are not, and
// that are masked and stand elsewhere.
func watchedTips(p paged, masked, calm, elsewhere int) (n Noise) {
	for i := range masked + calm + elsewhere {
		l := region{rhythm: rhythm{score: longChanging, masked: i < masked || i >= masked+calm}}
		l.before, l.after = p.around(run{4*i + 1, 4*i + 3})
		l.learn(p, run{4*i + 1, 4*i + 3})
		if i >= masked+calm {
			l.before = 4 // no line's shape: those are odd
		}
		n.regions = append(n.regions, l)
	}
	slices.SortFunc(n.regions, compareRegions)
	return n
}

// Regions hide lines while they are masked and stand on the page; of as many as that, it
// depends whether what is mostly known is hidden.
func TestRegionsThatHide(t *testing.T) {
	const known, also, news = "Drink water, it is good for you.", "Sleep well, for as long as you can.", "A bridge has fallen, and the road is closed."
	lines, p := pageOfTips(known, also)
	for _, tc := range []struct {
		name                    string
		masked, calm, elsewhere int
		first                   string // line 1
		want                    string // runs that are hidden
	}{
		{"none is masked", 0, 2, 0, known, ""},
		{"two of three are masked", 2, 1, 0, known, "{1 3} {5 7}"},
		{"news in one of three", 3, 0, 0, news, "{1 3} {5 7} {9 11}"},
		{"news in one of three, and of two that are not masked", 3, 2, 0, news, "{1 3} {5 7} {9 11}"},
		{"news in one of three, and of two that are not here", 3, 0, 2, news, "{1 3} {5 7} {9 11}"},
		{"news in one of four", 4, 0, 0, news, "{13 15} {5 7} {9 11}"},
		{"as many as there may be", maxRegions, 0, 0, known, "{1 3} {13 15} {17 19} {21 23} {25 27} {29 31} {5 7} {9 11}"},
	} {
		n := watchedTips(p, tc.masked, tc.calm, tc.elsewhere)
		lines[1] = tc.first
		page := pagedLines(lines...)
		var got []string
		want := make([]bool, len(page))
		n.eachHiding(page, func(l *region, s run) {
			if at, ok := page.find(l.before, l.after); !ok || at != s || !l.masked {
				t.Errorf("%s: %v is not where the region is", tc.name, s)
			}
			got = append(got, fmt.Sprint(s))
			for at := s.from; at < s.to; at++ {
				want[at] = true
			}
		})
		slices.Sort(got)
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, got, tc.want)
		}
		if hidden := n.hidden(page); hidden != nil && !slices.Equal(hidden, want) || (hidden == nil) != (tc.want == "") {
			t.Errorf("%s: lines %v are hidden, want %v", tc.name, hidden, want)
		}
	}
	var empty Noise
	empty.regions = []region{{before: 0, after: p[0].shape, rhythm: rhythm{score: 5, masked: true}}}
	if hidden := empty.hidden(p); hidden != nil {
		t.Errorf("a region without lines at the beginning hides %v", hidden)
	}
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
		n.watchRegion(first, s)
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
