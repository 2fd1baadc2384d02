package state

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// ErrMisfit is an ErrCorrupt of records that can be read: the disk has perhaps kept what the
// program has written wrong, on all replicas alike.
var ErrMisfit = fmt.Errorf("%w: records are not as they should be", disk.ErrCorrupt)

// misfit returns an ErrMisfit that says what is wrong.
func misfit(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMisfit, fmt.Errorf(format, args...))
}

// Scrub reads all of a bucket from one view, and returns how many bytes of keys and values
// it has. The error is ErrCorrupt for a block with a bad checksum, and ErrMisfit for a record
// that no node writes, or counts that do not agree. Pause is called after each megabyte.
//
// The store must not be closed meanwhile. Scrub does not keep another state from being put
// in place.
func (d *DB) Scrub(ctx context.Context, b channel.Bucket, pause func()) (bytes int64, err error) {
	iter, err := d.db.NewIter(&pebble.IterOptions{LowerBound: FirstKey(b), UpperBound: FirstKey(b + 1)})
	if err != nil {
		return 0, disk.ReadError("scrub state", err)
	}
	defer iter.Close()
	inventory, paused := NewInventory(b, b), int64(0)
	for ok := iter.First(); ok && ctx.Err() == nil; ok = iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return bytes, disk.ReadError("scrub state", err)
		}
		bytes += int64(len(iter.Key()) + len(value))
		whole, err := scrubRecord(inventory, iter.Key(), value)
		if err != nil || !whole {
			return bytes, err
		}
		if bytes-paused >= scrubPiece {
			paused = bytes
			pause()
		}
	}
	if err := iter.Error(); err != nil || ctx.Err() != nil {
		return bytes, disk.ReadError("scrub state", err)
	}
	if _, _, err := inventory.End(); err != nil {
		return bytes, misfit("%w", err)
	}
	return bytes, nil
}

const scrubPiece = 1 << 20

// scrubRecord checks a record. Not whole says that the bucket is being restored, so that
// its counts do not agree yet.
func scrubRecord(inventory *Inventory, key, value []byte) (whole bool, err error) {
	if _, kind := keyBucket(key); kind == kindBucket {
		bucket := &wire.Bucket{}
		if err := unmarshal(key, value, bucket); err != nil || bucket.Restoring {
			return false, err
		}
	}
	checked, err := InBackup(key, value)
	if err != nil || !checked {
		return true, err
	}
	if err := inventory.Add(key, value); err != nil {
		return true, misfit("%w", err)
	}
	return true, nil
}
