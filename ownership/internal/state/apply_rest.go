package state

import (
	"fmt"
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// maxResting is how many hosts of one bucket rest in the state at a time, and maxRests
// how many one command has rest.
const (
	maxResting = 256
	maxRests   = 1000
)

// applyRest has hosts rest, each until the latest time of all, and forgets those whose
// rest is over.
func applyRest(tx *Tx, c *wire.Rest) (Result, error) {
	if len(c.Items) > maxRests {
		return Result{}, fmt.Errorf("%w: %d rests in one command", ErrInvalid, len(c.Items))
	}
	for _, item := range c.Items {
		if _, err := tx.id(string(item.Host)); err != nil {
			return Result{}, err
		}
		if item.ForUs > uint64(channel.LongestRest.Microseconds()) || item.Refusals > math.MaxUint8 {
			return Result{}, fmt.Errorf("%w: a rest of %d µs after %d refusals", ErrInvalid, item.ForUs, item.Refusals)
		}
	}
	for _, item := range c.Items {
		if err := restOne(tx, channel.ID(item.Host), item); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

func restOne(tx *Tx, host channel.ID, item *wire.Rest_Item) error {
	key, stands := channelKey(kindResting, host), &wire.Resting{}
	err := tx.get(key, stands)
	known := err == nil
	if err != nil && !isMissing(err) {
		return err
	}
	over := stands.UntilUs <= tx.now
	switch {
	case item.ForUs == 0 && known && over:
		return tx.delete(key)
	case item.ForUs == 0:
		return nil
	case !known:
		room, err := makeRestingRoom(tx, host.Bucket())
		if err != nil || !room {
			return err
		}
	}
	if over {
		stands = &wire.Resting{}
	}
	return tx.put(key, mergeResting(stands, item, tx.now))
}

// mergeResting returns what stands of two rests of one host; see [channel.Rest.Merge].
func mergeResting(stands *wire.Resting, item *wire.Rest_Item, now uint64) *wire.Resting {
	merged := &wire.Resting{UntilUs: stands.UntilUs, Refusals: max(stands.Refusals, item.Refusals), Turn: stands.Turn}
	if until := now + item.ForUs; until > merged.UntilUs {
		merged.UntilUs, merged.Turn = until, item.Turn
	}
	return merged
}

// makeRestingRoom reports whether another host of a bucket may rest. In a bucket that is full it
// forgets those whose rest is over first.
func makeRestingRoom(tx *Tx, b channel.Bucket) (room bool, err error) {
	all, err := countResting(tx, b, 0)
	if err != nil || all < maxResting {
		return err == nil, err
	}
	left, err := countResting(tx, b, tx.now)
	return err == nil && left < maxResting, err
}

// countResting counts the hosts of a bucket that rest beyond a time, and forgets the
// others.
func countResting(tx *Tx, b channel.Bucket, beyond uint64) (n int, err error) {
	prefix := kindPrefix(b, kindResting)
	err = tx.scan(prefix, prefix, func(key, value []byte) (bool, error) {
		stands := &wire.Resting{}
		if err := unmarshal(key, value, stands); err != nil {
			return false, err
		}
		if stands.UntilUs <= beyond {
			return true, tx.delete(key)
		}
		n++
		return true, nil
	})
	return n, err
}
