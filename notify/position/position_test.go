package position

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// offering returns a position whose pass of version 2 was offered to, and accepted
// for, the subscriptions 1 to n.
func offering(n uint64) Position {
	p := New(VersionStep(2), channel.Progress{Version: 2}, 2)
	for seq := uint64(1); seq <= n; seq++ {
		p.Turn(seq, 2, false)
		p.Accept(seq, t0.Add(time.Duration(seq)*time.Millisecond))
	}
	return p
}

// The saved cursor stands just before the first open offer: one further, and a
// webhook under way would be lost in a crash; one less, and one would come twice.
func TestSavedCursor(t *testing.T) {
	for _, test := range []struct {
		offered uint64
		acked   []uint64
		want    uint64
	}{
		{0, nil, 0},
		{3, nil, 0},
		{3, []uint64{2, 3}, 0},
		{3, []uint64{1}, 1},
		{3, []uint64{1, 3}, 1},
		{3, []uint64{1, 2}, 2},
		{3, []uint64{2, 1}, 2},
		{3, []uint64{3, 2, 1}, 3},
	} {
		p := offering(test.offered)
		for _, seq := range test.acked {
			p.Acknowledge(seq, GoneStep(2))
		}
		saved, _ := p.BeginSave(10)
		if saved.Version != 2 || saved.Seq != test.want || len(saved.Stragglers) != 0 {
			t.Errorf("%d offered, %v acknowledged: saved %+v, want seq %d", test.offered, test.acked, saved, test.want)
		}
		if open := int(test.offered) - len(test.acked); p.Open() != open {
			t.Errorf("%d offered, %v acknowledged: %d open, want %d", test.offered, test.acked, p.Open(), open)
		}
		for _, seq := range []uint64{1, 2, 3} {
			acked := slices.Contains(test.acked, seq)
			if delivered := saved.Delivered(channel.Subscription{Seq: seq, FromVersion: 2}); delivered == 2 && !acked {
				t.Errorf("%d offered, %v acknowledged: the store believes that %d has version 2", test.offered, test.acked, seq)
			}
		}
	}
}

func TestExpire(t *testing.T) {
	for _, test := range []struct {
		since time.Duration
		late  []uint64
		open  int
	}{
		{0, nil, 3}, {time.Millisecond, []uint64{1}, 2}, {2 * time.Millisecond, []uint64{1, 2}, 1}, {time.Second, []uint64{1, 2, 3}, 0},
	} {
		p := offering(3)
		p.Expire(t0.Add(test.since))
		if late := p.Stragglers(0, 10); !slices.Equal(late, test.late) || p.Open() != test.open || p.Window() != test.open || p.Unsaved() != len(test.late) {
			t.Errorf("%s: %v are late, %d open, window %d, %d unsaved; want %+v", test.since, late, p.Open(), p.Window(), p.Unsaved(), test)
		}
	}
}

// A closed offer within the window counts as closed once, whatever closes it again.
func TestOfferClosesOnce(t *testing.T) {
	p := offering(3)
	p.Acknowledge(2, GoneStep(2))
	p.Acknowledge(2, GoneStep(2))
	p.Remove(2)
	p.Remove(9)
	if p.Open() != 2 || p.Window() != 3 {
		t.Errorf("%d open in a window of %d, want 2 of 3", p.Open(), p.Window())
	}
	p.Expire(t0.Add(time.Second))
	if late := p.Stragglers(0, 10); !slices.Equal(late, []uint64{1, 3}) {
		t.Errorf("%v are late, want 1 and 3", late)
	}
}

func TestTurnEnds(t *testing.T) {
	for _, test := range []struct {
		from, gapTo uint64
		want        Turn
		seq         uint64
	}{
		{2, 0, Offered, 5}, {3, 0, Offered, 5}, {4, 0, Ended, 0}, {4, 3, Ended, 0}, {4, 4, Nothing, 5}, {5, 4, Ended, 0}, {5, 5, Nothing, 5},
	} {
		p := New(VersionStep(9), channel.Progress{Version: 2, Seq: lastSeq}, 2)
		p.End()
		p.Begin(VersionStep(3), test.gapTo)
		if got := p.Turn(5, test.from, false); got != test.want || p.Seq() != test.seq || p.At() != VersionStep(3) {
			t.Errorf("first version %d, gap to %d: turn %d at seq %d, want %+v", test.from, test.gapTo, got, p.Seq(), test)
		}
		next, late := p.Next(5)
		if late != (test.want == Nothing) || late && next != FirstStep(test.from) {
			t.Errorf("first version %d, gap to %d: late %v for %s", test.from, test.gapTo, late, name(next))
		}
	}
}

// A subscription whose next step is known is not put back to its first by a gap.
func TestGapKeepsStragglers(t *testing.T) {
	p := New(VersionStep(9), channel.Progress{Version: 2, Seq: lastSeq, Stragglers: []channel.Straggler{{Seq: 5, Next: 7}}}, 2)
	p.End()
	p.Begin(VersionStep(3), 6)
	p.Turn(5, 5, false)
	if next, _ := p.Next(5); next != FirstStep(7) {
		t.Errorf("next is %s", name(next))
	}
	if !p.End() || p.At() != VersionStep(6) {
		t.Errorf("the pass did not jump to version 6, but to %s", name(p.At()))
	}
	if _, late := p.Next(5); late {
		t.Error("it is where the cursor says, and still a straggler")
	}
}

// A pass that jumps takes those with it that have all of the gap, and no others; the
// next pass has no gap.
func TestJump(t *testing.T) {
	late := []channel.Straggler{{Seq: 1, Next: 6}, {Seq: 2, Next: 7}, {Seq: 3, Next: 8}}
	p := New(VersionStep(9), channel.Progress{Version: 2, Seq: lastSeq, Stragglers: late}, 2)
	p.End()
	p.Begin(VersionStep(3), 6)
	if !p.End() || p.At() != VersionStep(6) || p.Seq() != lastSeq || !p.Done() {
		t.Fatalf("the pass is at %s", place(p.cursor))
	}
	if got := p.Stragglers(0, 9); !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("%v are late, want 1 and 3", got)
	}
	if p.End() {
		t.Error("a pass jumped twice")
	}
	if p.Begin(VersionStep(7), 0); p.End() {
		t.Error("a pass without a gap jumped")
	}
	// The channel is gone behind the gap: that is what those with all of it need next.
	p = New(GoneStep(6), channel.Progress{Version: 2, Seq: lastSeq, Stragglers: late[:2]}, 2)
	p.End()
	p.Begin(VersionStep(3), 6)
	if !p.End() || !slices.Equal(p.Stragglers(0, 9), []uint64{1}) {
		t.Errorf("%v are late, want 1", p.Stragglers(0, 9))
	}
}

// In a pass that will jump, a straggler that it has not come to is merged when it has had
// all up to the pass: it is offered the gap in its turn.
func TestMergeBeforeTurnInGap(t *testing.T) {
	late := []channel.Straggler{{Seq: 5, Next: 2}, {Seq: 8, Next: 2}}
	p := New(VersionStep(9), channel.Progress{Version: 2, Seq: lastSeq, Stragglers: late}, 2)
	p.End()
	p.Begin(VersionStep(3), 6)
	p.Turn(5, 2, true)
	for _, seq := range []uint64{5, 8} {
		p.Acknowledge(seq, VersionStep(3))
	}
	if got := p.Stragglers(0, 9); !slices.Equal(got, []uint64{5}) {
		t.Errorf("%v are late, want 5, which the pass has gone by", got)
	}
	if p.Turn(8, 2, false) != Offered || !p.Behind(5) || p.Behind(8) {
		t.Errorf("8 is not offered the gap, or not 5 alone is behind")
	}
}

// A straggler is merged with the pass that comes to the step that it needs next, and
// that it needs after this one.
func TestTurnOfStragglers(t *testing.T) {
	for _, test := range []struct {
		head, next Step
		want       Turn
		late       bool
	}{
		{VersionStep(9), VersionStep(2), Nothing, true}, // behind: it comes by itself
		{VersionStep(9), FirstStep(3), Offered, false},  // the notice before version 3, which does not exist
		{VersionStep(9), VersionStep(3), Offered, false},
		{VersionStep(9), GoneStep(3), Nothing, false}, // has had it
		{VersionStep(9), VersionStep(4), Nothing, false},
		{VersionStep(9), GoneStep(4), Nothing, true}, // ahead
		{VersionStep(9), VersionStep(5), Nothing, true},
		{GoneStep(3), GoneStep(3), Nothing, false}, // has had it, and needs the notice next
		{GoneStep(3), VersionStep(3), Offered, false},
	} {
		p := New(test.head, channel.Progress{Version: 2, Seq: lastSeq}, 2)
		p.SetBehind(5, test.next)
		p.End()
		p.Begin(VersionStep(3), 0)
		turn := p.Turn(5, 2, false)
		if _, late := p.Next(5); turn != test.want || late != test.late {
			t.Errorf("next %s: turn %d, late %v; want %+v", name(test.next), turn, late, test)
		}
	}
}

// SetBehind, Acknowledge and Remove each close the offer, so that the cursor of the
// next save may pass it.
func TestOfferIsClosed(t *testing.T) {
	for name, closes := range map[string]func(*Position){
		"behind":       func(p *Position) { p.SetBehind(1, VersionStep(2)) },
		"acknowledged": func(p *Position) { p.Acknowledge(1, GoneStep(2)) },
		"removed":      func(p *Position) { p.Remove(1) },
	} {
		p := offering(2)
		closes(&p)
		if saved, _ := p.BeginSave(9); p.Open() != 1 || p.Window() != 1 || saved.Seq != 1 {
			t.Errorf("%s: %d open in a window of %d, saved seq %d; want 1, 1, 1", name, p.Open(), p.Window(), saved.Seq)
		}
	}
}

func TestIdle(t *testing.T) {
	p := Idle()
	p.Remove(1)
	p.Expire(t0)
	if _, due := p.Due(); due || !p.Done() || !p.Clean() || p.Open() != 0 || p.Stragglers(0, 9) != nil {
		t.Errorf("it has something to do: %+v", p)
	}
}

// What changes while it is being saved is saved again, and what does not is not.
func TestChangeDuringSave(t *testing.T) {
	p := New(VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, 2)
	p.SetBehind(1, VersionStep(3))
	p.SetBehind(2, VersionStep(3))
	saving, _ := p.BeginSave(9)
	p.Remove(1)
	p.EndSave(saving, true)
	if saved := save(&p, true); !slices.Equal(saved.Stragglers, []channel.Straggler{{Seq: 1, Next: 0}}) {
		t.Errorf("saved %v, want the removal of 1", saved.Stragglers)
	}
	p.SetBehind(2, VersionStep(3))
	if again, changed := p.BeginSave(9); changed {
		t.Errorf("saved %v again", again.Stragglers)
	}
	p.Remove(2)
	saving, _ = p.BeginSave(9)
	p.SetBehind(2, VersionStep(3))
	p.EndSave(saving, true)
	if _, late := p.Next(2); !late {
		t.Error("a straggler is lost that fell behind while its removal was saved")
	}
	if saved := save(&p, true); !slices.Equal(saved.Stragglers, []channel.Straggler{{Seq: 2, Next: 3}}) {
		t.Errorf("saved %v, want 2 at version 3", saved.Stragglers)
	}
}

func TestStragglersInOrder(t *testing.T) {
	p := New(VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq, Stragglers: []channel.Straggler{{Seq: 9, Next: 2}, {Seq: 4, Next: 2}}}, 2)
	p.SetBehind(6, VersionStep(3))
	p.SetBehind(6, VersionStep(3))
	p.SetBehind(1, VersionStep(3))
	p.Remove(9)
	for _, test := range []struct {
		from  uint64
		limit int
		want  []uint64
	}{
		{0, 9, []uint64{1, 4, 6}}, {1, 2, []uint64{1, 4}}, {2, 9, []uint64{4, 6}}, {6, 1, []uint64{6}}, {7, 9, nil}, {0, 0, nil},
	} {
		if got := p.Stragglers(test.from, test.limit); !slices.Equal(got, test.want) {
			t.Errorf("from %d at most %d: %v, want %v", test.from, test.limit, got, test.want)
		}
	}
}

// However many stragglers come and go, memory holds those that are left.
func TestStragglersAreForgotten(t *testing.T) {
	p := New(VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, 2)
	for seq := uint64(1); seq <= 1000; seq++ {
		p.SetBehind(seq, VersionStep(3))
	}
	save(&p, true)
	p.Stragglers(0, 1)
	for seq := uint64(1); seq <= 1000; seq++ {
		p.Acknowledge(seq, GoneStep(3))
	}
	save(&p, true)
	p.Stragglers(0, 1)
	if left := len(p.late.all) + len(p.late.order) + len(p.late.added) + p.Unsaved(); left != 0 || !p.Clean() {
		t.Errorf("%d entries are left, clean %v", left, p.Clean())
	}
}

// A straggler that came and went between two saves leaves nothing in memory, and one
// whose removal is being saved is not removed again.
func TestRemovedOnce(t *testing.T) {
	p := New(VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, 2)
	p.SetBehind(1, VersionStep(3))
	p.Remove(1)
	if saved := save(&p, true); len(saved.Stragglers) != 0 || len(p.late.all) != 0 {
		t.Errorf("saved %v, %d in memory", saved.Stragglers, len(p.late.all))
	}
	p.SetBehind(2, VersionStep(3))
	save(&p, true)
	p.Remove(2)
	saving, _ := p.BeginSave(9)
	p.Remove(2)
	if len(saving.Stragglers) != 1 || p.Unsaved() != 0 {
		t.Errorf("saving %v, %d more to save", saving.Stragglers, p.Unsaved())
	}
	if p.EndSave(saving, true); !p.Clean() || len(p.late.all) != 0 {
		t.Errorf("clean %v, %d in memory", p.Clean(), len(p.late.all))
	}
}

// At most so many removals go into one save, and the rest into later ones.
func TestRemovalsWait(t *testing.T) {
	p := New(VersionStep(3), channel.Progress{Version: 3, Seq: lastSeq}, 2)
	for seq := uint64(1); seq <= 10; seq++ {
		p.SetBehind(seq, VersionStep(3))
	}
	bySeq := func(a, b channel.Straggler) int { return cmp.Compare(a.Seq, b.Seq) }
	if saved := save(&p, true); len(saved.Stragglers) != 10 || !slices.IsSortedFunc(saved.Stragglers, bySeq) {
		t.Errorf("%v were saved at first, want all 10 in order", saved.Stragglers)
	}
	for seq := uint64(1); seq <= 10; seq++ {
		p.Acknowledge(seq, GoneStep(3))
	}
	var sizes []int
	for p.Unsaved() > 0 {
		saved, changed := p.BeginSave(4)
		p.EndSave(saved, changed)
		sizes = append(sizes, len(saved.Stragglers))
	}
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("removals were saved in batches of %v", sizes)
	}
}

func save(p *Position, ok bool) channel.Progress {
	progress, _ := p.BeginSave(1000)
	p.EndSave(progress, ok)
	return progress
}
