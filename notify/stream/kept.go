package stream

import (
	"context"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
)

// lostUpdates are updates of a chosen channel that are no longer kept; none if the gap ends
// before it begins.
type lostUpdates struct {
	channel channel.ID
	gap     channel.Gap
}

// readChosen reads a page of the chosen channels of a range alone: others may have lost updates
// that the stream never wanted.
func (s *Stream) readChosen(ctx context.Context, chosen map[channel.ID]uint64, r channel.Range, after, until channel.Cursor, limit int) page {
	var ids []channel.ID
	for id := range chosen {
		if r.Has(id.Bucket()) && !s.silent[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return page{read: until}
	}
	kept, err := s.hub.store.SinceOf(ctx, r, ids, after, limit)
	if err != nil {
		return page{err: fmt.Errorf("read updates of channels: %w", err)}
	}
	p := s.pageOf(kept.Updates, kept.Closed, kept.More, until)
	for _, lost := range kept.Lost {
		if !s.behind.start.has(lost.Cursor()) {
			from := max(chosen[lost.Channel], 2)
			p.lost = append(p.lost, lostUpdates{lost.Channel, channel.Gap{From: from, To: lost.Oldest - 1}})
		}
	}
	return p
}

// reportLost makes a gap event of versions that are no longer kept, unless the
// stream has reported them before.
func (s *Stream) reportLost(id channel.ID, gap channel.Gap) {
	gap.From = max(gap.From, s.lost[id]+1)
	if gap.From > gap.To {
		return
	}
	s.lost[id] = gap.To
	s.notice = append(s.notice, gapEvent(event{channel: id}, gap, payload.ReasonRetention))
}
