package judge

import "time"

// rhythm is how one place of a content has changed: the evidence that it changes
// by itself and means nothing. What changes at look after look is noise; what stood
// for two looks between its changes is news, however often it changes.
type rhythm struct {
	score   uint8  // evidence of noise, at most mostScore; 0: none
	still   uint8  // looks since the last change, at most mostStill
	masked  bool   // changes are not news
	changed uint32 // minutes since 1970: the beginning of the look that showed the last change
}

const (
	// mostScore is the highest score, in half hours of calm that end a mask: a
	// day, so that a counter that rests at night is not learned again each morning.
	mostScore = 48
	// mostStill bounds what one calm time takes from a score: a night of many
	// looks says no more than an hour of few.
	mostStill = 4
	halfHour  = 30 // minutes
)

// policy is how much evidence a kind of place needs.
type policy struct {
	again  uint8 // score of a change at the look after a change
	mask   uint8 // score from which it is masked; until it is 0 again
	early  uint8 // the same at the first looks at a channel
	byTime bool  // calm for as many half hours as the score says ends the mask
}

// tick counts a change seen by a look begun at a time.
func (r *rhythm) tick(p policy, at uint32) {
	switch {
	case r.score == 0:
		r.score = 1
	case r.still == 0:
		r.score = min(r.score+p.again, mostScore)
	}
	r.still, r.changed = 0, at
}

// rest counts looks without a change.
func (r *rhythm) rest(p policy, looks int) {
	still := uint8(min(int(r.still)+looks, mostStill))
	loss := still - r.still
	if !p.byTime {
		loss = uint8(min(looks, mostScore))
	}
	r.score -= min(loss, r.score)
	r.still = still
}

// settle decides at a time whether the place is masked.
func (r *rhythm) settle(p policy, at uint32, early bool) {
	if calm := at - r.changed; p.byTime && r.still > 0 && at > r.changed && calm >= uint32(r.score)*halfHour {
		r.score = 0
	}
	need := p.mask
	if early {
		need = p.early
	}
	r.masked = r.score > 0 && (r.masked || r.score >= need)
}

// minutes is the form in which a rhythm keeps times.
func minutes(t time.Time) uint32 {
	return uint32(min(max(t.Unix()/60, 0), 1<<32-1))
}
