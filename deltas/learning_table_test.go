package deltas

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// tipPage returns a page of 14 lines, of which the third is a tip.
func tipPage(t *testing.T, tip ...string) *Core {
	t.Helper()
	lines := append([]string{"The news of today, in full.", "Tips"}, tip...)
	return mustExtract(t, []byte(strings.Join(append(append(lines, "End of tips"), numbered(10)...), "\n")))
}

// A place where lines come and go is watched from its first change, by what stands there
// now and what stood there, and calms when looks show the same.
func TestNoiseLearnsRegions(t *testing.T) {
	tips := []*Core{tipPage(t, "Drink water, it is good for you."), tipPage(t, "Sleep well, for as long as you can."), tipPage(t, "Take the stairs, and never the lift.")}
	saidOf := func(c *Core) uint32 {
		var r reader
		return r.pagedOf(c.body)[2].said
	}
	base := tips[0]
	n := Noise{looks: earlyLooks}
	for look, tc := range []struct {
		show   int
		score  uint8 // after; 0: no place is watched
		masked bool
	}{{1, 1, false}, {2, 3, false}, {1, 5, true}, {1, 4, true}, {2, 4, true}, {1, 6, true}, {0, 5, true}} {
		n = n.learn(base, tips[tc.show], uint32(30*look))
		if len(n.regions) != 1 || n.regions[0].score != tc.score || n.regions[0].masked != tc.masked {
			t.Fatalf("look %d: %+v", look, n.regions)
		}
		r := n.regions[0]
		if !r.seen.has(saidOf(base)) || !r.seen.has(saidOf(tips[tc.show])) {
			t.Errorf("look %d: what stands there is not remembered", look)
		}
	}
	if n.regions[0].seen.has(saidOf(tipPage(t, "A tip that was never there."))) {
		t.Error("what never stood there is remembered")
	}
	if got := fmt.Sprint(n.view(tips[1]).body == n.view(tips[2]).body, n.view(tips[1]).body == tips[1].body); got != "true false" {
		t.Errorf("tips are hidden, what they stand on is not: %s", got)
	}
	if shown := n.view(tipPage(t, "A bridge has fallen, and the road is closed.")).body; !strings.Contains(shown, "bridge") {
		t.Error("what never stood there is hidden")
	}
	other := mustExtract(t, []byte("Another\npage\naltogether\nwith\nfew\nlines"))
	if after := n.learn(base, other, 190); len(after.regions) == 0 {
		t.Error("a page without the place forgets it")
	}
}

// Lines that go are a place as those that come are.
func TestNoiseLearnsEmptyRegions(t *testing.T) {
	with, without := tipPage(t, "Drink water, it is good for you."), tipPage(t)
	for name, pair := range map[string][2]*Core{"a line comes": {without, with}, "a line goes": {with, without}} {
		n := Noise{looks: earlyLooks}.learn(pair[0], pair[1], 30)
		if len(n.regions) != 1 || n.regions[0].score != 1 {
			t.Errorf("%s: %+v", name, n.regions)
		}
	}
}

// Where many places change it is a front page: each hides what it has shown, and no more.
func TestNoiseFrontPage(t *testing.T) {
	for places := 2; places <= 5; places++ {
		var n Noise
		var lines []string
		for i := range places {
			lines = append(lines, "Head "+strings.Repeat("x", i+1), "Something that was there before, and is long.", "And another thing that is known, and long.", "Tail "+strings.Repeat("x", i+1))
		}
		lines = append(lines, numbered(12)...)
		p := pagedLines(lines...)
		for i := range places {
			before, after := p.around(run{4*i + 1, 4*i + 3})
			n.watchRegion(before, after)
		}
		for i := range n.regions {
			s, _ := p.find(n.regions[i].before, n.regions[i].after)
			n.regions[i].learn(p, s)
			n.regions[i].masked, n.regions[i].score = true, longChanging
		}
		lines[1] = "News that was never there, and many words."
		if hidden := n.hidden(pagedLines(lines...)); hidden[1] != (places <= fewRegions) || !hidden[5] {
			t.Errorf("%d places: hidden %v", places, hidden)
		}
	}
}

// What changed a few times in a row is masked; where it then stands, it is told at the
// second look, at the more looks the more often it came and went.
func TestJudgeTellsWhatStands(t *testing.T) {
	page := func(n int) *Core { return mustExtract(t, []byte(fmt.Sprint("The news.\nmore\nVisitors: ", n))) }
	base, next := page(1), page(2)
	young := Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom-1, true)}}
	state := settled(base)
	state.Noise, state.Face, state.Stood = young, young.face(young.view(base)), false
	at := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Minute) }
	judge := func(s State, n int) Decision {
		s.Looked = at(n) // learns nothing meanwhile
		return Judge(s, nil, base, Observation{Begun: at(n), Core: next})
	}
	first := judge(state, 1)
	if first.Verdict != VerdictUnchanged || first.State.Candidate == nil || first.State.Candidate.Hash != faceOf(next) || !first.State.Stood {
		t.Fatalf("first look: %v, %+v", first.Verdict, first.State.Candidate)
	}
	second := judge(first.State, 2)
	if second.Verdict != VerdictPublish || !second.State.Stood || len(second.State.Recent) != 1 || second.State.Recent[0] != base.Hash {
		t.Errorf("second look: %v, %+v", second.Verdict, second.State)
	}
	back := state
	back.Recent, back.Flaps = []Hash{next.Hash}, 2
	look := 1
	for ; look < 10; look++ {
		d := judge(back, look)
		if back = d.State; d.Verdict == VerdictPublish {
			break
		}
	}
	if look < 4 || look > 6 {
		t.Errorf("a content that was here before is told at look %d", look)
	}
	old := state
	old.Noise = Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom, true)}}
	old.Recent, old.Flaps = []Hash{next.Hash}, 2
	if d := judge(judge(old, 1).State, 2); d.Verdict != VerdictRebase {
		t.Errorf("under an old mask: %v", d.Verdict)
	}
}

// Spellings at the edges of numbers, units, dates and tokens.
func TestNumbersAtEdges(t *testing.T) {
	for _, tc := range []struct{ line, shape, numbers string }{
		{"may", "may", ""},
		{", 5", ", #", "5"},
		{"xmay 5", "xmay #", "5"},
		{"a1may 5", "a#", "1may 5"},
		{"sep.5", "#", "sep.5"},
		{"5/6/2026 7:30", "#", "5/6/2026 7:30"},
		{"5/6/2026 7", "# #", "5/6/2026|7"},
		{"5-6-2026 7:30", "#", "5-6-2026 7:30"},
		{"5/6 7:30", "# #", "5/6|7:30"},
		{"1/2/3/4 7:30", "# #", "1/2/3/4|7:30"},
		{"12:30 5:45", "#", "12:30 5:45"},
		{"12:30,5:45", "#", "12:30,5:45"},
		{"12:30 pmx", "# pmx", "12:30"},
		{"5 mayor", "# mayor", "5"},
		{"5 may7", "# may#", "5|7"},
		{"3h, 20m", "#, #", "3h|20m"},
		{"3h-20m", "#-#", "3h|20m"},
		{"3h x", "# x", "3h"},
		{"5secs", "#", "5secs"},
		{"5abcd", "#abcd", "5"},
		{"5mins7", "#mins#", "5|7"},
		{"f1234567 G", "f# G", "1234567"},
		{"f123456f", "#", "f123456f"},
		{"F123456F", "#", "F123456F"},
		{"g123456g", "g#g", "123456"},
		{"G123456G", "G#G", "123456"},
		{"fg123456f", "fg#f", "123456"},
		{"a-1-b-2-c", "#", "a-1-b-2-c"},
		{"ab12 ab12cd34", "ab# #", "12|ab12cd34"},
	} {
		shape, numbers := spelt(tc.line)
		if shape != tc.shape || numbers != tc.numbers {
			t.Errorf("%q: %q with %q, want %q with %q", tc.line, shape, numbers, tc.shape, tc.numbers)
		}
	}
}

// The stamps of a content are those of its lines but for the first of entries.
func TestStampsOfContents(t *testing.T) {
	found := func(c *Core) (n int) {
		var r reader
		r.stamps(c, func(key slotKey) {
			if key.kind() != slotStamp {
				t.Errorf("key %x", key)
			}
			n++
		})
		return n
	}
	page := mustExtract(t, []byte(pageOf("a", "Page generated on March 5", "b 7", "Last updated: March 6")))
	if got := found(page); got != 2 {
		t.Errorf("%d stamps of a page", got)
	}
	feed := mustExtract(t, rssFeed("", item{guid: "last updated 5", title: "Last updated 6"}))
	if got := found(feed); got != 1 {
		t.Errorf("%d stamps of a feed, want the title's alone", got)
	}
	var r reader
	r.stamps(page, func(key slotKey) {
		r2 := reader{stamped: true}
		known := false
		for line := range strings.Lines(page.content) {
			r2.slots(strings.TrimSuffix(line, "\n"), slotNumber, func(k slotKey, _ string) { known = known || k == key })
		}
		if !known {
			t.Errorf("stamp %x is no slot of a line", key)
		}
	})
}
