package ownership

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// SinceOf is [Store.Since] of chosen channels of a range, each of which is named once. It says
// which of them have lost updates behind the cursor, and knows no ErrTooOld.
func (s *Store) SinceOf(ctx context.Context, of channel.Range, chosen []channel.ID, after channel.Cursor, limit int) (channel.Kept, error) {
	// A node that does not know Chosen has nothing behind such an After, and tells what is closed.
	q := sinceQuery{After: channel.EndOf(math.MaxUint64), Limit: limit, Form: formProto, Chosen: chosen, Behind: after}
	page, err := s.since(ctx, of, q)
	if err == nil && !page.Chosen {
		return s.View().sinceEach(context.WithoutCancel(ctx), chosen, after, page.Closed, limit)
	}
	return page.Kept, err
}

// sinceEach asks a node that does not know Chosen, about one channel after the other: calls that
// are made after it has told what is closed see all of that.
func (v View) sinceEach(ctx context.Context, chosen []channel.ID, after channel.Cursor, closed uint64, limit int) (channel.Kept, error) {
	kept := channel.Kept{Closed: closed}
	for _, id := range chosen {
		ch, err := v.Channel(ctx, id)
		if errors.Is(err, channel.ErrNotFound) {
			continue
		}
		if err != nil {
			return kept, err
		}
		if lost := (channel.Lost{Channel: id, Oldest: ch.Oldest, Stamp: ch.TrimmedStamp}); lost.Stamp > 0 && after.Less(lost.Cursor()) {
			kept.Lost = append(kept.Lost, lost)
		}
		updates, err := v.updatesBehind(ctx, id, after, limit+1)
		if err != nil {
			return kept, err
		}
		if gone := (channel.Update{Channel: id, URL: ch.URL, Incarnation: ch.Incarnation, Version: ch.Version, Stamp: ch.GoneStamp, Gone: true}); gone.Stamp > 0 && after.Less(gone.Cursor()) {
			updates = append(updates, gone)
		}
		kept.Updates = append(kept.Updates, slices.DeleteFunc(updates, func(u channel.Update) bool { return u.Stamp > closed })...)
		slices.SortFunc(kept.Updates, func(a, b channel.Update) int { return a.Cursor().Compare(b.Cursor()) })
		kept.More = kept.More || len(kept.Updates) > limit
		kept.Updates = kept.Updates[:min(len(kept.Updates), limit)]
	}
	return kept, nil
}

// updatesBehind returns up to limit of a channel's updates behind a cursor, without patches.
func (v View) updatesBehind(ctx context.Context, id channel.ID, after channel.Cursor, limit int) (found []channel.Update, err error) {
	const page = 64
	for at := uint64(0); ; {
		updates, _, err := v.Updates(ctx, id, at, page)
		if errors.Is(err, channel.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, u := range updates {
			at = u.Version
			if after.Less(u.Cursor()) && len(found) < limit {
				u.Patch = nil
				found = append(found, u)
			}
		}
		if len(updates) < page || len(found) == limit {
			return found, nil
		}
	}
}
