package judge

import (
	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Forget returns the state without what has been learned of the channel's noise: what
// is masked and watched, the contents that a return is known by, and how often contents
// alternated. A candidate goes with them, since it is known by its looks beneath the
// masks. What the current content is stays, and when it was looked at.
//
// What has been forgotten is masked again on the evidence that a channel needs which is
// no longer new. Forgetting twice is forgetting once.
func (s State) Forget() State {
	if !s.known() {
		return s
	}
	bare := Noise{Epoch: s.Noise.Epoch, looks: earlyLooks}
	if !bare.sameMasks(s.Noise) {
		bare.Epoch++
		s.Face = content.Hash{} // found out by the next [Decide] that has the content
	}
	s.Noise, s.Recent, s.Flaps, s.Candidate = bare, nil, 0, nil
	return s
}
