// Package judge decides what a channel's content comes to: unchanged, to be held for
// another look, an update, or a new base without one. It learns what changes without
// meaning anything, remembers entries, and says what an update is to a person. All of
// it is values in, values out; DESIGN.md of package deltas says why the rules are so.
package judge

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Verdict is what an observation is to the channel.
type Verdict uint8

// The verdicts.
const (
	// VerdictUnchanged: the current content still stands, or the observation
	// is older than it.
	VerdictUnchanged Verdict = iota
	// VerdictHeld: suspicious; a later poll must show the same.
	VerdictHeld
	// VerdictPublish: the next version.
	VerdictPublish
	// VerdictRebase: the content takes the place of the current version's
	// without an update: it differs in nothing that subscribers care for.
	VerdictRebase
)

// String returns "unchanged", "held", "publish" or "rebase".
func (v Verdict) String() string {
	return [...]string{"unchanged", "held", "publish", "rebase"}[min(v, VerdictRebase)]
}

// Observation is what a poll showed.
type Observation struct {
	Begun time.Time     // when the poll began
	Late  bool          // it began before the poller knew the current content, which may be newer than Core
	Core  *content.Core // nil: a poll begun then showed the current content
	// Every is the time between two polls, those that show nothing new and are not
	// reported included; 0: half an hour.
	Every time.Duration
}

// Decision is the judge's answer. State takes the place of the state given;
// NewSeen is to be remembered beside it, see [Remember]. Noise is what the
// observation was judged under: its Compare shows what the judge saw.
type Decision struct {
	Verdict Verdict
	State   State
	Noise   Noise
	NewSeen []uint64 // identities that no entry had before, and what else is to be known of entries; nil for what is held or unchanged
	Reason  string   // why something waits to be told: one of a few constant words, see [HoldText]; empty: nothing new does
}

// staleAfter is how much older than the current content's poll a report may be and
// still count as a late one of the content before. An older one comes from a wrong
// clock.
const staleAfter = 2 * time.Minute

// Decide decides whether an observation is the channel's next version. It is
// pure: the same arguments give the same decision on every node.
//
// seen are the identities reported before, in any order; base is the current
// version's content, nil if the caller has it not. The rules, the first that
// applies:
//
//  1. The current content: unchanged; a candidate begun before is dropped.
//  2. The first content ever: published, as version 1.
//  3. The current content but for noise: as 1; rebased when a poll begun later
//     shows the same, so that pollers need not fetch what has settled.
//  4. Entries never seen before: published at once.
//  5. Older than the current content, or perhaps older: unchanged.
//  6. Suspicious (nothing left, another kind, nothing of it or most of it gone,
//     entries or lines only taken away, a return to one of the last
//     contents, 8 at least): held, and published when a poll begun later shows the same
//     while none showed the current one. Each return published doubles the
//     polls that the next one needs, so that variants settle.
//  7. Another extractor made the current content, or nothing differs but
//     entries that left the window at its old end or came back as they were:
//     rebased.
//  8. Anything else: published.
//
// What the state's noise masks is not looked at. Every observation teaches it
// that is not late nor likely another document; without base nothing is learned.
func Decide(state State, seen []uint64, base *content.Core, obs Observation) Decision {
	if obs.Core == nil || state.known() && obs.Core.Hash == state.Current {
		return unchanged(state, obs)
	}
	if base != nil && base.Hash != state.Current {
		base = nil
	}
	state = state.rest(base, obs)
	s := newSight(state.Noise, base, obs)
	if state.Face == (content.Hash{}) && base != nil {
		state.Face = state.Noise.face(s.base) // of an older version's state
	}
	d := weigh(state, seen, s)
	d.Noise = state.Noise
	if base != nil && obs.Begun.After(state.Looked) && !wrong(d.Reason) {
		d.State = d.State.learn(base, obs)
	}
	return d
}

// wrong reports the reasons of holds whose observation is likely another document.
func wrong(reason string) bool {
	return reason == reasonEmpty || reason == reasonKind || reason == reasonOther
}

// sight is an observation as seen under the noise: its views without what is masked.
type sight struct {
	Observation
	face content.Hash // of the content
	view *content.Core
	base *content.Core // its view; may be nil
	all  *content.Core // base itself
}

func newSight(noise Noise, base *content.Core, obs Observation) sight {
	view := noise.view(obs.Core)
	return sight{Observation: obs, face: noise.face(view), view: view, base: noise.view(base), all: base}
}

func weigh(state State, seen []uint64, s sight) Decision {
	if !state.known() {
		return publish(state, s, examine(state, nil, s))
	}
	if s.face == state.Face {
		return onlyNoise(state, s)
	}
	f := examine(state, seen, s)
	if len(f.fresh) > 0 {
		return publish(state, s, f)
	}
	if late := state.Shown.Sub(s.Begun); s.Late || late > 0 && late <= staleAfter {
		return Decision{Verdict: VerdictUnchanged, State: state}
	}
	if f.suspicion != "" {
		if held, ok := hold(state, s, f); ok {
			return held
		}
	}
	if f.nothingNew || state.Extractor != content.ExtractorVersion {
		return rebase(state, s, f)
	}
	d := publish(state, s, f)
	d.State.Stood = f.suspicion != ""
	if !f.returned {
		d.State.Flaps -= min(d.State.Flaps, 1)
	}
	return d
}

// unchanged drops a candidate that a later poll contradicts, and notes that this
// extractor makes the current content too.
func unchanged(state State, obs Observation) Decision {
	if obs.Core != nil {
		state.Extractor = content.ExtractorVersion
	}
	if c := state.Candidate; c != nil && obs.Begun.After(c.Begun) {
		if c.Polls == 1 && slices.Contains(state.Recent, c.Hash) { // back to a former content for one look
			state = state.flap()
		}
		state.Candidate = nil
		state.Shown = later(state.Shown, obs.Begun)
	}
	return Decision{Verdict: VerdictUnchanged, State: state, Noise: state.Noise}
}

// onlyNoise judges what differs from the current content in noise alone: unchanged, and
// a candidate for a rebase. Where a young mask hides the difference it is a candidate for
// an update: a number that has changed at a few looks in a row and then stands is told.
func onlyNoise(state State, s sight) Decision {
	if state.Extractor != content.ExtractorVersion {
		return rebase(state, s, findings{})
	}
	state.Stood = state.Stood || s.Begun.After(state.Shown)
	shows, news := state.Noise.beneath(s)
	c := Candidate{Hash: shows, Begun: s.Begun, Polls: 1}
	switch old := state.Candidate; {
	case old == nil:
	case !s.Begun.After(old.Begun):
		return unchanged(state, s.Observation)
	case old.Hash == shows: // shown again: no run of a single look that unchanged would count
		c.Polls = min(old.Polls, math.MaxUint8-1) + 1
		state.Candidate, state.Shown = nil, later(state.Shown, s.Begun)
	}
	need := uint8(2)
	if news && slices.Contains(state.Recent, s.Core.Hash) {
		need = state.patience()
	}
	switch {
	case c.Polls < need:
		d := unchanged(state, s.Observation)
		d.State.Candidate = &c
		if news {
			d.Reason = reasonSettling
		}
		return d
	case news:
		d := publish(state, s, findings{})
		d.State.remember(state.Current)
		d.State.Stood = true
		return d
	}
	return rebase(state, s, findings{})
}

func publish(state State, s sight, f findings) Decision {
	return Decision{Verdict: VerdictPublish, State: state.move(s), NewSeen: slices.Concat(f.departed, f.back, f.fresh, f.paired)}
}

func rebase(state State, s sight, f findings) Decision {
	return Decision{Verdict: VerdictRebase, State: state.move(s), NewSeen: f.departed}
}

// hold makes or counts a candidate. It reports false when the candidate is confirmed.
func hold(state State, s sight, f findings) (Decision, bool) {
	old := state.Candidate
	c := Candidate{Hash: s.face, Begun: s.Begun, Polls: 1, Gone: f.gone}
	switch {
	case old == nil:
		if f.returned && !state.Stood {
			state = state.flap()
		}
	case !s.Begun.After(old.Begun):
		return Decision{Verdict: VerdictHeld, State: state, Reason: f.suspicion}, true // a late report, or one again
	case f.returned:
		if old.Hash != c.Hash {
			if slices.Contains(state.Recent, old.Hash) {
				state = state.flap()
			}
			break
		}
		if c.Polls = min(old.Polls, math.MaxUint8-1) + 1; c.Polls >= state.patience() {
			return Decision{}, false
		}
	case stillGone(old.Gone, s.view):
		return Decision{}, false
	}
	state.Candidate = &c
	return Decision{Verdict: VerdictHeld, State: state, Reason: f.suspicion}, true
}

// findings are what speaks for and against an observation.
type findings struct {
	fresh      []uint64 // what is new, see memory.unseen
	paired     []uint64 // what has changed, and has another identity since
	back       []uint64 // what was known, and comes back saying something else, see memory.returned
	departed   []uint64 // what is gone
	suspicion  string   // empty: none
	returned   bool     // to one of the last contents
	gone       []uint32 // of a removal, see Candidate.Gone
	nothingNew bool     // to a subscriber
}

// The reasons for a hold.
const (
	reasonEmpty    = "empty"
	reasonKind     = "kind"
	reasonOther    = "another document"
	reasonRemoval  = "removal"
	reasonReturned = "return"
	reasonSettling = "settling" // what differs beneath a young mask
)

func examine(state State, seen []uint64, s sight) findings {
	base, next := s.base, s.view
	f := findings{returned: state.returns(s)}
	c := state.Noise.compare(base, next)
	m := recall(seen, base, next, &c)
	f.fresh, f.paired = m.unseen(next, c.added), m.unseen(next, c.paired)
	if base != nil {
		f.back = m.returned(next, c.added)
		if state.Extractor == content.ExtractorVersion {
			f.departed = m.departed(base, slices.Concat(c.left, c.withdrawn))
		}
	}
	if len(f.fresh) > 0 {
		return f
	}
	f.nothingNew = base != nil && len(f.back) == 0 && c.silent(base, next)
	switch {
	case len(f.back) > 0:
	case next.Empty() && (base == nil || !base.Empty()):
		f.suspicion = reasonEmpty
	case base == nil:
	case base.Kind != next.Kind:
		f.suspicion = reasonKind
	case nothingStays(base, next):
		f.suspicion = reasonOther
	case onlyRemoves(c, base, next):
		f.suspicion = reasonRemoval
	}
	if f.suspicion != "" {
		f.gone = lacks(base, next)
	}
	if f.suspicion == "" && f.returned && !f.nothingNew {
		f.suspicion = reasonReturned
	}
	return f
}

// nothingStays reports a page that shares neither its title nor a line with base, as
// error pages do; never with an empty base.
func nothingStays(base, next *content.Core) bool {
	if next.Kind != content.KindHTML || base.Title == next.Title || base.Empty() {
		return false
	}
	var t ticks
	gone, _ := t.differing(base.Body(), next.Body())
	return len(gone) == strings.Count(base.Body(), "\n")
}

// onlyRemoves reports a change that takes away and brings nothing, or takes
// away most of what there was.
func onlyRemoves(c comparison, base, next *content.Core) bool {
	if len(base.Entries) > 0 && len(next.Entries) == 0 {
		return true
	}
	if len(base.Entries)+len(next.Entries) > 0 {
		gone := len(c.withdrawn) + len(c.left)
		return len(c.withdrawn) > 0 && len(c.added)+len(c.changed) == 0 || 2*gone > len(base.Entries)
	}
	var t ticks
	less, more := t.differing(base.Body(), next.Body())
	lines, gone, added := strings.Count(base.Body(), "\n"), len(less), len(more)
	return gone > 0 && added == 0 || 2*gone > lines && 2*added < gone
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
