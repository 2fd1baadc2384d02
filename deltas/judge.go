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
// NewSeen are the identities to be remembered beside it.
type Decision struct {
	Verdict Verdict
	State   State
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
//  3. Entries never seen before: published at once.
//  4. Older than the current content: unchanged.
//  5. Suspicious (nothing left, another kind or an error page, most of it gone,
//     entries or lines only taken away, a return to one of the last 16
//     contents): held, and published when a poll begun later shows the same
//     while none showed the current one. Each return published doubles the
//     polls that the next one needs, so that variants settle.
//  6. Another extractor made the current content, or nothing differs but
//     entries that left the window at its old end or came back as they were:
//     rebased.
//  7. Anything else: published.
func Judge(state State, seen []uint64, base *Core, obs Observation) Decision {
	if obs.Core == nil || state.known() && obs.Core.Hash == state.Current {
		return unchanged(state, obs)
	}
	next := obs.Core
	if !state.known() {
		return publish(state, obs, unseen(nil, nil, next))
	}
	if base != nil && base.Hash != state.Current {
		base = nil
	}
	f := examine(state, seen, base, next)
	if len(f.fresh) > 0 {
		return publish(state, obs, f.fresh)
	}
	if late := state.Shown.Sub(obs.Begun); late > 0 && late <= staleAfter {
		return Decision{Verdict: VerdictUnchanged, State: state}
	}
	if f.suspicion != "" {
		if held, ok := hold(state, obs, f); ok {
			return held
		}
	}
	if f.nothingNew || state.Extractor != ExtractorVersion {
		return rebase(state, obs)
	}
	d := publish(state, obs, nil)
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
	return Decision{Verdict: VerdictUnchanged, State: state}
}

func publish(state State, obs Observation, fresh []uint64) Decision {
	return Decision{Verdict: VerdictPublish, State: state.move(obs), NewSeen: fresh}
}

// rebase keeps what is known of returns: a variant that is only rebased has not settled.
func rebase(state State, obs Observation) Decision {
	next := state.move(obs)
	next.Returns = state.Returns
	return Decision{Verdict: VerdictRebase, State: next}
}

// hold makes or counts a candidate. It reports false when the candidate is confirmed.
func hold(state State, obs Observation, f findings) (Decision, bool) {
	need := 2
	if f.returned {
		need <<= state.Returns
	}
	c := Candidate{Hash: obs.Core.Hash, Begun: obs.Begun, Polls: 1}
	if old := state.Candidate; old != nil && old.Hash == c.Hash {
		c = *old
		if obs.Begun.After(c.Begun) {
			c.Begun = obs.Begun
			c.Polls++
		}
		if int(c.Polls) >= need {
			return Decision{}, false
		}
	} else if old != nil && obs.Begun.Before(old.Begun) {
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

func examine(state State, seen []uint64, base, next *Core) findings {
	f := findings{returned: slices.Contains(state.Recent, next.Hash)}
	c := compareEntries(base, next)
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
	case isErrorPage(next) && !isErrorPage(base):
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
	if len(next.ids) == 0 {
		return nil
	}
	known := make(map[uint64]bool, len(seen)+2*len(next.ids))
	for _, id := range seen {
		known[id] = true
	}
	if base != nil {
		for id := range base.index() {
			known[id] = true
		}
	}
	var fresh []uint64
	for i, id := range slices.Backward(next.ids) {
		alias := next.aliasOrID(i)
		if known[id] || known[alias] {
			continue
		}
		fresh = append(fresh, id)
		if alias != id {
			fresh = append(fresh, alias)
		}
	}
	return fresh
}

// onlyRemoves reports a change that takes away and brings nothing, or takes
// away most of what there was.
func onlyRemoves(c comparison, base, next *Core) bool {
	if len(base.Entries) > 0 {
		gone := len(c.withdrawn) + len(c.left)
		return len(c.withdrawn) > 0 && len(c.added)+len(c.changed) == 0 || 2*gone > len(base.Entries)
	}
	is := make(map[string]int)
	for line := range strings.Lines(next.body) {
		is[line]++
	}
	lines, gone := 0, 0
	for line := range strings.Lines(base.body) {
		lines++
		if is[line]--; is[line] < 0 {
			gone++
		}
	}
	added := 0
	for _, n := range is {
		added += max(n, 0)
	}
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
