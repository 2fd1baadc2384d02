package state

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
// refused. This is the first of two steps (DESIGN.md, "Idempotency in two steps").
func applyClaim(tx *Tx, items []claimItem) (Result, error) {
	r := Result{Claims: make([]error, len(items))}
	for i := range items {
		refused, err := claimOne(tx, &items[i])
		if err != nil {
			return Result{}, err
		}
		r.Claims[i] = refused
	}
	return r, nil
}

// claimOne returns why the key was refused, nil if it was not.
func claimOne(tx *Tx, item *claimItem) (refused, err error) {
	if err := checkKeyed(item.key, item.digest); err != nil {
		return err, nil
	}
	key, err := tx.id(item.key)
	if err != nil {
		return err, nil
	}
	claimed := &wire.Claimed{}
	found, err := getKeyed(tx, kindClaim, key.Bucket(), key, claimed)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, putClaimed(tx, key, item.digest)
	case string(claimed.Digest) != item.digest:
		return ErrKeyReused, nil
	default:
		return nil, nil
	}
}

// putClaimed writes a wire.Claimed.
func putClaimed(tx *Tx, key channel.ID, digest string) error {
	at, err := keyedPlace(tx, kindClaim, key.Bucket(), key)
	if err != nil {
		return err
	}
	return tx.end(len(at), appendText(tx.begin(at), 1, digest))
}

// getKeyed finds what a key did within the days that count.
func getKeyed(tx *Tx, kind byte, b channel.Bucket, key channel.ID, record proto.Message) (bool, error) {
	state := tx.look(b)
	if state.FirstKeyDay == 0 {
		return false, nil
	}
	if may, err := tx.m.mayHave(kind, b, key); !may {
		return false, err
	}
	for day := state.LastKeyDay; day >= max(state.FirstKeyDay, firstKeyDay(tx.now)); day-- {
		err := tx.get(dayKey(b, kind, day, key[:]), record)
		if !isMissing(err) {
			return err == nil, err
		}
	}
	return false, nil
}

// keyedPlace returns where to write what a key does today, and notes that it will
// be there. The bucket's record changes with the first key of a day.
func keyedPlace(tx *Tx, kind byte, b channel.Bucket, key channel.ID) ([]byte, error) {
	day := max(dayOf(tx.now), 1)
	if last := tx.look(b).LastKeyDay; last < day {
		state := tx.bucket(b)
		state.LastKeyDay = day
		if last == 0 {
			state.FirstKeyDay = day
		}
	}
	return dayKey(b, kind, day, key[:]), tx.m.willHave(kind, b, key)
}

// applyExpireKeys forgets the days before one, in a run of buckets.
func applyExpireKeys(tx *Tx, c *wire.ExpireKeys) (Result, error) {
	from, err := wireBucket(c.From)
	if err != nil {
		return Result{}, err
	}
	to, err := wireBucket(c.To)
	if err != nil {
		return Result{}, err
	}
	if tx.own(from) != nil || tx.own(to) != nil || c.BeforeDay > firstKeyDay(tx.now) {
		return Result{}, fmt.Errorf("%w: expire keys before day %d in buckets %d to %d", ErrInvalid, c.BeforeDay, from, to)
	}
	for b := from; b <= to; b++ {
		if err := expireKeys(tx, b, c.BeforeDay); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

func expireKeys(tx *Tx, b channel.Bucket, before uint32) error {
	if first := tx.look(b).FirstKeyDay; first == 0 || first >= before {
		return nil // without copying the bucket's record
	}
	state := tx.bucket(b)
	for _, kind := range []byte{kindClaim, kindDone} {
		start, end := dayKey(b, kind, state.FirstKeyDay, nil), dayKey(b, kind, before, nil)
		if err := tx.deleteRange(start, end); err != nil {
			return fmt.Errorf("delete keys: %w", err)
		}
	}
	tx.expired[b] = true
	if state.LastKeyDay < before {
		state.FirstKeyDay, state.LastKeyDay = 0, 0
	} else {
		state.FirstKeyDay = before
	}
	return nil
}
