package wedge

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// ErrReport says that a report cannot be what a poller has seen. Nothing was judged.
var ErrReport = errors.New("bad report")

// reportServer takes the reports of channels that this node owns, from its own poller and
// from others, and keeps the contents that it saw last.
type reportServer struct {
	self    string // node ID
	primary Primary
	store   Store
	local   *Poller
	bases   *contents
	leads   func(id channel.ID) bool
	tell    func(from string, report *engine.Report, answer engine.Answer) // the channel's other pollers

	tellSpare func(engine.Spare) // the channel's pollers
}

// report judges what a poller has seen, and tells the channel's other pollers what has
// come of it.
func (s *reportServer) report(ctx context.Context, poller string, report engine.Report) (engine.Answer, error) {
	if report.Core != nil && report.Base == nil {
		report.Base = s.lacking(&report)
	}
	answer, err := s.primary.Report(ctx, report)
	if err != nil {
		return answer, err
	}
	if report.Core != nil && answer.Hash == report.Core.Hash && poller != s.self {
		s.bases.add(report.Channel, report.Core, report.Shown)
	}
	s.tell(poller, &report, answer)
	return answer, nil
}

// serve answers what another node's poller has seen. It asks for content only if
// that is not the current version's.
func (s *reportServer) serve(ctx context.Context, bytes []byte) ([]byte, error) {
	m := new(wire.Report)
	if err := proto.Unmarshal(bytes, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReport, err)
	}
	answer, err := s.answer(ctx, m)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}

func (s *reportServer) answer(ctx context.Context, m *wire.Report) (*wire.Answer, error) {
	report := engine.Report{
		Incarnation: m.GetIncarnation(), Begun: agedAt(m.GetBegun()), Known: agedAt(m.GetKnown()),
		BaseVersion: m.GetBaseVersion(), Late: m.GetLate(), Gone: m.GetGone(), Shown: decodeShown(m.GetShown()),
	}
	if len(m.GetChannel()) != len(report.Channel) || report.Begun.IsZero() {
		return nil, fmt.Errorf("%w: no channel, or no time", ErrReport)
	}
	copy(report.Channel[:], m.GetChannel())
	if len(m.GetHash()) > 0 && !report.Gone {
		stale, err := s.stale(&report, m)
		if stale != nil || err != nil {
			return stale, err
		}
		need, err := s.contentOf(&report, m)
		if need != wire.Answer_NOTHING || err != nil {
			return &wire.Answer{Need: need}, err
		}
	}
	answer, err := s.report(ctx, m.GetPoller(), report)
	if err != nil {
		return nil, err
	}
	encoded := &wire.Answer{Version: answer.Version, Hash: answer.Hash[:], Held: answer.Held, Ended: answer.Ended}
	if answer.Current != nil { // another poller was first, meanwhile
		encoded.Content = s.bases.packer.Append(nil, answer.Current)
	}
	return encoded, nil
}

// stale answers a report whose base is not current, with what the poller lacks; nil: the
// base is current, or the report is to be judged for another reason.
func (s *reportServer) stale(report *engine.Report, m *wire.Report) (*wire.Answer, error) {
	ch, err := s.store.Channel(report.Channel)
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
	if answer.Patches = s.patches(report, ch, none); answer.Patches == nil {
		answer.Content = s.content(ch)
	}
	return answer, nil
}

// content returns a channel's current content, packed; nil: the owner does not have it.
func (s *reportServer) content(ch channel.Channel) []byte {
	if kept := s.bases.packed(ch.ID, ch.Hash); kept != nil {
		return kept.data
	}
	if core, err := s.local.engine.Content(ch.ID, ch.Hash); err == nil && core != nil {
		return s.bases.packer.Append(nil, core)
	}
	return nil
}

// patches lead from the version that a poller holds to the current one; nil: they are not
// kept, or have together more bytes than one may have.
func (s *reportServer) patches(report *engine.Report, ch channel.Channel, none bool) (patches [][]byte) {
	if none || report.BaseVersion >= ch.Version || ch.Version-report.BaseVersion > engine.MostPatches {
		return nil
	}
	updates, gap, err := s.store.Updates(ch.ID, report.BaseVersion, engine.MostPatches)
	if err != nil || gap != nil || uint64(len(updates)) != ch.Version-report.BaseVersion {
		return nil
	}
	bytes := 0
	for _, update := range updates {
		if bytes += len(update.Patch); update.Patch == nil || bytes > engine.MaxPatch {
			return nil
		}
		patches = append(patches, update.Patch)
	}
	return patches
}

// contentOf fills in the contents of a report, or says which of them are needed.
func (s *reportServer) contentOf(report *engine.Report, m *wire.Report) (need wire.Answer_Need, err error) {
	hash, err := decodeHash(m.GetHash())
	if err != nil {
		return need, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if len(m.GetBaseHash()) == 0 {
		if m.GetContent() == nil {
			return wire.Answer_CONTENT, nil
		}
		report.Core, err = s.bases.packer.Unpack(m.GetContent())
		return need, checkContent(report.Core, hash, err)
	}
	base, err := decodeHash(m.GetBaseHash())
	if err != nil {
		return need, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if report.Base, err = s.base(report.Channel, base, m.GetBase()); err != nil {
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
func (s *reportServer) base(id channel.ID, hash deltas.Hash, sent []byte) (*deltas.Core, error) {
	if core, err := s.bases.get(id, hash); err == nil && core != nil {
		return core, nil
	}
	if core, err := s.local.engine.Content(id, hash); err == nil && core != nil {
		return core, nil
	}
	if sent == nil {
		return nil, nil
	}
	core, err := s.bases.packer.Unpack(sent)
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

// lacking returns the current content of a channel that a poller polls without it, so that what
// it has seen is judged as a change, too; nil: it is not kept here, or is not what the report is
// about.
func (s *reportServer) lacking(report *engine.Report) *deltas.Core {
	ch, err := s.store.Channel(report.Channel)
	if err != nil || ch.Version == 0 || ch.Version != report.BaseVersion || ch.Incarnation != report.Incarnation {
		return nil
	}
	core, err := s.base(ch.ID, ch.Hash, nil)
	if err != nil {
		return nil
	}
	return core
}

// patch returns what makes the content of a new version of the one before; nil: it is too large,
// and pollers fetch the version.
func (s *reportServer) patch(report *engine.Report, answer engine.Answer) []byte {
	updates, gap, err := s.store.Updates(report.Channel, answer.Version-1, 1)
	if err == nil && gap == nil && len(updates) == 1 && updates[0].Version == answer.Version && updates[0].Patch != nil {
		return updates[0].Patch
	}
	if delta := deltas.MakeDeltaFast(report.Base, report.Core); len(delta) <= engine.MaxPatch {
		return delta
	}
	return nil
}

// held is the current version of a channel that this node owns, if a report of its
// content is kept; else nil.
func (s *reportServer) held(id channel.ID) *wire.News {
	if !s.leads(id) {
		return nil
	}
	kept := s.bases.newest(id)
	if kept == nil {
		return nil
	}
	ch, err := s.store.Channel(id)
	if err != nil || kept.hash != ch.Hash {
		return nil
	}
	m := encodeNews(&engine.News{Channel: id, Incarnation: ch.Incarnation, Version: ch.Version, Hash: ch.Hash, Held: ch.Held, Shown: kept.shown})
	m.Content = kept.data
	return m
}
