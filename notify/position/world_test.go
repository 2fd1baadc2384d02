package position

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// world is a channel with a store, and knows what each subscription has acknowledged.
type world struct {
	t      *rapid.T
	p      Position
	now    time.Time
	head   Step
	kept   uint64            // the oldest version that is
	subs   map[uint64]uint64 // seq → first version
	has    map[uint64]uint64 // seq → newest version acknowledged, or told to be lost
	lanes  map[uint64]Step   // messages under way
	stored channel.Progress
	late   map[uint64]uint64 // the store's stragglers
}

// Whatever happens, each subscription gets its versions in order, and the store never
// believes that one has more than it acknowledged: a crash at any moment loses
// nothing. When all is quiet the store knows what each has.
func TestCrashLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, now: t0, head: VersionStep(1), subs: map[uint64]uint64{1: 2}, has: map[uint64]uint64{1: 1}, late: map[uint64]uint64{}}
		w.stored.Version = 1
		w.load()
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				w.setHead(VersionStep(w.head.Version() + rapid.Uint64Range(1, 3).Draw(t, "versions")))
			},
			"gone":      func(*rapid.T) { w.setHead(GoneStep(w.head.Version())) },
			"drop":      func(t *rapid.T) { w.drop(rapid.Uint64Range(1, 4).Draw(t, "versions")) },
			"subscribe": func(*rapid.T) { w.subscribe() },
			"pass":      func(t *rapid.T) { w.pass(rapid.IntRange(1, 3).Draw(t, "turns"), rapid.Bool().Draw(t, "accepts")) },
			"drain":     func(*rapid.T) { w.drain() },
			"ack":       func(t *rapid.T) { w.acknowledge(rapid.Bool().Draw(t, "ok"), rapid.Bool().Draw(t, "sent before")) },
			"expire":    func(*rapid.T) { w.now = w.now.Add(time.Second); w.p.Expire(w.now) },
			"save": func(t *rapid.T) {
				w.save(rapid.IntRange(0, 2).Draw(t, "removals"), rapid.Bool().Draw(t, "written"), rapid.Bool().Draw(t, "answered"))
			},
			"crash": func(*rapid.T) { w.load() },
			"":      func(*rapid.T) { w.check() },
		})
		w.finish()
	})
}

// load starts over with what the store has.
func (w *world) load() {
	progress := w.stored
	for _, seq := range slices.Sorted(maps.Keys(w.late)) {
		progress.Stragglers = append(progress.Stragglers, channel.Straggler{Seq: seq, Next: w.late[seq]})
	}
	w.p, w.lanes = New(w.head, progress, 2), make(map[uint64]Step)
	w.p.SetHead(w.head)
}

func (w *world) setHead(head Step) {
	w.head = head
	w.p.SetHead(head)
}

// drop forgets some more versions, but not the latest.
func (w *world) drop(versions uint64) { w.kept = min(w.kept+versions, w.head.Version()) }

func (w *world) subscribe() {
	seq := uint64(len(w.subs) + 1)
	w.subs[seq], w.has[seq] = w.head.Version()+1, w.head.Version()
	w.p.SetHead(w.head)
}

// pass gives some subscriptions their turn.
func (w *world) pass(turns int, accepts bool) {
	if at, due := w.p.Due(); due {
		var gapTo uint64
		if !at.Gone() && w.kept > at.Version() {
			gapTo = w.kept - 1
		}
		w.p.Begin(at, gapTo)
	}
	for seq := w.p.Seq() + 1; turns > 0 && !w.p.Done(); turns-- {
		_, busy := w.lanes[seq]
		if from, known := w.subs[seq]; !known || w.turn(seq, from, busy, accepts) == Ended {
			w.p.End()
		}
		seq++
	}
}

func (w *world) turn(seq, from uint64, busy, accepts bool) Turn {
	turn := w.p.Turn(seq, from, busy)
	switch {
	case turn == Offered && accepts:
		w.p.Accept(seq, w.now)
		w.lanes[seq] = w.p.At()
	case turn == Offered:
		w.p.SetBehind(seq, w.p.At())
	}
	return turn
}

// drain takes up stragglers that no pass will reach.
func (w *world) drain() {
	for _, seq := range w.p.Stragglers(0, 100) {
		if _, busy := w.lanes[seq]; !busy && w.p.Behind(seq) {
			w.lanes[seq], _ = w.p.Next(seq)
		}
	}
}

// acknowledge ends the message of each lane. It may have been sent before versions were
// dropped.
func (w *world) acknowledge(ok, sentBefore bool) {
	for _, seq := range slices.Sorted(maps.Keys(w.lanes)) {
		at := w.lanes[seq].Within(w.head)
		if !ok {
			w.p.SetBehind(seq, at)
			delete(w.lanes, seq)
			continue
		}
		if next := w.deliver(seq, at, sentBefore); w.p.Acknowledge(seq, next) {
			w.lanes[seq] = next
		} else {
			delete(w.lanes, seq)
		}
	}
}

// deliver gives a subscription the update or the notice of a step, or the gap that begins
// with it, and returns what it needs next.
func (w *world) deliver(seq uint64, at Step, sentBefore bool) (next Step) {
	version := at.Version()
	if at > w.head || !at.Gone() && version > w.has[seq]+1 || at.Gone() && version > w.has[seq] {
		w.t.Fatalf("subscription %d, which has %d, got %s of %s", seq, w.has[seq], name(at), name(w.head))
	}
	switch {
	case at.Gone():
		return at + 1
	case version < w.kept && !sentBefore:
		version = w.kept - 1
	}
	w.has[seq] = max(w.has[seq], version)
	return GoneStep(version)
}

func (w *world) save(removals int, written, answered bool) {
	progress, changed := w.p.BeginSave(removals)
	if changed && written {
		w.stored.Version, w.stored.Seq = progress.Version, progress.Seq
		for _, s := range progress.Stragglers {
			if w.late[s.Seq] = s.Next; s.Next == 0 {
				delete(w.late, s.Seq)
			}
		}
	}
	w.p.EndSave(progress, !changed || written && answered)
}

func (w *world) check() {
	progress := w.stored
	for _, seq := range slices.Sorted(maps.Keys(w.late)) {
		progress.Stragglers = append(progress.Stragglers, channel.Straggler{Seq: seq, Next: w.late[seq]})
	}
	for seq, from := range w.subs {
		if believed := progress.Delivered(channel.Subscription{Seq: seq, FromVersion: from}); believed > w.has[seq] {
			w.t.Fatalf("the store believes that %d has %d: it has %d; %+v", seq, believed, w.has[seq], progress)
		}
	}
}

// finish lets everything come to its end.
func (w *world) finish() {
	for range 20*int(w.head) + 20*len(w.subs) {
		w.pass(3, true)
		w.drain()
		w.acknowledge(true, false)
	}
	w.save(100, true, true)
	w.check()
	var wrong []string
	for seq := range w.subs {
		if w.has[seq] != w.head.Version() {
			wrong = append(wrong, fmt.Sprintf("%d has %d", seq, w.has[seq]))
		}
	}
	if len(wrong) > 0 || !w.p.Clean() || len(w.late) > 0 || w.stored.Version != w.head.Version() {
		w.t.Fatalf("in the end, at %s: %v; clean %v, %v late, stored %+v", name(w.head), wrong, w.p.Clean(), w.late, w.stored)
	}
}
