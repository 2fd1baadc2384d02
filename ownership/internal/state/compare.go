package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// NewCompare returns the command that has all replicas hash a bucket.
func NewCompare(b channel.Bucket) *wire.Command {
	return &wire.Command{Change: &wire.Command_Compare{Compare: &wire.Compare{Bucket: uint32(b)}}}
}

// applyCompare changes nothing: it notes that the bucket is to be hashed.
func applyCompare(tx *Tx, c *wire.Compare) (Result, error) {
	b, err := wireBucket(c.Bucket)
	if err == nil {
		err = tx.inRange(b)
	}
	if err == nil {
		tx.compared = append(tx.compared, b)
	}
	return Result{}, err
}

// Compared returns the buckets that are to be hashed as they are with tx, which must be
// written before the next entry.
func (tx *Tx) Compared() []channel.Bucket { return tx.compared }

// View shows the records of a bucket as they were when it was made. It pins what the store
// had then until it is closed, which must be before the store is.
type View struct{ iter *pebble.Iterator }

// View makes a view of a bucket.
func (m *Machine) View(b channel.Bucket) (*View, error) {
	iter, err := m.db.NewIter(&pebble.IterOptions{LowerBound: FirstKey(b), UpperBound: FirstKey(b + 1)})
	if err != nil {
		return nil, disk.ReadError("read state", err)
	}
	return &View{iter}, nil
}

// Close ends the view.
func (v *View) Close() error { return disk.ReadError("read state", v.iter.Close()) }

// Hash is a SHA-256 of all records. It is of what they say, not of how a program has
// encoded them, so that replicas of different versions agree; one that cannot be decoded counts
// by its bytes. Pause is called after each megabyte. The error is ErrCorrupt if the disk does not
// give a record.
func (v *View) Hash(ctx context.Context, pause func()) (sum [sha256.Size]byte, err error) {
	h, read := sha256.New(), 0
	for ok := v.iter.First(); ok && ctx.Err() == nil; ok = v.iter.Next() {
		value, err := v.iter.ValueAndErr()
		if err == nil {
			value = canonical(v.iter.Key(), value)
		}
		if err != nil {
			return sum, disk.ReadError("hash state", err)
		}
		for _, part := range [][]byte{v.iter.Key(), value} {
			h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
			h.Write(part)
		}
		if read += len(v.iter.Key()) + len(value); read >= scrubPiece {
			read = 0
			pause()
		}
	}
	if err := v.iter.Error(); err != nil || ctx.Err() != nil {
		return sum, disk.ReadError("hash state", cmp.Or(err, context.Cause(ctx)))
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// canonical encodes a value in the one way that all versions have.
func canonical(key, value []byte) []byte {
	_, kind := keyBucket(key)
	s, known := shapes[kind]
	if !known || s.message == nil {
		return value // bytes
	}
	m := s.message()
	if proto.Unmarshal(value, m) != nil {
		return value
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return value
	}
	return encoded
}
