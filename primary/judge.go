package primary

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Report judges what a poller saw and commits what follows from it. The answer
// holds only what is durable: a poller that acts on it can lose nothing by a
// crash. An error means that nothing is known; the poller reports again after
// its next poll.
func (o *Owner) Report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	stripe := o.stripe(report.Channel)
	stripe.Lock()
	defer stripe.Unlock()
	answer, err := o.report(ctx, report)
	if errors.Is(err, ownership.ErrStale) {
		// The commit lost against one whose outcome was not known: judge again.
		answer, err = o.report(ctx, report)
	}
	o.metrics.count(err)
	return answer, err
}

// stripe returns the lock of a channel's judgements.
func (o *Owner) stripe(id channel.ID) *sync.Mutex {
	return &o.judging[id.Bucket()]
}

func (o *Owner) report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	t := o.tenureOf(report.Channel)
	if t == nil {
		return engine.Answer{}, fmt.Errorf("channel %s: %w", report.Channel, ErrNotLed)
	}
	ch, err := o.store.Channel(report.Channel)
	if errors.Is(err, channel.ErrNotFound) || err == nil && ch.Incarnation != report.Incarnation {
		return engine.Answer{Ended: true}, nil
	}
	if err != nil {
		return engine.Answer{}, fmt.Errorf("read channel %s: %w", report.Channel, err)
	}
	if report.Gone {
		return o.gone(ctx, t, ch)
	}
	if report.BaseVersion != ch.Version || report.Base != nil && report.Base.Hash != ch.Hash {
		return engine.Answer{Version: ch.Version, Hash: ch.Hash, Current: o.current(ch, report)}, nil
	}
	return o.judge(ctx, t, ch, report)
}

// current makes the current content of what a poller holds of an earlier version
// and the patches since. Nil says that it cannot be made: patches are kept as
// long as their updates, and a rebase or a lost base leaves none.
func (o *Owner) current(ch channel.Channel, report engine.Report) *deltas.Core {
	core := report.Base
	if core == nil || report.BaseVersion >= ch.Version || ch.Version-report.BaseVersion > maxPatches {
		return nil
	}
	updates, gap, err := o.store.Updates(ch.ID, report.BaseVersion, maxPatches)
	if err != nil || gap != nil {
		return nil
	}
	for _, update := range updates {
		if core, err = deltas.ApplyDelta(core, update.Patch); err != nil {
			return nil
		}
	}
	if core.Hash != ch.Hash {
		return nil
	}
	return core
}

// maxPatches bounds the work of bringing one poller up to date.
const maxPatches = 64

// gone ends polling for an origin that answered 410: its subscribers are told
// when the commit is applied.
func (o *Owner) gone(ctx context.Context, t *tenure, ch channel.Channel) (engine.Answer, error) {
	answer := engine.Answer{Version: ch.Version, Hash: ch.Hash, Ended: true}
	if ch.Gone {
		return answer, nil
	}
	commit := unchanged(ch)
	commit.Gone = true
	commit.At = o.config.Now()
	return answer, o.commit(ctx, t, commit)
}

// unchanged is a commit that says of a channel what is so already.
func unchanged(ch channel.Channel) ownership.Commit {
	return ownership.Commit{
		Channel:     ch.ID,
		Incarnation: ch.Incarnation,
		Base:        ch.Version,
		Version:     ch.Version,
		Hash:        ch.Hash,
		Kind:        ch.Kind,
		Judge:       ch.Judge,
		Held:        ch.Held,
		Hold:        ch.Hold,
		Forgotten:   ch.Forgotten,
	}
}

func (o *Owner) judge(ctx context.Context, t *tenure, ch channel.Channel, report engine.Report) (engine.Answer, error) {
	var state deltas.State
	if err := state.UnmarshalBinary(ch.Judge); err != nil {
		return engine.Answer{}, fmt.Errorf("judge's state of channel %s: %w", ch.ID, err)
	}
	seen, err := o.store.Seen(ch.ID)
	if err != nil {
		return engine.Answer{}, fmt.Errorf("identities seen on channel %s: %w", ch.ID, err)
	}
	decision := deltas.Judge(state, seen, report.Base, deltas.Observation{Begun: report.Begun, Late: report.Late, Core: report.Core, Every: o.lookEvery(ch)})
	o.metrics.verdicts.WithLabelValues(decision.Verdict.String()).Inc()
	commit, err := o.commitOf(ch, state, report, decision)
	if err != nil {
		return engine.Answer{}, err
	}
	commit.Learned = learn(ch, state, report, decision)
	if commit.Version == ch.Version && string(commit.Judge) == string(ch.Judge) && commit.Hash == ch.Hash {
		return o.answer(commit, decision), nil
	}
	if err := o.commit(ctx, t, commit); err != nil {
		return engine.Answer{}, fmt.Errorf("commit version %d of channel %s: %w", commit.Version, ch.ID, err)
	}
	return o.answer(commit, decision), nil
}

// lookEvery is the planned time between two polls of a channel by all its pollers; 0
// if it has no rate.
func (o *Owner) lookEvery(ch channel.Channel) time.Duration {
	rate := o.Rate(ch)
	if rate.Polls == 0 {
		return 0
	}
	return o.config.Interval * time.Duration(rate.Intervals) / time.Duration(rate.Polls)
}

func (o *Owner) answer(commit ownership.Commit, decision deltas.Decision) engine.Answer {
	return engine.Answer{
		Version: commit.Version,
		Hash:    commit.Hash,
		Held:    decision.Verdict == deltas.VerdictHeld,
	}
}

// commitOf is what a decision makes durable; before is the judge's state that it was
// made from.
func (o *Owner) commitOf(ch channel.Channel, before deltas.State, report engine.Report, decision deltas.Decision) (ownership.Commit, error) {
	state, err := decision.State.MarshalBinary()
	if err != nil {
		return ownership.Commit{}, fmt.Errorf("judge's state of channel %s: %w", ch.ID, err)
	}
	commit := unchanged(ch)
	commit.Judge, commit.Held = state, decision.State.Candidate != nil
	commit.Hold = nextHold(ch.Hold, before.Candidate, decision, report.Begun)
	commit.Seen = decision.NewSeen
	commit.At = o.config.Now()
	switch decision.Verdict {
	case deltas.VerdictPublish:
		commit.Version++
		publish(&commit, report, decision)
	case deltas.VerdictRebase:
		commit.Hash = report.Core.Hash
		commit.Kind = uint8(report.Core.Kind)
	}
	return commit, nil
}

// nextHold is what is said of the candidate that a decision leaves: what was said
// before, as long as it is the same candidate, and nothing of one that would take the
// current content's place in silence.
func nextHold(known channel.Hold, old *deltas.Candidate, decision deltas.Decision, begun time.Time) channel.Hold {
	waits := decision.State.Candidate
	switch {
	case waits == nil:
		return channel.Hold{}
	case old != nil && (waits.Polls > 1 || waits.Begun.Equal(old.Begun)) && (known != channel.Hold{} || decision.Reason == ""):
		return known
	case decision.Reason == "":
		return channel.Hold{}
	}
	return channel.Hold{Since: begun.UTC().Truncate(time.Microsecond), Reason: decision.Reason}
}

// publish fills in a new version. Version 1 goes to no subscriber, so it has no
// update. A poller without the base gives subscribers the whole content as its
// difference, and other holders of the base nothing to patch it with; nor does a
// patch beyond its cap, which a log entry might not hold.
func publish(commit *ownership.Commit, report engine.Report, decision deltas.Decision) {
	commit.Hash = report.Core.Hash
	commit.Kind = uint8(report.Core.Kind)
	if commit.Version == 1 {
		return
	}
	delta := report.Delta // of another node's poller, which was applied to Base
	if delta == nil {
		delta = deltas.MakeDeltaFast(report.Base, report.Core)
	}
	update := decision.Noise.CompareBy(report.Base, report.Core, delta)
	update.Admit(decision.NewSeen)
	commit.Update = update.Append(nil)
	if report.Base != nil && len(update.Delta) <= maxPatch {
		commit.Patch = update.Delta
	}
}

// maxPatch bounds the bytes of one patch. Large content that changed altogether
// must still become a version.
const maxPatch = 1 << 20
