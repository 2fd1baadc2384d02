package state

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Updates returns up to limit updates of a channel with versions above after, in
// order, and the gap before them if some are no longer kept; or ErrNotFound.
func (r *Reader) Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	done, err := r.reading()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	view := r.db.NewSnapshot()
	defer view.Close()
	record, err := getChannel(view, id)
	if err != nil {
		return nil, nil, absent(view, id.Bucket(), err)
	}
	after = max(after, 1) // version 1 is not delivered
	gap := gapAfter(after, record)
	if limit < 1 || after >= record.Version {
		return nil, gap, nil
	}
	var updates []channel.Update
	err = scan(view, channelKey(kindUpdate, id), channelItemKey(kindUpdate, id, after+1), func(key, value []byte) (bool, error) {
		update := &wire.Update{}
		if err := unmarshal(key, value, update); err != nil {
			return false, err
		}
		updates = append(updates, updateOf(id, record.Url, lastItem(key), update))
		return len(updates) < limit, nil
	})
	return updates, gap, err
}

// gapAfter returns the versions after one that are no longer kept.
func gapAfter(after uint64, record *wire.Channel) *channel.Gap {
	if record.Oldest == 0 || after >= record.Oldest-1 {
		return nil
	}
	return &channel.Gap{From: after + 1, To: record.Oldest - 1}
}
