package deltas

import (
	"slices"
	"strings"
	"time"
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
	// VerdictRebase: the content takes the place of the current version's,
	// and nobody is told: it differs in nothing that subscribers care for.
	VerdictRebase
)

// String returns "unchanged", "held", "publish" or "rebase".
func (v Verdict) String() string {
	return [...]string{"unchanged", "held", "publish", "rebase"}[min(v, VerdictRebase)]
}

// Observation is what a poll showed.
type Observation struct {
	Begun time.Time // when the poll began
	Core  *Core     // nil: a poll begun then showed the current content
}

// Decision is the judge's answer. State takes the place of the state given;
// NewSeen are the identities to be remembered beside it. Noise is what the
// observation was judged under: its Compare shows what the judge saw.
type Decision struct {
	Verdict Verdict
	State   State
	Noise   Noise
	NewSeen []uint64 // identities, and what stands for them, of the entries never seen before; on VerdictPublish alone
	Reason  string   // of a hold: one of a few constant words, for logs and metrics
}

// staleAfter is how much older than the current content's poll a report may be
// and still be taken for a late one of the content before. What is older comes
// from a clock that is wrong.
const staleAfter = 2 * time.Minute

// Judge decides whether an observation is the channel's next version. It is
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
//  5. Older than the current content: unchanged.
//  6. Suspicious (nothing left, another kind or an error page, most of it gone,
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
func Judge(state State, seen []uint64, base *Core, obs Observation) Decision {
	if obs.Core == nil || state.known() && obs.Core.Hash == state.Current {
		return unchanged(state, obs)
	}
	if base != nil && base.Hash != state.Current {
		base = nil
	}
	state = state.rest(base, obs.Begun)
	d := decide(state, seen, newSight(state.Noise, base, obs))
	d.Noise = state.Noise
	if base != nil && obs.Begun.After(state.Looked) && !wrong(d.Reason) {
		d.State = d.State.learn(base, obs)
	}
	return d
}

// wrong reports the holds that are likely to show another document.
func wrong(reason string) bool {
	return reason == reasonEmpty || reason == reasonKind || reason == reasonError
}

// sight is an observation as the noise lets it be seen.
type sight struct {
	Observation
	face Hash // of the content
	view *Core
	base *Core // may be nil
}

func newSight(noise Noise, base *Core, obs Observation) sight {
	view := noise.view(obs.Core)
	return sight{Observation: obs, face: noise.face(view), view: view, base: noise.view(base)}
}

func decide(state State, seen []uint64, s sight) Decision {
	if !state.known() {
		return publish(state, s, unseen(nil, nil, s.view))
	}
	if s.face == state.Face || s.view.today(s.base, s.Begun) {
		return onlyNoise(state, s)
	}
	f := examine(state, seen, s)
	if len(f.fresh) > 0 {
		return publish(state, s, f.fresh)
	}
	if late := state.Shown.Sub(s.Begun); late > 0 && late <= staleAfter {
		return Decision{Verdict: VerdictUnchanged, State: state}
	}
	if f.suspicion != "" {
		if held, ok := hold(state, s, f); ok {
			return held
		}
	}
	if f.nothingNew || state.Extractor != ExtractorVersion {
		return rebase(state, s)
	}
	d := publish(state, s, nil)
	if f.returned {
		d.State.Returns = min(state.Returns+1, maxReturns)
	}
	return d
}

// unchanged drops a candidate that a later poll contradicts, and notes that this
// extractor makes the current content too.
func unchanged(state State, obs Observation) Decision {
	if obs.Core != nil {
		state.Extractor = ExtractorVersion
	}
	if c := state.Candidate; c != nil && obs.Begun.After(c.Begun) {
		state.Candidate = nil
		state.Shown = later(state.Shown, obs.Begun)
	}
	return Decision{Verdict: VerdictUnchanged, State: state, Noise: state.Noise}
}

// onlyNoise takes what differs from the current content in noise alone for the
// current content, and for a candidate to take its place in silence.
func onlyNoise(state State, s sight) Decision {
	old := state.Candidate
	if state.Extractor != ExtractorVersion || old != nil && old.Hash == s.Core.Hash && s.Begun.After(old.Begun) {
		return rebase(state, s)
	}
	d := unchanged(state, s.Observation)
	if old == nil || s.Begun.After(old.Begun) {
		d.State.Candidate = &Candidate{Hash: s.Core.Hash, Begun: s.Begun, Polls: 1}
	}
	return d
}

func publish(state State, s sight, fresh []uint64) Decision {
	return Decision{Verdict: VerdictPublish, State: state.move(s), NewSeen: fresh}
}

// rebase keeps what is known of returns: a variant that is only rebased has not settled.
func rebase(state State, s sight) Decision {
	next := state.move(s)
	next.Returns = state.Returns
	return Decision{Verdict: VerdictRebase, State: next}
}

// hold makes or counts a candidate. It reports false when the candidate is confirmed.
func hold(state State, s sight, f findings) (Decision, bool) {
	need := 2
	if f.returned {
		need <<= state.Returns
	}
	c := Candidate{Hash: s.face, Begun: s.Begun, Polls: 1}
	if old := state.Candidate; old != nil && old.Hash == c.Hash {
		c = *old
		if s.Begun.After(c.Begun) {
			c.Begun = s.Begun
			c.Polls++
		}
		if int(c.Polls) >= need {
			return Decision{}, false
		}
	} else if old != nil && s.Begun.Before(old.Begun) {
		c = *old // a late report of another content
	}
	state.Candidate = &c
	return Decision{Verdict: VerdictHeld, State: state, Reason: f.suspicion}, true
}

// findings are what speaks for and against an observation.
type findings struct {
	fresh      []uint64 // what is new, see unseen
	suspicion  string   // empty: none
	returned   bool     // to one of the last contents
	nothingNew bool     // to a subscriber
}

// The reasons for a hold.
const (
	reasonEmpty    = "empty"
	reasonKind     = "kind"
	reasonError    = "error page"
	reasonRemoval  = "removal"
	reasonReturned = "return"
)

func examine(state State, seen []uint64, s sight) findings {
	base, next := s.base, s.view
	f := findings{returned: state.returns(s)}
	c := state.Noise.compare(base, next)
	f.fresh = unseen(seen, base, next)
	if len(f.fresh) > 0 {
		return f
	}
	f.nothingNew = base != nil && c.silent(base, next)
	switch {
	case next.Empty() && (base == nil || !base.Empty()):
		f.suspicion = reasonEmpty
	case base == nil:
	case base.Kind != next.Kind:
		f.suspicion = reasonKind
	case isErrorPage(s.Core) && !isErrorPage(base):
		f.suspicion = reasonError
	case onlyRemoves(c, base, next):
		f.suspicion = reasonRemoval
	}
	if f.suspicion == "" && f.returned && !f.nothingNew {
		f.suspicion = reasonReturned
	}
	return f
}

// unseen returns the identities of next's entries that neither seen nor base
// know, by identity or by alias, and their aliases: those of the document's last
// entries first, since what is remembered first is forgotten first.
func unseen(seen []uint64, base, next *Core) []uint64 {
	var before map[uint64]int
	if base != nil {
		before = base.index()
	}
	var fresh []uint64 // of each entry that base has not: identity, alias
	for i, id := range slices.Backward(next.ids) {
		if _, known := before[id]; known {
			continue
		}
		alias := next.aliasOrID(i)
		if _, known := before[alias]; !known {
			fresh = append(fresh, id, alias)
		}
	}
	if fresh == nil {
		return nil
	}
	known := make(map[uint64]bool, len(seen))
	for _, id := range seen {
		known[id] = true
	}
	kept := fresh[:0]
	for pair := range slices.Chunk(fresh, 2) {
		id, alias := pair[0], pair[1]
		if known[id] || known[alias] {
			continue
		}
		if kept = append(kept, id); alias != id {
			kept = append(kept, alias)
		}
	}
	return kept
}

// onlyRemoves reports a change that takes away and brings nothing, or takes
// away most of what there was.
func onlyRemoves(c comparison, base, next *Core) bool {
	if len(base.Entries) > 0 {
		gone := len(c.withdrawn) + len(c.left)
		return len(c.withdrawn) > 0 && len(c.added)+len(c.changed) == 0 || 2*gone > len(base.Entries)
	}
	var t ticks
	less, more := t.differing(base.body, next.body)
	lines, gone, added := strings.Count(base.body, "\n"), len(less), len(more)
	return gone > 0 && added == 0 || 2*gone > lines && 2*added < gone
}

// errorTitles begin, or are, the titles of pages that say the page is not there.
var errorTitles = [...]string{"error", "404", "403", "500", "502", "503", "504", "not found", "page not found", "forbidden",
	"access denied", "bad gateway", "service unavailable", "gateway time-out", "gateway timeout", "internal server error",
	"just a moment", "attention required", "site maintenance", "under maintenance", "down for maintenance", "temporarily unavailable"}

// isErrorPage reports pages whose title says that they are not the page asked for.
func isErrorPage(c *Core) bool {
	if c.Kind != KindHTML {
		return false
	}
	title := strings.ToLower(c.Title)
	for _, t := range errorTitles {
		if rest, ok := strings.CutPrefix(title, t); ok && (rest == "" || strings.IndexByte(" .:,!-|…", rest[0]) >= 0 || rest[0] >= 0x80) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
