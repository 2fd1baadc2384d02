package notify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// inPass returns a position in the pass of version 2, over subscriptions offered so far.
func inPass(offered ...uint64) position {
	p := newPosition(versionStep(9), channel.Progress{Version: 1, Seq: lastSeq})
	p.done = true
	p.begin(versionStep(2))
	for _, seq := range offered {
		if p.offer(seq) {
			p.sent(seq, noon.Add(time.Duration(seq)*time.Second))
		}
	}
	return p
}

// What is stored of a pass that is half done: what is under way counts as not
// delivered, so that it is sent again after a crash.
func TestPositionSaved(t *testing.T) {
	three := step(6)
	for _, tc := range []struct {
		name string
		do   func(p *position)
		want channel.Progress
	}{
		{"nothing answered", func(*position) {}, channel.Progress{Version: 2, Seq: 2}},
		{"the first answered", func(p *position) { p.settle(3, three-1) }, channel.Progress{Version: 2, Seq: 4}},
		{"the second answered", func(p *position) { p.settle(5, three-1) }, channel.Progress{Version: 2, Seq: 2}},
		{"the last answered", func(p *position) { p.settle(8, three-1) }, channel.Progress{Version: 2, Seq: 2}},
		{"the first two answered", func(p *position) { p.settle(5, three-1); p.settle(3, three-1) }, channel.Progress{Version: 2, Seq: 7}},
		{"all answered", func(p *position) { p.settle(5, three-1); p.settle(3, three-1); p.settle(8, three-1) }, channel.Progress{Version: 2, Seq: 8}},
		{"the first deleted", func(p *position) { p.drop(3) }, channel.Progress{Version: 2, Seq: 4}},
		{"the first fails", func(p *position) { p.straggle(3, versionStep(2)) }, channel.Progress{Version: 2, Seq: 4, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}}}},
		{"the second fails", func(p *position) { p.straggle(5, versionStep(2)) }, channel.Progress{Version: 2, Seq: 2, Stragglers: []channel.Straggler{{Seq: 5, Next: 2}}}},
		{"the first has had version 3 too", func(p *position) { p.settle(3, versionStep(4)) }, channel.Progress{Version: 2, Seq: 4, Stragglers: []channel.Straggler{{Seq: 3, Next: 4}}}},
		{"one that is passed over", func(p *position) { p.pass(9) }, channel.Progress{Version: 2, Seq: 2}},
		{"one whose first version is 4", func(p *position) { p.postpone(9, needs(4)) }, channel.Progress{Version: 2, Seq: 2, Stragglers: []channel.Straggler{{Seq: 9, Next: 4}}}},
		{"the next pass begins", func(p *position) { p.begin(versionStep(3)) }, channel.Progress{Version: 3, Seq: 0, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}, {Seq: 8, Next: 2}}}},
		{"a gap up to version 6", func(p *position) { p.jump(6) }, channel.Progress{Version: 6, Seq: lastSeq, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}, {Seq: 8, Next: 2}}}},
		{"the first two are slow", func(p *position) { p.age(noon.Add(5 * time.Second)) }, channel.Progress{Version: 2, Seq: 7, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}}}},
		{"none is slow", func(p *position) { p.age(noon.Add(3*time.Second - 1)) }, channel.Progress{Version: 2, Seq: 2}},
	} {
		p := inPass(3, 5, 8)
		tc.do(&p)
		if got, changed := p.save(100); !changed || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v (changed %v), want %+v", tc.name, got, changed, tc.want)
		}
	}
}

// What is stored is not stored again, what failed to be is.
func TestPositionWritten(t *testing.T) {
	p := inPass(3, 5)
	p.straggle(3, versionStep(2))
	if p.clean() {
		t.Error("clean before it is saved")
	}
	progress, changed := p.save(100)
	if !changed || progress.Seq != 4 || len(progress.Stragglers) != 1 {
		t.Fatalf("%+v, changed %v", progress, changed)
	}
	p.wrote(progress, false)
	again, changed := p.save(100)
	if !changed || !reflect.DeepEqual(again, progress) {
		t.Errorf("after a failed write: %+v, changed %v; want %+v", again, changed, progress)
	}
	p.wrote(again, true)
	if got, changed := p.save(100); changed {
		t.Errorf("after a write: %+v, changed", got)
	}
	if p.clean() {
		t.Error("clean while 5 is under way")
	}
	p.settle(5, versionStep(3))
	last, changed := p.save(100)
	if !changed || last.Seq != 5 || p.clean() {
		t.Errorf("at the end: %+v, changed %v, clean %v", last, changed, p.clean())
	}
	if p.wrote(last, true); !p.clean() {
		t.Error("not clean when all is stored")
	}
	p.setHead(goneStep(9))
	if p.straggle(5, versionStep(3)); p.clean() {
		t.Error("clean with a straggler to store")
	}
}

// A pass begins when the one before is done and there is another step.
func TestPositionDue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		head   step
		stored channel.Progress
		done   bool
		want   step
		due    bool
	}{
		{"behind", versionStep(3), channel.Progress{Version: 2, Seq: lastSeq}, true, versionStep(3), true},
		{"far behind", versionStep(9), channel.Progress{Version: 2, Seq: lastSeq}, true, versionStep(3), true},
		{"in a pass", versionStep(3), channel.Progress{Version: 2, Seq: 7}, false, versionStep(3), false},
		{"up to date", versionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, true, versionStep(4), false},
		{"gone", goneStep(3), channel.Progress{Version: 3, Seq: lastSeq}, true, goneStep(3), true},
		{"gone, and told", goneStep(3), channel.Progress{Version: 3, Seq: lastSeq | channel.Told}, true, versionStep(4), false},
		{"back from being gone", versionStep(4), channel.Progress{Version: 3, Seq: 5 | channel.Told}, true, versionStep(4), true},
	} {
		p := newPosition(tc.head, tc.stored)
		p.done = tc.done
		if at, due := p.due(); at != tc.want || due != tc.due {
			t.Errorf("%s: step %d due %v, want %d %v", tc.name, at, due, tc.want, tc.due)
		}
	}
}

// Versions before the first subscription's first are skipped, others are not.
func TestPositionStart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stored channel.Progress
		from   uint64
		at     step
		done   bool
	}{
		{"a first subscription", channel.Progress{}, 2, goneStep(1) - 1, true},
		{"all unsubscribed and one new", channel.Progress{Version: 3, Seq: 9}, 7, versionStep(6), true},
		{"one of the pass", channel.Progress{Version: 3, Seq: 9}, 3, versionStep(3), false},
		{"one of the next version", channel.Progress{Version: 3, Seq: 9}, 4, versionStep(3), false},
		{"one of the version after", channel.Progress{Version: 3, Seq: 9}, 5, versionStep(4), true},
	} {
		p := newPosition(versionStep(9), tc.stored)
		p.start(tc.from)
		if p.at != tc.at || p.done != tc.done || p.done != (p.offered == lastSeq) {
			t.Errorf("%s: step %d, offered to %d, done %v; want %d, %v", tc.name, p.at, p.offered, p.done, tc.at, tc.done)
		}
	}
}

// The pass that tells that a channel is gone goes on for those that come later, until
// the channel is back.
func TestPositionGone(t *testing.T) {
	p := newPosition(goneStep(3), channel.Progress{Version: 3, Seq: 5 | channel.Told})
	p.done = true
	if p.setHead(goneStep(3)); p.done {
		t.Error("a channel that is gone has told all")
	}
	p.done = true
	if p.setHead(versionStep(4)); !p.done {
		t.Error("a channel that is back tells that it is gone")
	}
	p.done, p.at = true, versionStep(4)
	if p.setHead(versionStep(4)); !p.done {
		t.Error("a version that all have is told again")
	}
}

// Stragglers go by themselves, and meet the pass where it is.
func TestPositionStragglers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		next   step
		offer  bool
		behind bool
		late   bool // still, once the pass has come by
	}{
		{"one that needs this step", versionStep(2), true, false, false},
		{"one that needs the next", versionStep(3), false, false, false},
		{"one that needs the notice that does not exist", versionStep(3) - 1, false, false, false},
		{"one that is behind", versionStep(1), false, true, true},
		{"one that is ahead", versionStep(4), false, false, true},
	} {
		p := inPass(3)
		p.late.put(5, tc.next)
		if got := p.behind(5); got != tc.behind {
			t.Errorf("%s: behind %v before its turn", tc.name, got)
		}
		if got := p.offer(5); got != tc.offer {
			t.Errorf("%s: offered %v, want %v", tc.name, got, tc.offer)
		}
		if got := p.behind(5); got != tc.behind {
			t.Errorf("%s: behind %v after its turn", tc.name, got)
		}
		if _, late := p.late.get(5); late != tc.late || p.offered != 5 {
			t.Errorf("%s: straggler %v, want %v; offered to %d", tc.name, late, tc.late, p.offered)
		}
	}
	p := inPass(3, 5)
	for _, tc := range []struct {
		seq  uint64
		next step
		more bool
	}{
		{3, versionStep(3), false}, {5, versionStep(2), true}, {5, versionStep(3), false}, {5, versionStep(4), false},
		{8, versionStep(2), false}, {8, versionStep(3), false}, {8, versionStep(1), true},
	} {
		if more := p.settle(tc.seq, tc.next); more != tc.more {
			t.Errorf("subscription %d, next %d: more %v", tc.seq, tc.next, more)
		}
	}
}

// After a gap those that were told of it are up to date, the others are not.
func TestPositionJump(t *testing.T) {
	p := inPass(3, 5, 8)
	p.settle(3, versionStep(7))
	p.settle(5, versionStep(7))
	p.jump(6)
	if !p.done || p.open != 0 {
		t.Errorf("done %v with %d open", p.done, p.open)
	}
	for seq, late := range map[uint64]bool{3: false, 5: false, 8: true} {
		if _, got := p.late.get(seq); got != late {
			t.Errorf("subscription %d is a straggler: %v", seq, got)
		}
	}
	if at, due := p.due(); !due || at != versionStep(7) {
		t.Errorf("step %d due %v after the gap", at, due)
	}
}

// One postponed keeps what it needed before, and answers count once.
func TestPositionCounts(t *testing.T) {
	p := inPass(3, 5, 8)
	p.late.put(9, versionStep(1))
	p.postpone(9, needs(4))
	if next, _ := p.late.get(9); next != versionStep(1) || p.offered != 9 {
		t.Errorf("postponed to step %d, offered to %d", next, p.offered)
	}
	for n, seq := range []uint64{4, 5, 5, 1, 99, 3, 8, 8} {
		p.settle(seq, versionStep(3))
		want := []int{3, 2, 2, 2, 2, 1, 0, 0}[n]
		if p.open != want {
			t.Errorf("%d open after answer %d, want %d", p.open, n, want)
		}
	}
	if p.fresh != nil {
		t.Errorf("%d offers kept", len(p.fresh))
	}
}

// Whatever happens, and whenever the node ends: what the store holds never says that
// a subscription has a version that it was not answered for, and once all is answered
// and stored it says that all have all.
func TestPositionSurvivesCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		subs := []uint64{2, 3, 5, 9}
		acked := map[uint64]uint64{2: 1, 3: 1, 5: 1, 9: 1}
		stored := channel.Progress{Version: 1, Seq: lastSeq}
		head := uint64(1)
		p := newPosition(versionStep(head), stored)
		p.done = true
		lanes := map[uint64]step{} // under way
		check := func() {
			for _, seq := range subs {
				if got := stored.Delivered(channel.Subscription{Seq: seq}); got > acked[seq] {
					t.Fatalf("the store says that %d has version %d, it has %d: %+v", seq, got, acked[seq], stored)
				}
			}
		}
		answer := func(seq uint64) {
			at := lanes[seq]
			delete(lanes, seq)
			acked[seq] = max(acked[seq], at.version())
			p.settle(seq, at+1)
		}
		turn := func() {
			after := p.offered
			for _, seq := range subs {
				if seq <= after {
					continue
				}
				if _, busy := lanes[seq]; busy {
					p.pass(seq)
				} else if p.offer(seq) {
					p.sent(seq, noon)
					lanes[seq] = p.at
				}
				return
			}
			p.done = true
		}
		drain := func() {
			for _, seq := range p.late.from(0, 10) {
				if _, busy := lanes[seq]; !busy && p.behind(seq) {
					next, _ := p.late.get(seq)
					lanes[seq] = next.within(p.head)
				}
			}
		}
		save := func(ok bool) {
			out, changed := p.save(10)
			if changed && ok {
				stored = merged(stored, out)
			}
			if changed {
				p.wrote(out, ok)
			}
			check()
		}
		step := func(kind int) {
			switch kind {
			case 0:
				head++
				p.setHead(versionStep(head))
			case 1, 2:
				if at, due := p.due(); due {
					p.begin(at)
				}
			case 3, 4, 5:
				if !p.done {
					turn()
				}
			case 6, 7:
				if under := slices.Sorted(maps.Keys(lanes)); len(under) > 0 {
					answer(under[rapid.IntRange(0, len(under)-1).Draw(t, "answered")])
				}
			case 8:
				if under := slices.Sorted(maps.Keys(lanes)); len(under) > 0 {
					seq := under[rapid.IntRange(0, len(under)-1).Draw(t, "failed")]
					p.straggle(seq, lanes[seq])
					delete(lanes, seq)
				}
			case 9:
				drain()
			case 10:
				save(rapid.Bool().Draw(t, "written"))
			case 11:
				save(true)
				lanes = map[uint64]step{}
				p = newPosition(versionStep(head), stored)
			}
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			step(rapid.IntRange(0, 11).Draw(t, "step"))
		}
		for n := 0; n < 1000 && (!p.clean() || len(lanes) > 0 || !p.done || p.at < p.head); n++ {
			drain()
			for _, seq := range slices.Sorted(maps.Keys(lanes)) {
				answer(seq)
			}
			if at, due := p.due(); due {
				p.begin(at)
			} else if !p.done {
				turn()
			}
			save(true)
		}
		for _, seq := range subs {
			if got := stored.Delivered(channel.Subscription{Seq: seq}); got != head || acked[seq] != head {
				t.Fatalf("in the end %d has version %d, the store says %d, want %d: %+v", seq, acked[seq], got, head, fmt.Sprintf("%+v", stored))
			}
		}
	})
}

// merged is what the store holds after a write: stragglers that need nothing go.
func merged(stored, written channel.Progress) channel.Progress {
	late := make(map[uint64]uint64)
	for _, s := range append(slices.Clone(stored.Stragglers), written.Stragglers...) {
		late[s.Seq] = s.Next
	}
	stored = channel.Progress{Version: written.Version, Seq: written.Seq}
	for _, seq := range slices.Sorted(maps.Keys(late)) {
		if late[seq] > 0 {
			stored.Stragglers = append(stored.Stragglers, channel.Straggler{Seq: seq, Next: late[seq]})
		}
	}
	return stored
}
