package wedge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// ErrReport says that a report cannot be what a poller has seen. Nothing was judged.
var ErrReport = errors.New("bad report")

// unasked is up to how many bytes a delta is sent before the owner asks for it: a second
// question costs 245 bytes and more of the processor than they do.
const unasked = 1 << 10

// Report implements [engine.Owner]: it takes a report to the owner of the channel, with
// a small delta or the hash alone, and with what the owner asks for then.
func (p *Poller) Report(ctx context.Context, report engine.Report) (engine.Answer, error) {
	if p.owner.leads(report.Channel) {
		return p.owner.report(ctx, p.config.Self, report)
	}
	question := p.question(&report)
	if report.Base != nil && report.Core != nil {
		if report.Delta = deltas.MakeDeltaFast(report.Base, report.Core); len(report.Delta) <= unasked {
			question.Delta = report.Delta
		}
	}
	for {
		answer, err := p.ask(ctx, report.Channel, question)
		if err != nil {
			return engine.Answer{}, err
		}
		need := answer.GetNeed()
		switch {
		case need == wire.Answer_NOTHING:
			p.metrics.reports.WithLabelValues(sent(question)).Inc()
			return p.answer(&report, answer)
		case need == wire.Answer_CONTENT && question.Delta == nil && question.Content == nil:
			p.addContent(&report, question)
		case need == wire.Answer_CONTENT_AND_BASE && question.Base == nil && report.Base != nil:
			p.addContent(&report, question)
			question.Base = p.owner.bases.packer.Append(nil, report.Base)
		default:
			return engine.Answer{}, fmt.Errorf("report of channel %s: its owner asks for %s again", report.Channel, need)
		}
	}
}

// Moved implements [engine.Owner].
func (p *Poller) Moved(ctx context.Context, move engine.Move) error {
	if p.owner.leads(move.Channel) {
		return p.owner.primary.Moved(ctx, move)
	}
	return p.config.Ask.Move(ctx, move.Channel.Bucket(), move)
}

// question is a report without content.
func (p *Poller) question(report *engine.Report) *wire.Report {
	q := &wire.Report{
		Channel: report.Channel[:], Incarnation: report.Incarnation, Poller: p.config.Self,
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

func (p *Poller) addContent(report *engine.Report, question *wire.Report) {
	switch {
	case question.Delta != nil || question.Content != nil:
	case report.Base != nil:
		question.Delta = report.Delta
	default:
		question.Content = p.owner.bases.packer.Append(nil, report.Core)
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

func (p *Poller) ask(ctx context.Context, id channel.ID, question *wire.Report) (*wire.Answer, error) {
	bytes, err := proto.Marshal(question)
	if err != nil {
		return nil, err
	}
	answered, err := p.config.Ask.Report(ctx, id.Bucket(), bytes)
	p.metrics.count(ofReports, len(bytes)+len(answered))
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
func (p *Poller) answer(report *engine.Report, m *wire.Answer) (a engine.Answer, err error) {
	a = engine.Answer{Version: m.GetVersion(), Held: m.GetHeld(), Ended: m.GetEnded()}
	if a.Hash, err = decodeHash(m.GetHash()); err != nil {
		return a, fmt.Errorf("report of channel %s: %w", report.Channel, err)
	}
	var core *deltas.Core
	if m.GetContent() != nil {
		core, err = p.owner.bases.packer.Unpack(m.GetContent())
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

// report judges what a poller has seen, and tells the channel's other pollers what has
// come of it.
func (o *Owner) report(ctx context.Context, poller string, report engine.Report) (engine.Answer, error) {
	answer, err := o.primary.Report(ctx, report)
	if err != nil {
		return answer, err
	}
	if report.Core != nil && answer.Hash == report.Core.Hash && poller != o.config.Self {
		o.bases.add(report.Channel, report.Core, report.Shown)
	}
	o.tell(poller, &report, answer)
	return answer, nil
}

// ServeReport answers what another node's poller has seen. It asks for content only if
// that is not the current version's.
func (o *Owner) ServeReport(ctx context.Context, bytes []byte) ([]byte, error) {
	m := new(wire.Report)
	if err := proto.Unmarshal(bytes, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReport, err)
	}
	answer, err := o.serveReport(ctx, m)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}

func (o *Owner) serveReport(ctx context.Context, m *wire.Report) (*wire.Answer, error) {
	report := engine.Report{
		Incarnation: m.GetIncarnation(), Begun: agedAt(m.GetBegun()), Known: agedAt(m.GetKnown()),
		BaseVersion: m.GetBaseVersion(), Late: m.GetLate(), Gone: m.GetGone(), Shown: decodeShown(m.GetShown()),
	}
	if len(m.GetChannel()) != len(report.Channel) || report.Begun.IsZero() {
		return nil, fmt.Errorf("%w: no channel, or no time", ErrReport)
	}
	copy(report.Channel[:], m.GetChannel())
	if len(m.GetHash()) > 0 && !report.Gone {
		stale, err := o.stale(&report, m)
		if stale != nil || err != nil {
			return stale, err
		}
		need, err := o.contentOf(&report, m)
		if need != wire.Answer_NOTHING || err != nil {
			return &wire.Answer{Need: need}, err
		}
	}
	answer, err := o.report(ctx, m.GetPoller(), report)
	if err != nil {
		return nil, err
	}
	encoded := &wire.Answer{Version: answer.Version, Hash: answer.Hash[:], Held: answer.Held, Ended: answer.Ended}
	if answer.Current != nil { // another poller was first, meanwhile
		encoded.Content = o.bases.packer.Append(nil, answer.Current)
	}
	return encoded, nil
}

// mostPatches bounds how many versions a poller is brought forward by patches.
const mostPatches = 64

// stale answers a report whose base is not current, with what the poller lacks; nil: the
// base is current, or the report is to be judged for another reason.
func (o *Owner) stale(report *engine.Report, m *wire.Report) (*wire.Answer, error) {
	ch, err := o.store.Channel(report.Channel)
	if errors.Is(err, channel.ErrNotFound) || err == nil && ch.Incarnation != report.Incarnation {
		return &wire.Answer{Ended: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read channel %s: %w", report.Channel, err)
	}
	base, err := decodeHash(m.GetBaseHash())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReport, err)
	}
	none := len(m.GetBaseHash()) == 0
	if report.BaseVersion == ch.Version && (none || base == ch.Hash) {
		return nil, nil
	}
	answer := &wire.Answer{Version: ch.Version, Hash: ch.Hash[:], Held: ch.Held}
	if hash, err := decodeHash(m.GetHash()); err != nil || hash == ch.Hash {
		return answer, err // it has seen the current version itself
	}
	if answer.Patches = o.patches(report, ch, none); answer.Patches == nil {
		answer.Content = o.content(ch)
	}
	return answer, nil
}

// content returns a channel's current content, packed; nil: the owner does not have it.
func (o *Owner) content(ch channel.Channel) []byte {
	if kept := o.bases.packed(ch.ID, ch.Hash); kept != nil {
		return kept.data
	}
	if core, err := o.local.engine.Content(ch.ID, ch.Hash); err == nil && core != nil {
		return o.bases.packer.Append(nil, core)
	}
	return nil
}

// patches lead from the version that a poller holds to the current one; nil: they are not
// kept.
func (o *Owner) patches(report *engine.Report, ch channel.Channel, none bool) (patches [][]byte) {
	if none || report.BaseVersion >= ch.Version || ch.Version-report.BaseVersion > mostPatches {
		return nil
	}
	updates, gap, err := o.store.Updates(ch.ID, report.BaseVersion, mostPatches)
	if err != nil || gap != nil || uint64(len(updates)) != ch.Version-report.BaseVersion {
		return nil
	}
	for _, update := range updates {
		if update.Patch == nil {
			return nil
		}
		patches = append(patches, update.Patch)
	}
	return patches
}

// contentOf fills in the contents of a report, or says which of them are needed.
func (o *Owner) contentOf(report *engine.Report, m *wire.Report) (need wire.Answer_Need, err error) {
	hash, err := decodeHash(m.GetHash())
	if err != nil {
		return need, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if len(m.GetBaseHash()) == 0 {
		if m.GetContent() == nil {
			return wire.Answer_CONTENT, nil
		}
		report.Core, err = o.bases.packer.Unpack(m.GetContent())
		return need, checkContent(report.Core, hash, err)
	}
	base, err := decodeHash(m.GetBaseHash())
	if err != nil {
		return need, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if report.Base, err = o.base(report.Channel, base, m.GetBase()); err != nil {
		return need, err
	}
	switch {
	case report.Base == nil:
		return wire.Answer_CONTENT_AND_BASE, nil
	case m.GetDelta() == nil:
		return wire.Answer_CONTENT, nil
	}
	report.Delta = m.GetDelta()
	report.Core, err = deltas.ApplyDelta(report.Base, report.Delta)
	return need, checkContent(report.Core, hash, err)
}

// base returns the content that a report is a change of: what the owner has, or else what
// came with the report; nil: neither.
func (o *Owner) base(id channel.ID, hash deltas.Hash, sent []byte) (*deltas.Core, error) {
	if core, err := o.bases.get(id, hash); err == nil && core != nil {
		return core, nil
	}
	if core, err := o.local.engine.Content(id, hash); err == nil && core != nil {
		return core, nil
	}
	if sent == nil {
		return nil, nil
	}
	core, err := o.bases.packer.Unpack(sent)
	return core, checkContent(core, hash, err)
}

func checkContent(core *deltas.Core, hash deltas.Hash, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w: content: %w", ErrReport, err)
	case core.Hash != hash:
		return fmt.Errorf("%w: content is %s, not %s", ErrReport, core.Hash, hash)
	}
	return nil
}
