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
	"github.com/seed-91e7e7c1/corona/internal/part"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// ErrNotLed says that another node leads the range of a channel, or none does: nothing
// is judged or committed here, and the poller keeps nothing of its poll.
var ErrNotLed = errors.New("this node does not lead the channel's range")

// judge decides on what pollers report of channels that this node owns, one report at a
// time per bucket, and commits what it has decided.
type judge struct {
	config  Config
	store   Store
	metrics *metrics
	book    *book
	stripes [channel.Buckets]sync.Mutex // by bucket: ranges share none
}

// Report judges what a poller saw and commits what follows from it. The answer
// holds only what is durable: a poller that acts on it can lose nothing by a
// crash. An error means that nothing is known; the poller reports again after
// its next poll.
func (j *judge) Report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	stripe := j.stripe(report.Channel)
	stripe.Lock()
	defer stripe.Unlock()
	var answer engine.Answer
	var err error
	part.Do(ctx, part.Judge, func(ctx context.Context) {
		answer, err = j.report(ctx, report)
		if errors.Is(err, ownership.ErrStale) {
			// The commit lost against one whose outcome was not known: judge again.
			answer, err = j.report(ctx, report)
		}
	})
	j.metrics.count(err)
	return answer, err
}

// stripe returns the lock of a channel's judgements.
func (j *judge) stripe(id channel.ID) *sync.Mutex {
	return &j.stripes[id.Bucket()]
}

func (j *judge) report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	t := j.book.tenureOf(report.Channel)
	if t == nil {
		return engine.Answer{}, fmt.Errorf("channel %s: %w", report.Channel, ErrNotLed)
	}
	ch, err := j.store.Channel(report.Channel)
	if errors.Is(err, channel.ErrNotFound) || err == nil && ch.Incarnation != report.Incarnation {
		return engine.Answer{Ended: true}, nil
	}
	if err != nil {
		return engine.Answer{}, fmt.Errorf("read channel %s: %w", report.Channel, err)
	}
	if report.Gone {
		return j.gone(ctx, t, ch)
	}
	if report.BaseVersion != ch.Version || report.Base != nil && report.Base.Hash != ch.Hash {
		return engine.Answer{Version: ch.Version, Hash: ch.Hash, Held: ch.Held, Current: j.current(ch, report)}, nil
	}
	return j.decide(ctx, t, ch, report)
}

// current makes the current content of what a poller holds of an earlier version
// and the patches since. Nil says that it cannot be made: patches are kept as
// long as their updates, and a rebase or a lost base leaves none.
func (j *judge) current(ch channel.Channel, report engine.Report) *deltas.Core {
	core := report.Base
	if core == nil || report.BaseVersion >= ch.Version || ch.Version-report.BaseVersion > engine.MostPatches {
		return nil
	}
	updates, gap, err := j.store.Updates(ch.ID, report.BaseVersion, engine.MostPatches)
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

// gone ends polling for an origin that answered 410: its subscribers are told
// when the commit is applied.
func (j *judge) gone(ctx context.Context, t *tenure, ch channel.Channel) (engine.Answer, error) {
	answer := engine.Answer{Version: ch.Version, Hash: ch.Hash, Ended: true}
	if ch.Gone {
		return answer, nil
	}
	commit := unchanged(ch)
	commit.Gone = true
	commit.At = j.config.Now()
	return answer, j.commit(ctx, t, commit)
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

func (j *judge) decide(ctx context.Context, t *tenure, ch channel.Channel, report engine.Report) (engine.Answer, error) {
	var state deltas.State
	if err := state.UnmarshalBinary(ch.Judge); err != nil {
		return engine.Answer{}, fmt.Errorf("judge's state of channel %s: %w", ch.ID, err)
	}
	seen, err := j.store.Seen(ch.ID)
	if err != nil {
		return engine.Answer{}, fmt.Errorf("identities seen on channel %s: %w", ch.ID, err)
	}
	decision := deltas.Judge(state, seen, report.Base, deltas.Observation{Begun: report.Begun, Late: report.Late, Core: report.Core, Every: j.lookEvery(ch)})
	j.metrics.verdicts.WithLabelValues(decision.Verdict.String()).Inc()
	commit, err := j.commitOf(ch, state, report, decision)
	if err != nil {
		return engine.Answer{}, err
	}
	commit.Learned = learn(ch, state, report, decision)
	if commit.Version == ch.Version && string(commit.Judge) == string(ch.Judge) && commit.Hash == ch.Hash {
		return answerOf(commit), nil
	}
	if err := j.commit(ctx, t, commit); err != nil {
		return engine.Answer{}, fmt.Errorf("commit version %d of channel %s: %w", commit.Version, ch.ID, err)
	}
	return answerOf(commit), nil
}

// commit commits what was decided in a tenure from what was read in it.
func (j *judge) commit(ctx context.Context, t *tenure, c ownership.Commit) error {
	if j.book.tenureOf(c.Channel) != t {
		return fmt.Errorf("channel %s: %w", c.Channel, ErrNotLed)
	}
	return j.store.Commit(ctx, c)
}

// lookEvery is the planned time between two polls of a channel by all its pollers; 0
// if it has no rate.
func (j *judge) lookEvery(ch channel.Channel) time.Duration {
	rate := j.book.rate(ch)
	if rate.Polls == 0 {
		return 0
	}
	return j.config.Interval * time.Duration(rate.Intervals) / time.Duration(rate.Polls)
}

func answerOf(commit ownership.Commit) engine.Answer {
	return engine.Answer{Version: commit.Version, Hash: commit.Hash, Held: commit.Held}
}

// commitOf is what a decision makes durable; before is the judge's state that it was
// made from.
func (j *judge) commitOf(ch channel.Channel, before deltas.State, report engine.Report, decision deltas.Decision) (ownership.Commit, error) {
	state, err := decision.State.MarshalBinary()
	if err != nil {
		return ownership.Commit{}, fmt.Errorf("judge's state of channel %s: %w", ch.ID, err)
	}
	commit := unchanged(ch)
	commit.Judge, commit.Held = state, decision.State.Candidate != nil
	commit.Hold = nextHold(ch.Hold, before.Candidate, decision, report.Begun)
	commit.Seen = decision.NewSeen
	commit.At = j.config.Now()
	switch decision.Verdict {
	case deltas.VerdictPublish:
		commit.Version++
		j.publish(&commit, report, decision)
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
//
// A node that is the only one to poll makes no delta and so no patch: its own cache has the
// content before the version is committed.
func (j *judge) publish(commit *ownership.Commit, report engine.Report, decision deltas.Decision) {
	commit.Hash = report.Core.Hash
	commit.Kind = uint8(report.Core.Kind)
	if commit.Version == 1 {
		return
	}
	delta := report.Delta // of another node's poller, which was applied to Base
	if delta == nil && j.config.pollers() > 1 {
		delta = deltas.MakeDeltaFast(report.Base, report.Core)
	}
	update := decision.Noise.CompareBy(report.Base, report.Core, delta)
	update.Admit(decision.NewSeen)
	commit.Update = update.Append(nil)
	if report.Base != nil && update.Delta != nil && len(update.Delta) <= engine.MaxPatch {
		commit.Patch = update.Delta
	}
}
