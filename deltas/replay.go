package deltas

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

// Replay is a channel's history as one poller and its owner would live it: every
// capture is extracted, judged and, if it is an update, compared, coded and
// patched. The zero Replay has seen nothing.
type Replay struct {
	state State
	seen  []uint64
	base  *Core
	looks int // since the last one that was judged
}

// Step is what became of a capture.
type Step struct {
	Verdict Verdict
	Reason  string  // of a hold
	Core    *Core   // what the capture says; nil if Err is set
	Update  *Update // of an update: published, and not the first content
	Err     error   // the capture could not be read
	Patch   error   // the update's delta does not make the new content of the old, or its stored form does not read back
}

// Capture records a document fetched at a time, which must not be before the
// one of the last capture.
func (r *Replay) Capture(doc Document, at time.Time) Step {
	core, err := Extract(doc)
	if err != nil {
		return Step{Err: err}
	}
	d := Judge(r.state, r.seen, r.base, Observation{Begun: at, Core: core, Every: r.every(core, at)})
	step := Step{Verdict: d.Verdict, Reason: d.Reason, Core: core}
	if d.Verdict == VerdictPublish && r.base != nil {
		step.Update = d.Noise.Compare(r.base, core)
		step.Update.Admit(d.NewSeen)
		step.Patch = verify(r.base, core, step.Update)
	}
	r.state = d.State
	r.seen = Remember(r.seen, d.NewSeen)
	if r.state.Current == core.Hash {
		r.base = core
	}
	return step
}

// every returns the time between two looks, by the captures since the last one that
// showed something else than the current content. Histories often leave out captures
// that show what the one before did, so it is half an hour at most.
func (r *Replay) every(core *Core, at time.Time) time.Duration {
	r.looks++
	every := min(at.Sub(r.state.Looked)/time.Duration(r.looks), judge.UsualGap)
	if core.Hash != r.state.Current {
		r.looks = 0
	}
	return max(every, 1)
}

// verify applies an update's delta and reads its stored form.
func verify(base, next *Core, u *Update) error {
	patched, err := ApplyDelta(base, u.Delta)
	if err != nil {
		return err
	}
	if patched.Hash != next.Hash || string(patched.Content()) != string(next.Content()) {
		return fmt.Errorf("%w: patched content differs", ErrCorrupt)
	}
	if _, err := DecodeUpdate(u.Append(nil)); err != nil {
		return err
	}
	return nil
}
