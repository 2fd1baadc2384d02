package track

import (
	"math"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// periodic is a schedule in which each channel changes every ten seconds.
type periodic struct {
	begin  time.Time
	window int
}

const period = 10 * time.Second

func (p periodic) Revision(_ int, at time.Time) int64 {
	return 1 + int64(max(at.Sub(p.begin), 0)/period)
}

func (p periodic) ChangedAt(_ int, revision int64) time.Time {
	return p.begin.Add(time.Duration(revision-1) * period)
}

func (p periodic) Window(int) int { return p.window }

func (p periodic) HostOf(int) int { return 0 }

func (p periodic) Well(int) bool { return true }

// rig is a run of a channel with two subscriptions, and another one of its host, in a time of its own: polled each
// gap, from 0 s to 100 s, of which 20 s to 80 s count.
type rig struct {
	*Tracker
	begin time.Time
	subs  []int
}

func newRig(nodes, window int) *rig {
	begin := time.Unix(1_000_000, 0)
	r := &rig{Tracker: New(Config{
		Schedule: periodic{begin, window}, Channels: 2, Hosts: 1, Begin: begin, Longest: 3 * time.Minute, Floor: time.Second, Nodes: nodes,
	}), begin: begin}
	r.subs = []int{r.Subscribe(0, begin, false), r.Subscribe(0, begin, false)}
	r.SetPlan(begin, []float64{2, 0}, []float64{2, 0})
	r.SetWindow(r.at(20), r.at(80))
	return r
}

func (r *rig) at(seconds float64) time.Time {
	return r.begin.Add(time.Duration(seconds * float64(time.Second)))
}

// poll is a poll at a time, and the deliveries that it leads to, half a second later.
func (r *rig) poll(seconds float64, to ...int) {
	at := r.at(seconds)
	revision := r.config.Schedule.Revision(0, at)
	last, status := int64(0), 200
	if sent := r.channels[0].sent; len(sent) > 0 {
		last = sent[len(sent)-1].revision
	}
	if revision == last {
		status = 304
	}
	r.Poll(loadgen.Poll{Channel: 0, Arrived: at, Answered: at, Revision: revision, Status: status, Bytes: 100})
	if last == 0 || revision == last {
		return
	}
	for _, sub := range to {
		r.deliver(sub, uint64(revision), seconds+0.5, revision)
	}
}

// refuse is a poll of the other channel that is answered 429.
func (r *rig) refuse(seconds float64) {
	at := r.at(seconds)
	r.Poll(loadgen.Poll{Channel: 1, Arrived: at, Answered: at, Status: 429, Rest: true})
}

func (r *rig) deliver(sub int, version uint64, seconds float64, revisions ...int64) {
	r.Deliver(sub, Update{Version: version, Revisions: revisions, At: r.at(seconds)})
}

func (r *rig) judged() *result.Result {
	out := new(result.Result)
	r.Judge(out, r.at(100))
	return out
}

func TestAsPlanned(t *testing.T) {
	r := newRig(1, 5)
	for s := 1.0; s < 100; s += 2 {
		r.poll(s, r.subs...)
	}
	if r.Waiting() != 0 {
		t.Errorf("%d changes have not arrived", r.Waiting())
	}
	out := r.judged()
	if out.UpdatesPublished != 6 || out.UpdatesDetected != 6 || out.UpdatesMissed != 0 || out.UpdatesFalse != 0 || out.Deliveries != 12 {
		t.Errorf("%+v", out)
	}
	if out.Polls != 30 || out.PollsPerS != 0.5 || out.PollsSkipped != 0 || out.FloorViolations != 0 || out.NotModifiedRatio != 0.8 {
		t.Errorf("%+v", out)
	}
	if d := out.Detection; d.Count != 6 || d.P50 < 999 || d.Max > 1001 || d.Planned.P50 != 1000 || d.Planned.Mean != 1000 {
		t.Errorf("detection %+v", d)
	}
	if d := out.Delivery; d.Count != 12 || d.P50 < 499 || d.Max > 501 {
		t.Errorf("delivery %+v", d)
	}
	if waits := r.MeanWait(); waits[0] < 0.999 || waits[0] > 1.001 {
		t.Errorf("mean wait %g s", waits[0])
	}
}

// A channel that no node asks for misses its updates and its polls.
func TestNeverPolled(t *testing.T) {
	out := newRig(1, 5).judged()
	if out.UpdatesPublished != 6 || out.UpdatesMissed != 6 || out.DeliveriesMissing != 12 || out.PollsSkipped != 1 {
		t.Errorf("%+v", out)
	}
}

// A poll that is left out, one that comes too early, one that a bad answer puts off, and
// one that is missing at an outage.
func TestGaps(t *testing.T) {
	tests := []struct {
		name            string
		nodes           int
		do              func(r *rig)
		skipped, floors int64
	}{
		{"as planned", 1, func(r *rig) {}, 0, 0},
		{"one left out", 1, func(r *rig) { r.begin = r.begin.Add(2 * time.Second) }, 1, 0},
		{"one left out before the window", 1, nil, 0, 0},
		{"too early", 1, func(r *rig) { r.poll(39.5) }, 0, 1},
		{"two nodes", 2, func(r *rig) { r.poll(39.5) }, 0, 0},
		{"two nodes too early", 2, func(r *rig) { r.poll(39.5); r.poll(39.6) }, 0, 1},
		{"after a bad answer", 1, func(r *rig) {
			r.Poll(loadgen.Poll{Channel: 0, Arrived: r.at(40), Answered: r.at(40), Status: 503})
			r.begin = r.begin.Add(10 * time.Second)
		}, 0, 0},
		{"while its host rests", 1, func(r *rig) {
			r.refuse(40)
			r.begin = r.begin.Add(10 * time.Second)
		}, 0, 0},
		{"after its host's rest", 1, func(r *rig) {
			r.refuse(38)
			r.begin = r.begin.Add(2 * time.Second)
		}, 1, 0},
		{"outage", 1, func(r *rig) {
			r.Disturb(r.at(39))
			r.begin = r.begin.Add(10 * time.Second)
			r.Calm(r.at(39))
		}, 0, 0},
	}
	for _, test := range tests {
		r := newRig(test.nodes, 5)
		for s := 1.0; s < 87; s += 2 {
			if s == 5 && test.do == nil {
				s = 11
			}
			r.poll(s)
			if s == 39 && test.do != nil {
				test.do(r)
			}
		}
		if out := r.judged(); out.PollsSkipped != test.skipped || out.FloorViolations != test.floors {
			t.Errorf("%s: %d skipped, %d below the floor, want %d and %d", test.name, out.PollsSkipped, out.FloorViolations, test.skipped, test.floors)
		}
	}
}

// A late poll counts as late if it comes within the window.
func TestLateness(t *testing.T) {
	for _, test := range []struct{ from, want float64 }{{41, 700}, {81, 0}} {
		r := newRig(1, 5)
		for s := 1.0; s < 87; s += 2 {
			if s == test.from {
				r.begin = r.begin.Add(700 * time.Millisecond)
			}
			r.poll(s)
		}
		if got := r.judged().Lateness.P99; math.Abs(got-test.want) > 1 {
			t.Errorf("polls late from %g s on: p99 %g ms, want %g", test.from, got, test.want)
		}
	}
}

// Polls that end within the window leave a gap that has no end.
func TestPollsEnd(t *testing.T) {
	r := newRig(1, 5)
	for s := 1.0; s < 60; s += 2 {
		r.poll(s, r.subs...)
	}
	out := r.judged()
	if out.PollsSkipped != 1 || out.UpdatesMissed != 2 || out.UpdatesDetected != 4 {
		t.Errorf("%+v", out)
	}
}

// told is an update at the first subscription.
type told struct {
	version   uint64
	seconds   float64
	revisions []int64
}

func TestDeliveries(t *testing.T) {
	// Version and revision n are sent at n·10 − 9 s; 3 to 8 count.
	as := func(n int64) told { return told{uint64(n), float64(n)*10 - 8.5, []int64{n}} }
	tests := []struct {
		name                           string
		told                           []told
		missed, falsely                int
		missing, duplicates, reordered int64
	}{
		{"all", []told{as(3), as(4), as(5), as(6), as(7), as(8), as(9)}, 0, 0, 0, 0, 0},
		{"one lost", []told{as(3), as(4), as(6), as(7), as(8), as(9)}, 1, 0, 1, 0, 0},
		{"the last lost", []told{as(3), as(4), as(5), as(6), as(7)}, 1, 0, 1, 0, 0},
		{"one twice", []told{as(3), as(4), as(5), {5, 45, []int64{5}}, as(6), as(7), as(8)}, 0, 0, 0, 1, 0},
		{"one late", []told{as(3), as(4), as(6), {5, 55, []int64{5}}, as(7), as(8)}, 0, 0, 0, 0, 1},
		{"two in one", []told{as(3), as(4), {6, 55, []int64{6, 5}}, as(7), as(8)}, 0, 0, 0, 0, 0},
		{"of no change", []told{as(3), as(4), as(5), as(6), as(7), {20, 75, nil}, {21, 75, []int64{8}}}, 0, 1, 0, 0, 0},
		{"of what was told", []told{as(3), as(4), as(5), as(6), as(7), as(8), {20, 75, []int64{4}}}, 0, 1, 0, 0, 0},
		{"of what no node was sent", []told{as(3), as(4), as(5), as(6), as(7), as(8), {20, 75, []int64{40}}}, 0, 1, 0, 0, 0},
	}
	for _, test := range tests {
		r := newRig(1, 5)
		for s := 1.0; s < 100; s += 2 {
			r.poll(s, r.subs[1])
		}
		for _, u := range test.told {
			r.deliver(r.subs[0], u.version, u.seconds, u.revisions...)
		}
		if out := r.judged(); out.UpdatesMissed != test.missed || out.UpdatesFalse != test.falsely || out.DeliveriesMissing != test.missing ||
			out.Duplicates != test.duplicates || out.OutOfOrder != test.reordered {
			t.Errorf("%s: %d missed, %d false, %d missing, %d duplicates, %d out of order", test.name,
				out.UpdatesMissed, out.UpdatesFalse, out.DeliveriesMissing, out.Duplicates, out.OutOfOrder)
		}
	}
}

// What stood too short to be seen, and what a sick endpoint does not take, is not missed.
func TestNotDue(t *testing.T) {
	r := newRig(1, 5)
	r.SetPlan(r.begin, []float64{30, 0}, []float64{30, 0}) // 2 × 30 s, and five revisions stand for 50 s
	r.poll(1)
	if out := r.judged(); out.UpdatesMissed != 0 || out.UpdatesPublished != 6 {
		t.Errorf("%+v", out)
	}
	sick := newRig(1, 5)
	sick.Subscribe(0, sick.begin, true)
	for s := 1.0; s < 100; s += 2 {
		sick.poll(s, sick.subs...)
	}
	if out := sick.judged(); out.UpdatesMissed != 0 || out.Deliveries != 12 {
		t.Errorf("%+v", out)
	}
}

// A crowd's rate is seen when its channel is polled twice as close as planned for it, and a
// crowd whose rate is not seen waits until the end.
func TestCrowd(t *testing.T) {
	r := newRig(1, 5)
	crowd := func() {
		r.SetPlan(r.at(30), []float64{0.5, 0}, []float64{0.5, 0})
		r.Crowd(0, r.at(30))
	}
	for s := 1.0; s < 30; s += 2 {
		r.poll(s, r.subs...)
	}
	crowd()
	for s := 31.0; s < 35; s += 2 { // as before
		r.poll(s, r.subs...)
	}
	for s := 35.0; s < 100; s += 0.5 {
		r.poll(s, r.subs...)
	}
	if out := r.judged(); out.Crowd != 5000 || out.PollsSkipped != 0 {
		t.Errorf("rate seen after %g ms, want 5000; %d polls left out", out.Crowd, out.PollsSkipped)
	}
	r = newRig(1, 5)
	crowd()
	for s := 31.0; s < 100; s += 2 {
		r.poll(s, r.subs...)
	}
	if out := r.judged(); out.Crowd != 70_000 {
		t.Errorf("a rate that was never seen: %g ms, want 70000", out.Crowd)
	}
}

// What a subscription that ended did not get is missed if it was due by then, and else not.
func TestUnsubscribe(t *testing.T) {
	for _, test := range []struct {
		until  float64
		missed int
	}{{29, 0}, {33, 0}, {35, 1}, {45, 2}} { // changes are at 30, 40, …; due after 4 s
		r := newRig(1, 5)
		for s := 1.0; s < 100; s += 2 {
			r.poll(s, r.subs[0])
			if s < 20 {
				r.deliver(r.subs[1], uint64(r.config.Schedule.Revision(0, r.at(s))), s+0.5, r.config.Schedule.Revision(0, r.at(s)))
			}
			if s < 29 && s > 20 {
				r.deliver(r.subs[1], 3, s+0.5, 3)
			}
		}
		r.Unsubscribe(r.subs[1], r.at(test.until))
		if out := r.judged(); out.UpdatesMissed != test.missed || int(out.DeliveriesMissing) != test.missed {
			t.Errorf("ended at %g s: %d updates and %d deliveries missed, want %d", test.until, out.UpdatesMissed, out.DeliveriesMissing, test.missed)
		}
	}
}

// A change is judged by the gaps that were planned while it stood, not by later ones.
func TestPlansFollow(t *testing.T) {
	r := newRig(1, 5)
	r.SetPlan(r.at(50), []float64{1, 0}, []float64{1, 0})
	for _, test := range []struct {
		from, to float64
		want     float64
	}{{0, 49, 2}, {40, 60, 2}, {50, 60, 1}, {51, 60, 1}} {
		if got := r.longestGap(0, r.at(test.from).UnixNano(), r.at(test.to).UnixNano()); got != test.want {
			t.Errorf("longest gap from %g to %g s: %g, want %g", test.from, test.to, got, test.want)
		}
	}
	for at, want := range map[float64]float64{0: 2, 49: 2, 50: 1, 60: 1} {
		if got := r.plannedGap(0, r.at(at).UnixNano()); got != want {
			t.Errorf("planned gap at %g s: %g, want %g", at, got, want)
		}
	}
}
