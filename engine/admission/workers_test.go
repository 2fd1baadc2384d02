package admission

import (
	"testing"
	"time"
)

// First polls of long pages begin few at a time: more as they succeed, if all that may
// run do; half as many, once for all that were under way, when one found no memory
// free; from then on one more each time that all have ended. Never none, never beyond
// their share.
func TestFirstPollsGrow(t *testing.T) {
	w := New(1024)
	now := int64(1e18)
	round := func(l Load, times int) int { // of polls that begin and end together
		begun := now + 1
		now += 2
		for range times {
			w.Polls[Strange] = w.window.size
			w.Feedback(Strange, begun, begun, l, now)
		}
		return w.window.size
	}
	good, busy := Load{}, Load{Canceled: true, Busy: true}
	for _, step := range []struct {
		l           Load
		times, want int
	}{
		{good, 0, 64}, {good, 1000, 512}, {busy, 500, 256}, {Load{Canceled: true}, 1, 256},
		{good, 255, 256}, {good, 1, 257}, {busy, 1, 128}, {good, 128, 129},
	} {
		if got := round(step.l, step.times); got != step.want {
			t.Errorf("%+v %d times: %d, want %d", step.l, step.times, got, step.want)
		}
	}
	for range 20 {
		round(busy, 1)
	}
	if w.window.size != leastWindow {
		t.Errorf("%d at the least", w.window.size)
	}
	w.Polls[Strange] = 0
	for range 100 {
		w.Feedback(Strange, now+1, now+1, good, now+2)
	}
	if w.window.size != leastWindow {
		t.Errorf("%d after polls that ran alone, which say nothing", w.window.size)
	}
}

// A due poll that begins late while first polls are under way halves these, once for
// all that waited with it: an import may not make those late that were there before.
// It leaves as many as an import begins with.
func TestFirstPollsYield(t *testing.T) {
	w := New(1024)
	const now = int64(1e18)
	w.window.size = 300
	late := func(eligible int64, by time.Duration, now int64) {
		w.Feedback(Steady, eligible+int64(by), eligible, Load{}, now)
	}
	for _, step := range []struct {
		name          string
		others        int // strange polls under way
		eligible, now int64
		late          time.Duration
		want          int
	}{
		{"in time", 300, now, now, lateEnough, 300},
		{"late, with none in its way", 0, now, now, time.Second, 300},
		{"late", 300, now, now + 1, time.Second, 150},
		{"waited with the one before", 150, now, now + 2, time.Second, 150},
		{"late again", 150, now + 2, now + 3, time.Second, 75},
		{"at the least", 75, now + 4, now + 5, time.Second, 64},
		{"and again", 64, now + 6, now + 7, time.Second, 64},
	} {
		w.Polls[Strange] = step.others
		late(step.eligible, step.late, step.now)
		if w.window.size != step.want {
			t.Errorf("%s: %d may be under way, want %d", step.name, w.window.size, step.want)
		}
	}
	w.window.size = leastWindow // since no memory was free
	if late(now+8, time.Second, now+9); w.window.size != leastWindow {
		t.Errorf("%d may be under way since a poll was late", w.window.size)
	}
}
