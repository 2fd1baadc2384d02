package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// tipPage returns a page of 14 lines, of which the third is a tip.
func tipPage(t *testing.T, tip ...string) *content.Core {
	t.Helper()
	lines := append([]string{"The news of today, in full.", "Tips"}, tip...)
	return extracted.Of(t, []byte(strings.Join(append(append(lines, "End of tips"), numbered(10)...), "\n")))
}

// A place where lines come and go is watched from its first change, by what stands there
// now and what stood there, and calms when looks show the same.
func TestNoiseLearnsRegions(t *testing.T) {
	tips := []*content.Core{tipPage(t, "Drink water, it is good for you."), tipPage(t, "Sleep well, for as long as you can."), tipPage(t, "Take the stairs, and never the lift.")}
	saidOf := func(c *content.Core) uint32 {
		var m masker
		return m.pagedOf(c.Body())[2].said
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
	if got := fmt.Sprint(n.view(tips[1]).Body() == n.view(tips[2]).Body(), n.view(tips[1]).Body() == tips[1].Body()); got != "true false" {
		t.Errorf("tips are hidden, what they stand on is not: %s", got)
	}
	if shown := n.view(tipPage(t, "A bridge has fallen, and the road is closed.")).Body(); !strings.Contains(shown, "bridge") {
		t.Error("what never stood there is hidden")
	}
	other := extracted.Of(t, []byte("Another\npage\naltogether\nwith\nfew\nlines"))
	if after := n.learn(base, other, 190); len(after.regions) == 0 {
		t.Error("a page without the place forgets it")
	}
}

// Lines that go are a place as those that come are.
func TestNoiseLearnsEmptyRegions(t *testing.T) {
	with, without := tipPage(t, "Drink water, it is good for you."), tipPage(t)
	for name, pair := range map[string][2]*content.Core{"a line comes": {without, with}, "a line goes": {with, without}} {
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
			n.watchRegion(p, run{4*i + 1, 4*i + 3})
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
	page := func(n int) *content.Core {
		return extracted.Of(t, []byte(fmt.Sprint("The news.\nmore\nVisitors: ", n)))
	}
	base, next := page(1), page(2)
	young := Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom-1, true)}}
	state := settled(base)
	state.Noise, state.Face, state.Stood = young, young.face(young.view(base)), false
	at := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Minute) }
	judge := func(s State, n int) Decision {
		s.Looked = at(n) // learns nothing meanwhile
		return Decide(s, nil, base, Observation{Begun: at(n), Core: next})
	}
	first := judge(state, 1)
	if first.Verdict != VerdictUnchanged || first.State.Candidate == nil || first.State.Candidate.Hash != faceOf(next) || !first.State.Stood {
		t.Fatalf("first look: %v, %+v", first.Verdict, first.State.Candidate)
	}
	second := judge(first.State, 2)
	if second.Verdict != VerdictPublish || !second.State.Stood || len(second.State.Recent) != 1 || second.State.Recent[0] != base.Hash {
		t.Errorf("second look: %v, %+v", second.Verdict, second.State)
	}
	for flaps, want := range map[uint8]int{0: 2, 1: 2, 2: 4, 3: 6} {
		back := state
		back.Recent, back.Flaps = []content.Hash{next.Hash}, flaps
		look := 1
		for ; look < 10; look++ {
			d := judge(back, look)
			if back = d.State; d.Verdict == VerdictPublish {
				break
			}
			if back.Flaps != flaps || look > 1 && !back.Shown.Equal(at(look)) {
				t.Errorf("look %d that shows the same: %d flaps of %d, shown at %v", look, back.Flaps, flaps, back.Shown)
			}
		}
		if look != want {
			t.Errorf("a content that was here before is told at look %d after %d flaps, want %d", look, flaps, want)
		}
	}
	old := state
	old.Noise = Noise{slots: []slot{numberSlot("Visitors: \x00", matureFrom, true)}}
	old.Recent, old.Flaps = []content.Hash{next.Hash}, 2
	if d := judge(judge(old, 1).State, 2); d.Verdict != VerdictRebase {
		t.Errorf("under an old mask: %v", d.Verdict)
	}
}
