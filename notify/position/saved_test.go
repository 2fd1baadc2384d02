package position

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// inPass returns a position in the pass of version 2, over subscriptions offered so far.
func inPass(offered ...uint64) Position {
	p := New(VersionStep(9), channel.Progress{Version: 1, Seq: lastSeq}, 2)
	p.End()
	p.Begin(VersionStep(2), 0)
	for _, seq := range offered {
		if p.Turn(seq, 2, false) == Offered {
			p.Accept(seq, t0.Add(time.Duration(seq)*time.Second))
		}
	}
	return p
}

// What is stored of a pass that is half done: what is under way counts as not
// delivered, so that it is sent again after a crash.
func TestPositionSaved(t *testing.T) {
	three := VersionStep(3)
	for _, tc := range []struct {
		name string
		do   func(p *Position)
		want channel.Progress
	}{
		{"nothing answered", func(*Position) {}, channel.Progress{Version: 2, Seq: 2}},
		{"the first answered", func(p *Position) { p.Acknowledge(3, three-1) }, channel.Progress{Version: 2, Seq: 4}},
		{"the second answered", func(p *Position) { p.Acknowledge(5, three-1) }, channel.Progress{Version: 2, Seq: 2}},
		{"the last answered", func(p *Position) { p.Acknowledge(8, three-1) }, channel.Progress{Version: 2, Seq: 2}},
		{"the first two answered", func(p *Position) { p.Acknowledge(5, three-1); p.Acknowledge(3, three-1) }, channel.Progress{Version: 2, Seq: 7}},
		{"all answered", func(p *Position) { p.Acknowledge(5, three-1); p.Acknowledge(3, three-1); p.Acknowledge(8, three-1) }, channel.Progress{Version: 2, Seq: 8}},
		{"the first deleted", func(p *Position) { p.Remove(3) }, channel.Progress{Version: 2, Seq: 4}},
		{"the first fails", func(p *Position) { p.SetBehind(3, VersionStep(2)) }, channel.Progress{Version: 2, Seq: 4, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}}}},
		{"the second fails", func(p *Position) { p.SetBehind(5, VersionStep(2)) }, channel.Progress{Version: 2, Seq: 2, Stragglers: []channel.Straggler{{Seq: 5, Next: 2}}}},
		{"the first has had version 3 too", func(p *Position) { p.Acknowledge(3, VersionStep(4)) }, channel.Progress{Version: 2, Seq: 4, Stragglers: []channel.Straggler{{Seq: 3, Next: 4}}}},
		{"one that is passed over", func(p *Position) { p.Turn(9, 2, true) }, channel.Progress{Version: 2, Seq: 2}},
		{"one whose first version is 4, within a gap", func(p *Position) { p.gapTo = 4; p.Turn(9, 4, false) }, channel.Progress{Version: 2, Seq: 2, Stragglers: []channel.Straggler{{Seq: 9, Next: 4}}}},
		{"the next pass begins", func(p *Position) { p.Begin(VersionStep(3), 0) }, channel.Progress{Version: 3, Seq: 0, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}, {Seq: 8, Next: 2}}}},
		{"a gap up to version 6", func(p *Position) { p.gapTo = 6; p.End() }, channel.Progress{Version: 6, Seq: lastSeq, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}, {Seq: 8, Next: 2}}}},
		{"the first two are slow", func(p *Position) { p.Expire(t0.Add(5 * time.Second)) }, channel.Progress{Version: 2, Seq: 7, Stragglers: []channel.Straggler{{Seq: 3, Next: 2}, {Seq: 5, Next: 2}}}},
		{"none is slow", func(p *Position) { p.Expire(t0.Add(3*time.Second - 1)) }, channel.Progress{Version: 2, Seq: 2}},
	} {
		p := inPass(3, 5, 8)
		tc.do(&p)
		if got, changed := p.BeginSave(100); !changed || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v (changed %v), want %+v", tc.name, got, changed, tc.want)
		}
	}
}

// What is stored is not stored again, what failed to be is.
func TestPositionWritten(t *testing.T) {
	p := inPass(3, 5)
	p.SetBehind(3, VersionStep(2))
	if p.Clean() {
		t.Error("clean before it is saved")
	}
	progress, changed := p.BeginSave(100)
	if !changed || progress.Seq != 4 || len(progress.Stragglers) != 1 {
		t.Fatalf("%+v, changed %v", progress, changed)
	}
	p.EndSave(progress, false)
	again, changed := p.BeginSave(100)
	if !changed || !reflect.DeepEqual(again, progress) {
		t.Errorf("after a failed write: %+v, changed %v; want %+v", again, changed, progress)
	}
	p.EndSave(again, true)
	if got, changed := p.BeginSave(100); changed {
		t.Errorf("after a write: %+v, changed", got)
	}
	if p.Clean() {
		t.Error("clean while 5 is under way")
	}
	p.Acknowledge(5, VersionStep(3))
	last, changed := p.BeginSave(100)
	if !changed || last.Seq != 5 || p.Clean() {
		t.Errorf("at the end: %+v, changed %v, clean %v", last, changed, p.Clean())
	}
	if p.EndSave(last, true); !p.Clean() {
		t.Error("not clean when all is stored")
	}
	p.SetHead(GoneStep(9))
	if p.SetBehind(5, VersionStep(3)); p.Clean() {
		t.Error("clean with a straggler to store")
	}
}

// A pass begins when the one before is done and there is another step.
func TestPositionDue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		head   Step
		stored channel.Progress
		done   bool
		want   Step
		due    bool
	}{
		{"behind", VersionStep(3), channel.Progress{Version: 2, Seq: lastSeq}, true, VersionStep(3), true},
		{"far behind", VersionStep(9), channel.Progress{Version: 2, Seq: lastSeq}, true, VersionStep(3), true},
		{"in a pass", VersionStep(3), channel.Progress{Version: 2, Seq: 7}, false, VersionStep(3), false},
		{"up to date", VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, true, VersionStep(4), false},
		{"gone", GoneStep(3), channel.Progress{Version: 3, Seq: lastSeq}, true, GoneStep(3), true},
		{"gone, and all have the notice", GoneStep(3), channel.Progress{Version: 3, Seq: lastSeq | channel.Told}, true, VersionStep(4), false},
		{"back from being gone", VersionStep(4), channel.Progress{Version: 3, Seq: 5 | channel.Told}, true, VersionStep(4), true},
	} {
		p := New(tc.head, tc.stored, 2)
		p.done = tc.done
		if at, due := p.Due(); at != tc.want || due != tc.due {
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
		at     Step
		done   bool
	}{
		{"a first subscription", channel.Progress{}, 2, GoneStep(1) - 1, true},
		{"all unsubscribed and one new", channel.Progress{Version: 3, Seq: 9}, 7, VersionStep(6), true},
		{"one of the pass", channel.Progress{Version: 3, Seq: 9}, 3, VersionStep(3), false},
		{"one of the next version", channel.Progress{Version: 3, Seq: 9}, 4, VersionStep(3), false},
		{"one of the version after", channel.Progress{Version: 3, Seq: 9}, 5, VersionStep(4), true},
	} {
		p := New(VersionStep(9), tc.stored, tc.from)
		if p.At() != tc.at || p.Done() != tc.done || p.Done() != (p.Seq() == lastSeq) {
			t.Errorf("%s: step %d, offered to %d, done %v; want %d, %v", tc.name, p.At(), p.Seq(), p.Done(), tc.at, tc.done)
		}
	}
}

// The pass of the notice that a channel is gone goes on for later subscriptions,
// until the channel is back.
func TestPositionGone(t *testing.T) {
	p := New(GoneStep(3), channel.Progress{Version: 3, Seq: 5 | channel.Told}, 2)
	p.done = true
	if p.SetHead(GoneStep(3)); p.done {
		t.Error("the pass of the notice has ended")
	}
	p.done = true
	if p.SetHead(VersionStep(4)); !p.done {
		t.Error("the pass of the notice goes on after the channel is back")
	}
	p.done, p.cursor.at = true, VersionStep(4)
	if p.SetHead(VersionStep(4)); !p.done {
		t.Error("a pass of a version begins again")
	}
}

// One postponed keeps what it needed before, and answers count once.
func TestPositionCounts(t *testing.T) {
	p := inPass(3, 5, 8)
	p.gapTo = 4
	p.late.put(9, VersionStep(1))
	p.Turn(9, 4, false)
	if next, _ := p.Next(9); next != VersionStep(1) || p.Seq() != 9 {
		t.Errorf("postponed to step %d, offered to %d", next, p.Seq())
	}
	for n, seq := range []uint64{4, 5, 5, 1, 99, 3, 8, 8} {
		p.Acknowledge(seq, VersionStep(3))
		want := []int{3, 2, 2, 2, 2, 1, 0, 0}[n]
		if p.Open() != want {
			t.Errorf("%d open after answer %d, want %d", p.Open(), n, want)
		}
	}
	if p.Window() != 0 {
		t.Errorf("%d offers kept", p.Window())
	}
}
