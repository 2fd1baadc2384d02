package judge

import (
	"math"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// State is what the judge remembers of a channel, the identities seen aside,
// which are kept beside it. The zero State is that of a channel without content.
type State struct {
	Extractor uint16 // version of the extractor that made the current content; 0 as long as there is none
	Current   content.Hash
	Face      content.Hash   // of the current content without what Noise masks, see Core.face
	Shown     time.Time      // beginning of the poll that the current content came from
	Looked    time.Time      // beginning of the latest poll that taught Noise anything
	Recent    []content.Hash // the contents before it and, where they are others, their faces, the newest last, at most 16
	Candidate *Candidate     // content that waits for a second poll; nil if there is none
	Stood     bool           // the current content, noise aside, was shown by two polls
	Flaps     uint8          // runs of a single look among recent contents, see [State.flap]
	Noise     Noise          // what of the content means nothing
}

// Candidate is content that waits: suspicious content, or the current one with
// other noise.
type Candidate struct {
	Hash  content.Hash // of what is suspicious, the face
	Begun time.Time    // of the latest poll that showed it
	Polls uint8        // that showed it, each begun after the one before
	Gone  []uint32     // of a removal: digests of what it lacks, sorted, at most maxGone
}

const (
	maxRecent = 16
	maxGone   = 16
	// maxFlaps bounds how many looks a return needs: 16.
	maxFlaps = 8
	// calmFlaps is how many looks in a row at which the same content stands make up
	// for a run of one.
	calmFlaps = 8
)

func (s State) known() bool { return s.Extractor != 0 }

// move returns the state with the observed content as the current one.
func (s State) move(to sight) State {
	next := State{Extractor: content.ExtractorVersion, Current: to.Core.Hash, Face: to.face, Noise: s.Noise, Flaps: s.Flaps, Shown: later(s.Shown, to.Begun), Looked: later(s.Looked, to.Begun)}
	next.Recent = slices.Clone(s.Recent)
	if s.known() && s.Face != next.Face {
		next.remember(s.Current, s.Face)
	}
	next.Recent = slices.DeleteFunc(next.Recent, func(h content.Hash) bool { return h == next.Face || h == next.Current })
	return next
}

// remember takes contents, or their faces, for recent ones.
func (s *State) remember(contents ...content.Hash) {
	for _, h := range contents {
		if !slices.Contains(s.Recent, h) {
			s.Recent = append(s.Recent, h)
		}
	}
	if excess := len(s.Recent) - maxRecent; excess > 0 {
		s.Recent = s.Recent[excess:]
	}
}

// returns reports whether the state has had what a sight shows. Once other things
// are masked, a content is known again by its own hash alone.
func (s State) returns(to sight) bool {
	return slices.Contains(s.Recent, to.face) || slices.Contains(s.Recent, to.Core.Hash)
}

// UsualGap is the time in which a channel is taken to be polled once, where it is not
// said how often it is.
const UsualGap = 30 * time.Minute

// looks returns how many looks there were since the last one that taught anything,
// the observation's included.
func (s State) looks(obs Observation) int {
	every := obs.Every
	if every <= 0 {
		every = UsualGap
	}
	gap := obs.Begun.Sub(s.Looked).Round(every) / every
	return int(min(max(gap, 1), math.MaxUint8))
}

// rest tells the noise of the looks since the last one: had they shown anything
// but the current content, they would have been reported. A nil base tells nothing.
func (s State) rest(base *content.Core, obs Observation) State {
	if base == nil || s.Looked.IsZero() || !obs.Begun.After(s.Looked) {
		return s
	}
	looks := s.looks(obs)
	s.Stood = s.Stood || looks > 1
	s.Flaps -= uint8(min(looks/calmFlaps, int(s.Flaps)))
	return s.learned(s.Noise.rest(looks-1, minutes(obs.Begun)), base)
}

// learn tells the noise what an observation showed where base was current.
func (s State) learn(base *content.Core, obs Observation) State {
	noise := s.Noise.learn(base, obs.Core, minutes(obs.Begun))
	s.Looked = obs.Begun
	if s.Current == obs.Core.Hash {
		base = obs.Core
	}
	waits := s.Candidate
	s = s.learned(noise, base)
	if s.Candidate == nil && waits != nil && waits.Begun.Equal(obs.Begun) {
		c, to := *waits, newSight(noise, base, obs)
		if c.Hash = s.waitsAs(to); len(c.Gone) > 0 {
			c.Gone = lacks(to.base, to.view)
		}
		s.Candidate = &c
	}
	return s
}

// waitsAs returns what a candidate is known by under the state's noise.
func (s State) waitsAs(to sight) content.Hash {
	if to.face != s.Face {
		return to.face
	}
	shows, _ := s.Noise.beneath(to)
	return shows
}

// learned puts noise in the place of the state's; current is the current content.
func (s State) learned(noise Noise, current *content.Core) State {
	if noise.Epoch != s.Noise.Epoch {
		s.Face, s.Candidate = noise.face(noise.view(current)), nil
	}
	s.Noise = noise
	return s
}

// flap records a run of a single look: a content that was known before, and was gone
// at the next look. Where contents alternate within single looks they are variants of
// one, so that a return needs more looks.
func (s State) flap() State {
	s.Flaps = min(s.Flaps+1, maxFlaps)
	return s
}

// patience is how many polls have to show a return. One run of a single look is no
// pattern.
func (s State) patience() uint8 {
	return 2 * max(s.Flaps, 1)
}
