package wedge

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// unasked is up to how many bytes a delta is sent before the owner asks for it: a second
// question costs 245 bytes and more of the processor than they do.
const unasked = 1 << 10

// reporter takes what this node's engine says of channels to their owners, on this node
// or another.
type reporter struct {
	config  Config
	metrics *metrics
	packer  *deltas.Packer
	owner   *Owner                                         // of this node; set before the engine runs
	rangeOf func(id channel.ID) (r channel.Range, ok bool) // of those whose owners order this node
	notes   notes
}

// Report implements [engine.Owner]: it takes a report to the owner of the channel, with
// a small delta or the hash alone, and with what the owner asks for then.
func (r *reporter) Report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	if r.owner.leads(report.Channel) {
		return r.owner.reports.report(ctx, r.config.Self, report)
	}
	question := r.question(&report)
	if report.Base != nil && report.Core != nil {
		if report.Delta = deltas.MakeDeltaFast(report.Base, report.Core); len(report.Delta) <= unasked {
			question.Delta = report.Delta
		}
	}
	for {
		answer, err := r.ask(ctx, report.Channel, question)
		if err != nil {
			return engine.Answer{}, err
		}
		need := answer.GetNeed()
		switch {
		case need == wire.Answer_NOTHING:
			r.metrics.reports.WithLabelValues(sent(question)).Inc()
			return r.answer(&report, answer)
		case need == wire.Answer_CONTENT && question.Delta == nil && question.Content == nil:
			r.addContent(&report, question)
		case need == wire.Answer_CONTENT_AND_BASE && question.Base == nil && report.Base != nil:
			r.addContent(&report, question)
			question.Base = r.packer.Append(nil, report.Base)
		default:
			return engine.Answer{}, fmt.Errorf("report of channel %s: its owner asks for %s again", report.Channel, need)
		}
	}
}

// Moved implements [engine.Owner].
func (r *reporter) Moved(ctx context.Context, move engine.Move) error {
	if r.owner.leads(move.Channel) {
		return r.owner.primary.Moved(ctx, move)
	}
	return r.config.Ask.Move(ctx, move.Channel.Bucket(), move)
}

// question is a report without content.
func (r *reporter) question(report *engine.Report) *wire.Report {
	q := &wire.Report{
		Channel: report.Channel[:], Incarnation: report.Incarnation, Poller: r.config.Self,
		Begun: age(report.Begun), Known: age(report.Known), BaseVersion: report.BaseVersion, Late: report.Late, Gone: report.Gone, Shown: encodeShown(report.Shown),
	}
	if report.Base != nil {
		q.BaseHash = report.Base.Hash[:]
	}
	if report.Core != nil {
		q.Hash = report.Core.Hash[:]
	}
	return q
}

func (r *reporter) addContent(report *engine.Report, question *wire.Report) {
	switch {
	case question.Delta != nil || question.Content != nil:
	case report.Base != nil:
		question.Delta = report.Delta
	default:
		question.Content = r.packer.Append(nil, report.Core)
	}
}

// sent says what a report carried.
func sent(question *wire.Report) string {
	switch {
	case question.Content != nil || question.Base != nil:
		return sentContent
	case question.Delta != nil:
		return sentDelta
	}
	return sentHash
}

// age returns how long ago a time was, in microseconds, at least 1; 0 for the zero time.
func age(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return max(time.Since(at).Microseconds(), 1)
}

// agedAt is the inverse of age, by this node's clock.
func agedAt(age int64) time.Time {
	if age <= 0 {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(age) * time.Microsecond)
}

func (r *reporter) ask(ctx context.Context, id channel.ID, question *wire.Report) (*wire.Answer, error) {
	bytes, err := proto.Marshal(question)
	if err != nil {
		return nil, err
	}
	answered, err := r.config.Ask.Report(ctx, id.Bucket(), bytes)
	r.metrics.count(ofReports, len(bytes)+len(answered))
	if err != nil {
		return nil, fmt.Errorf("report of channel %s: %w", id, err)
	}
	answer := new(wire.Answer)
	if err := proto.Unmarshal(answered, answer); err != nil {
		return nil, fmt.Errorf("report of channel %s: decode answer: %w", id, err)
	}
	return answer, nil
}

// answer makes the content of the current version of what the poller holds, where the
// owner has sent what it lacks.
func (r *reporter) answer(report *engine.Report, m *wire.Answer) (a engine.Answer, err error) {
	a = engine.Answer{Version: m.GetVersion(), Held: m.GetHeld(), Ended: m.GetEnded()}
	if a.Hash, err = decodeHash(m.GetHash()); err != nil {
		return a, fmt.Errorf("report of channel %s: %w", report.Channel, err)
	}
	var core *deltas.Core
	if m.GetContent() != nil {
		core, err = r.packer.Unpack(m.GetContent())
	} else if len(m.GetPatches()) > 0 && report.Base != nil {
		core = report.Base
		for _, patch := range m.GetPatches() {
			if core, err = deltas.ApplyDelta(core, patch); err != nil {
				break
			}
		}
	}
	if err == nil && core != nil && core.Hash == a.Hash {
		a.Current = core
	}
	return a, nil // what cannot be made here is fetched whole
}
