package ownership

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// keyDays is how many days of idempotency keys count, today included: a key
// holds for 48 to 72 hours of log time.
const keyDays = 3

func dayOf(timeUS uint64) uint32 { return uint32(timeUS / (24 * 3600 * 1e6)) }

// firstKeyDay is the oldest day whose keys count.
func firstKeyDay(timeUS uint64) uint32 { return max(dayOf(timeUS), keyDays) - keyDays + 1 }

// applyClaim ties keys to requests. A key that holds with another digest is
// refused. This is the first of two steps: see DESIGN.md.
func applyClaim(tx *tx, c *wire.Claim) (result, error) {
	r := result{claims: make([]error, len(c.Items))}
	for i, item := range c.Items {
		refused, err := claimOne(tx, item)
		if err != nil {
			return result{}, err
		}
		r.claims[i] = refused
	}
	return r, nil
}

// claimOne returns why the key was refused, nil if it was not.
func claimOne(tx *tx, item *wire.Claim_Item) (refused, err error) {
	if err := checkKeyed(item.Key, item.Digest); err != nil {
		return err, nil
	}
	id, err := tx.id(item.Key)
	if err != nil {
		return err, nil
	}
	claimed := &wire.Claimed{}
	found, err := getKeyed(tx, id.Bucket(), kindClaim, item.Key, claimed)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, putKeyed(tx, id.Bucket(), kindClaim, item.Key, &wire.Claimed{Digest: item.Digest})
	case string(claimed.Digest) != string(item.Digest):
		return ErrKeyReused, nil
	default:
		return nil, nil
	}
}

// getKeyed finds what a key did within the days that count.
func getKeyed(tx *tx, b channel.Bucket, kind byte, key []byte, record proto.Message) (bool, error) {
	state := tx.bucket(b)
	if state.FirstKeyDay == 0 {
		return false, nil
	}
	for day := state.LastKeyDay; day >= max(state.FirstKeyDay, firstKeyDay(tx.now)); day-- {
		err := tx.get(dayKey(b, kind, day, key), record)
		if !isMissing(err) {
			return err == nil, err
		}
	}
	return false, nil
}

func putKeyed(tx *tx, b channel.Bucket, kind byte, key []byte, record proto.Message) error {
	state, day := tx.bucket(b), max(dayOf(tx.now), 1)
	if state.FirstKeyDay == 0 {
		state.FirstKeyDay = day
	}
	state.LastKeyDay = max(state.LastKeyDay, day)
	return tx.put(dayKey(b, kind, day, key), record)
}

// applyExpireKeys forgets the days before one, in a run of buckets.
func applyExpireKeys(tx *tx, c *wire.ExpireKeys) (result, error) {
	from, err := wireBucket(c.From)
	if err != nil {
		return result{}, err
	}
	to, err := wireBucket(c.To)
	if err != nil {
		return result{}, err
	}
	if tx.own(from) != nil || tx.own(to) != nil || c.BeforeDay > firstKeyDay(tx.now) {
		return result{}, fmt.Errorf("%w: expire keys before day %d in buckets %d to %d", ErrInvalid, c.BeforeDay, from, to)
	}
	for b := from; b <= to; b++ {
		if err := expireKeys(tx, b, c.BeforeDay); err != nil {
			return result{}, err
		}
	}
	return result{}, nil
}

func expireKeys(tx *tx, b channel.Bucket, before uint32) error {
	if first := tx.f.buckets[b-tx.f.from].FirstKeyDay; first == 0 || first >= before {
		return nil // without copying the bucket's record
	}
	state := tx.bucket(b)
	for _, kind := range []byte{kindClaim, kindDone} {
		start, end := dayKey(b, kind, state.FirstKeyDay, nil), dayKey(b, kind, before, nil)
		if err := tx.batch.DeleteRange(start, end, nil); err != nil {
			return fmt.Errorf("delete keys: %w", err)
		}
	}
	if state.LastKeyDay < before {
		state.FirstKeyDay, state.LastKeyDay = 0, 0
	} else {
		state.FirstKeyDay = before
	}
	return nil
}
