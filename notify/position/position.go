package position

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Position is a channel's delivery cursor plus its stragglers, with what the store
// knows of both. It is not safe for concurrent use.
type Position struct {
	head   Step    // the channel's last step
	cursor cursor  // the pass offers cursor.at and has come to cursor.seq
	done   bool    // the pass has come to the end
	gapTo  uint64  // the step of the pass is a gap up to this version, 0 for none
	offers []offer // by sequence number; the first is open
	open   int     // of offers
	late   stragglers
	saved  cursor // as the store has it
}

// offer is a subscription that was offered the step of the pass. It is open until
// the subscription acknowledges the step, becomes a straggler, or ends.
type offer struct {
	seq    uint64
	since  time.Time
	closed bool
}

// New returns the position that the store keeps of a channel whose last step is
// head. The lowest first version of all subscriptions is from: steps before it are
// needed by none and are passed over.
func New(head Step, p channel.Progress, from uint64) Position {
	at := cursorOf(p)
	out := Position{head: head, cursor: at, saved: at, late: newStragglers(p.Stragglers)}
	if first := FirstStep(from); at.at+1 < first {
		out.cursor, out.done = cursor{first - 1, lastSeq}, true
	}
	return out
}

// Idle returns the position of a channel without subscriptions: it has nothing to
// offer and nothing to save.
func Idle() Position { return Position{done: true} }

// SetHead notes the channel's last step. The pass of the notice that the channel is
// gone has no end: a subscription that is made while it is gone gets the notice too.
func (p *Position) SetHead(head Step) {
	p.head = head
	if p.cursor.at == head && head.Gone() {
		p.done = false
	}
}

// At returns the step that the pass offers.
func (p *Position) At() Step { return p.cursor.at }

// Seq returns the sequence number of the subscription that the pass has come to.
func (p *Position) Seq() uint64 { return p.cursor.seq }

// Done reports whether the pass has come to the end.
func (p *Position) Done() bool { return p.done }

// Open returns how many offers are open.
func (p *Position) Open() int { return p.open }

// Window returns the length of the run of offers from the first open one to the
// last, closed ones among them.
func (p *Position) Window() int { return len(p.offers) }

// Unsaved returns how many stragglers wait to be written.
func (p *Position) Unsaved() int { return len(p.late.changed) }

// Due returns the step of the next pass, once this one is done.
func (p *Position) Due() (Step, bool) {
	next := (p.cursor.at + 1).Within(p.head)
	return next, p.done && next <= p.head
}

// Begin starts the pass of a step. With gapTo at or above the step's version, the
// versions from the step's up to gapTo are no longer kept, and a subscription that
// is offered the step gets one gap for all of them. Open offers of the pass before
// become stragglers.
func (p *Position) Begin(at Step, gapTo uint64) {
	p.expire(func(offer) bool { return true })
	p.cursor, p.done, p.gapTo = cursor{at, 0}, false, gapTo
}

// Turn is what a subscription gets in its turn.
type Turn int

const (
	Nothing Turn = iota // it has the step, or comes to it by itself
	Offered             // the step: [Position.Accept] or [Position.SetBehind] must follow
	Ended               // it begins after the step, as do all behind it: the pass is over
)

// Turn brings the pass to its next subscription, whose first version is from. A
// busy one has a message under way, or was deleted: it gets nothing from the pass.
// One that begins within a gap becomes a straggler, which is to be looked after when
// the pass has ended.
func (p *Position) Turn(seq, from uint64, busy bool) Turn {
	first := FirstStep(from)
	if first > p.cursor.at && from > p.gapTo {
		return Ended
	}
	p.cursor.seq = seq
	next, late := p.late.get(seq)
	switch {
	case busy:
		return Nothing
	case first > p.cursor.at:
		if !late {
			p.late.put(seq, first)
		}
		return Nothing
	case !late:
		return Offered
	}
	switch {
	case next.Within(p.head) == p.cursor.at.Within(p.head):
		p.late.remove(seq)
		return Offered
	case p.merges(seq, next):
		p.late.remove(seq)
	}
	return Nothing
}

// End ends the pass. After a gap it reports true: the next pass begins behind the
// gap, and there may be stragglers that no pass will reach, which began within the
// gap or got a shorter one before a restart.
func (p *Position) End() (jumped bool) {
	p.done = true
	if !p.jumps() {
		return false
	}
	p.expire(func(offer) bool { return true })
	p.cursor, p.gapTo = cursor{VersionStep(p.gapTo), lastSeq}, 0
	for seq, s := range p.late.all {
		if p.merges(seq, s.next) {
			p.late.remove(seq)
		}
	}
	return true
}

// Accept opens an offer: the step of the pass is under way to the subscription whose
// turn it was.
func (p *Position) Accept(seq uint64, now time.Time) {
	p.offers = append(p.offers, offer{seq: seq, since: now})
	p.open++
}

// SetBehind notes that a subscription needs next, which is not under way.
func (p *Position) SetBehind(seq uint64, next Step) {
	p.closeOffer(seq)
	p.late.put(seq, next)
}

// Acknowledge notes that a subscription has everything before next, and reports
// whether it needs more that no pass will offer.
func (p *Position) Acknowledge(seq uint64, next Step) (behind bool) {
	p.closeOffer(seq)
	if p.merges(seq, next) {
		p.late.remove(seq)
		return false
	}
	p.late.put(seq, next)
	return p.Behind(seq)
}

// Remove forgets a subscription that ended.
func (p *Position) Remove(seq uint64) {
	p.closeOffer(seq)
	p.late.remove(seq)
}

// Behind reports whether a subscription is a straggler that no pass will reach.
func (p *Position) Behind(seq uint64) bool {
	next, late := p.late.get(seq)
	return late && next.Within(p.head) < p.usual(seq)
}

// Next returns what a straggler needs next.
func (p *Position) Next(seq uint64) (next Step, straggles bool) { return p.late.get(seq) }

// Stragglers returns the sequence numbers of at most limit stragglers, from seq on,
// sorted.
func (p *Position) Stragglers(seq uint64, limit int) []uint64 { return p.late.from(seq, limit) }

// usual is what a subscription that is no straggler needs next.
func (p *Position) usual(seq uint64) Step {
	if seq <= p.cursor.seq {
		return (p.cursor.at + 1).Within(p.head)
	}
	return p.cursor.at.Within(p.head)
}

// merges reports whether a subscription that needs next needs no entry: the cursor says
// that of it, and a jump of the pass will not say otherwise. Of those that the pass has
// come to, one that has just the step does not have the rest of the gap.
func (p *Position) merges(seq uint64, next Step) bool {
	return next.Within(p.head) == p.usual(seq) && !(p.jumps() && seq <= p.cursor.seq)
}

// jumps reports whether the end of the pass moves the cursor behind a gap.
func (p *Position) jumps() bool { return p.gapTo > p.cursor.at.Version() }

func (p *Position) closeOffer(seq uint64) {
	i, found := slices.BinarySearchFunc(p.offers, seq, func(o offer, seq uint64) int { return cmp.Compare(o.seq, seq) })
	if !found || p.offers[i].closed {
		return
	}
	p.offers[i].closed = true
	p.open--
	p.trim()
}

// trim forgets the closed offers before the first open one.
func (p *Position) trim() {
	n := slices.IndexFunc(p.offers, func(o offer) bool { return !o.closed })
	if n < 0 {
		p.offers = nil
		return
	}
	p.offers = p.offers[n:]
}

// Expire makes stragglers of the subscriptions whose offers have been open since a
// time or longer.
func (p *Position) Expire(since time.Time) {
	p.expire(func(o offer) bool { return !o.since.After(since) })
}

func (p *Position) expire(chosen func(offer) bool) {
	for i, o := range p.offers {
		if !o.closed && chosen(o) {
			p.late.put(o.seq, p.cursor.at)
			p.offers[i].closed = true
			p.open--
		}
	}
	p.trim()
}

// BeginSave returns what the store does not know yet, and whether that is anything.
// The cursor that it saves stands before the first open offer: after a crash that
// subscription is offered the step again. Stragglers are the changed ones; removals
// beyond most wait for a later save. [Position.EndSave] must follow before the
// next.
func (p *Position) BeginSave(most int) (channel.Progress, bool) {
	here := p.cursor
	if len(p.offers) > 0 {
		here.seq = p.offers[0].seq - 1
	}
	var out channel.Progress
	out.Version, out.Seq = here.stored()
	out.Stragglers = p.late.beginSave(most)
	return out, here != p.saved || len(out.Stragglers) > 0
}

// EndSave ends what BeginSave began. Without success the outcome is unknown.
func (p *Position) EndSave(progress channel.Progress, ok bool) {
	if ok {
		p.saved = cursorOf(progress)
	}
	p.late.endSave(progress.Stragglers, ok)
}

// Clean reports whether the store knows all there is.
func (p *Position) Clean() bool {
	return len(p.offers) == 0 && p.saved == p.cursor && len(p.late.changed) == 0
}
