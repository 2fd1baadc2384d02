package ownership

import (
	"bytes"

	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// applyForget replaces the judge's state of a channel whose content is still what the
// new state was made for. Counting it makes commits stale that were judged by the state
// before: they would bring back what it had learned.
func applyForget(tx *tx, c *wire.Forget) (result, error) {
	if err := checkForget(c); err != nil {
		return result{}, err
	}
	id, err := tx.id(string(c.Channel))
	if err != nil {
		return result{}, err
	}
	record, err := tx.channel(id)
	if err != nil {
		return result{}, err
	}
	if record == nil || record.Incarnation != c.Incarnation || record.Version != c.Version || !bytes.Equal(record.Hash, c.Hash) {
		return result{err: ErrStale}, nil
	}
	record.Forgotten++
	record.Held, record.Hold = false, nil
	tx.touch(id)
	return result{}, tx.putRaw(channelKey(kindJudge, id), c.Judge)
}
