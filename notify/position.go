package notify

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// position is who has what on one channel: a pass that offers one step to every
// subscription in order, and the stragglers beside it. It is pure: it takes times,
// and knows neither store nor endpoint.
//
// Nothing holds a pass. What is offered is fresh until it is settled; what stays
// fresh for long becomes a straggler, which goes on by itself.
type position struct {
	head    step    // the channel's last step
	at      step    // the step of the pass
	offered uint64  // the pass has come to this subscription
	done    bool    // the pass has come to the end
	fresh   []offer // by sequence number; the first is not settled
	open    int     // of fresh, those not settled
	late    lateSet
	saved   place // as the store has it
}

type offer struct {
	seq     uint64
	since   time.Time
	settled bool
}

// place is a position without its stragglers.
type place struct {
	at  step
	seq uint64
}

func newPosition(head step, p channel.Progress) position {
	at, offered := placeOf(p)
	return position{head: head, at: at, offered: offered, late: newLateSet(p.Stragglers), saved: place{at, offered}}
}

// start skips what no subscription needs; from is the first version of the first
// subscription, and so the lowest of all.
func (p *position) start(from uint64) {
	if first := needs(from); p.at+1 < first {
		p.at, p.offered, p.done = first-1, lastSeq, true
	}
}

// setHead takes note of the channel's last step. Who subscribes to a channel that
// is gone is told so: the pass that tells has no end.
func (p *position) setHead(head step) {
	p.head = head
	if p.at == head && p.at.gone() {
		p.done = false
	}
}

// due returns the step of the next pass, once this one is done.
func (p *position) due() (step, bool) {
	next := (p.at + 1).within(p.head)
	return next, p.done && next <= p.head
}

// begin starts the pass of a step. What is still fresh is left behind.
func (p *position) begin(at step) {
	p.leave(func(offer) bool { return true })
	p.at, p.offered, p.done = at, 0, false
}

// jump ends a pass whose step was a gap up to a version: who was told so has that
// version.
func (p *position) jump(to uint64) {
	p.leave(func(offer) bool { return true })
	p.at, p.offered, p.done = versionStep(to), lastSeq, true
	has := (p.at + 1).within(p.head)
	for seq, s := range p.late.all {
		if s.next.within(p.head) == has {
			p.late.remove(seq)
		}
	}
}

// offer takes a subscription in its turn, and reports whether it is to get the
// step. Stragglers are not: they come by themselves, or have had it.
func (p *position) offer(seq uint64) bool {
	p.offered = seq
	next, late := p.late.get(seq)
	if !late {
		return true
	}
	switch next.within(p.head) {
	case p.at.within(p.head):
		p.late.remove(seq)
		return true
	case (p.at + 1).within(p.head):
		p.late.remove(seq)
	}
	return false
}

// pass takes a subscription in its turn that is not to get the step.
func (p *position) pass(seq uint64) { p.offered = seq }

// postpone takes a subscription in its turn whose first step lies beyond the pass.
func (p *position) postpone(seq uint64, first step) {
	p.offered = seq
	if _, late := p.late.get(seq); !late {
		p.late.put(seq, first)
	}
}

// sent notes that the step was taken on for the subscription offered last.
func (p *position) sent(seq uint64, now time.Time) {
	p.fresh = append(p.fresh, offer{seq: seq, since: now})
	p.open++
}

// straggle notes that a subscription needs next, and is not being served.
func (p *position) straggle(seq uint64, next step) {
	p.settleFresh(seq)
	p.late.put(seq, next)
}

// settle notes that a subscription has had everything before next, and reports
// whether more is waiting for it that no pass will offer.
func (p *position) settle(seq uint64, next step) (more bool) {
	p.settleFresh(seq)
	if next.within(p.head) == p.usual(seq) {
		p.late.remove(seq)
		return false
	}
	p.late.put(seq, next)
	return p.behind(seq)
}

// drop forgets a subscription.
func (p *position) drop(seq uint64) {
	p.settleFresh(seq)
	p.late.remove(seq)
}

// behind reports whether a subscription is a straggler that no pass will help.
func (p *position) behind(seq uint64) bool {
	next, late := p.late.get(seq)
	return late && next.within(p.head) < p.usual(seq)
}

// usual is what a subscription that is no straggler needs next.
func (p *position) usual(seq uint64) step {
	if seq <= p.offered {
		return (p.at + 1).within(p.head)
	}
	return p.at.within(p.head)
}

func (p *position) settleFresh(seq uint64) {
	i, found := slices.BinarySearchFunc(p.fresh, seq, func(o offer, seq uint64) int {
		switch {
		case o.seq < seq:
			return -1
		case o.seq > seq:
			return 1
		}
		return 0
	})
	if !found || p.fresh[i].settled {
		return
	}
	p.fresh[i].settled = true
	p.open--
	p.trim()
}

func (p *position) trim() {
	n := 0
	for n < len(p.fresh) && p.fresh[n].settled {
		n++
	}
	p.fresh = p.fresh[n:]
	if len(p.fresh) == 0 {
		p.fresh = nil
	}
}

// leave makes stragglers of what is fresh and chosen.
func (p *position) leave(chosen func(offer) bool) {
	for i, o := range p.fresh {
		if !o.settled && chosen(o) {
			p.late.put(o.seq, p.at)
			p.fresh[i].settled = true
			p.open--
		}
	}
	p.trim()
}

// age makes stragglers of what has been fresh since before a time.
func (p *position) age(before time.Time) {
	p.leave(func(o offer) bool { return !o.since.After(before) })
}

// save returns what the store does not know yet, if anything, with not many more
// stragglers than most.
func (p *position) save(most int) (channel.Progress, bool) {
	here := place{p.at, p.offered}
	if len(p.fresh) > 0 {
		here.seq = p.fresh[0].seq - 1
	}
	var out channel.Progress
	out.Version, out.Seq = progressAt(here.at, here.seq)
	out.Stragglers = p.late.take(most)
	return out, here != p.saved || len(out.Stragglers) > 0
}

// wrote ends what save began.
func (p *position) wrote(progress channel.Progress, ok bool) {
	if ok {
		p.saved.at, p.saved.seq = placeOf(progress)
	}
	p.late.wrote(progress.Stragglers, ok)
}

// clean reports whether the store knows all there is.
func (p *position) clean() bool {
	return len(p.fresh) == 0 && p.saved == place{p.at, p.offered} && len(p.late.changed) == 0
}
