package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// What a bucket gives out after a restore is beyond everything that the cluster of the
// backup can have given out after the backup, so that no client holds the ID of another
// one's subscription, and nothing of a lost incarnation is taken for the channel's.
const (
	seqLeap         = 1 << 32 // subscriptions of a bucket; with their 52 bits a million restores, one of the other
	incarnationLeap = 1 << 24 // channels of a bucket; the low 32 bits change
)

const backupIDLen = 16

// applyRestore carries out one step. All but the first two may be repeated without
// effect, so that a restore can be taken up again wherever it was cut.
func applyRestore(tx *Tx, c *wire.Restore) (Result, error) {
	if len(c.Backup) != backupIDLen {
		return Result{}, fmt.Errorf("%w: ID of a backup in %d bytes", ErrInvalid, len(c.Backup))
	}
	switch step := c.Step.(type) {
	case *wire.Restore_Begin:
		return beginRestore(tx, c.Backup, step.Begin)
	case *wire.Restore_Put:
		return Result{}, putRecords(tx, c.Backup, step.Put.Pairs)
	case *wire.Restore_End_:
		return Result{}, endRestore(tx, c.Backup, step.End)
	case *wire.Restore_Undo:
		return Result{}, undoRestore(tx, c.Backup, step.Undo)
	default:
		return Result{}, fmt.Errorf("%w: restore without a step", ErrInvalid)
	}
}

// run checks a run of buckets of the range.
func (tx *Tx) run(from, to uint32) (first, last channel.Bucket, err error) {
	if first, err = wireBucket(from); err == nil {
		last, err = wireBucket(to)
	}
	return first, last, errors.Join(err, tx.inRange(first), tx.inRange(last))
}

// beginRestore has buckets take a backup's records and nothing else. Those that have
// begun with it before are passed over.
func beginRestore(tx *Tx, backup []byte, run *wire.Restore_Buckets) (Result, error) {
	from, to, err := tx.run(run.From, run.To)
	if err != nil {
		return Result{}, err
	}
	for b := from; b <= to; b++ {
		switch before := tx.look(b); {
		case bytes.Equal(before.Backup, backup):
		case before.Restoring:
			return Result{Err: fmt.Errorf("%w: another one, with ID %x", ErrRestoring, before.Backup)}, nil
		case !isFresh(before):
			return Result{Err: ErrNotFresh}, nil
		}
	}
	for b := from; b <= to; b++ {
		if len(tx.look(b).Backup) == 0 {
			bucket := tx.bucket(b)
			bucket.Backup, bucket.Restoring = backup, true
			tx.restored = true
		}
	}
	return Result{}, nil
}

// isFresh says that a bucket never had a subscription.
func isFresh(b *wire.Bucket) bool {
	return b.LastSeq == 0 && b.LastIncarnation == 0 && len(b.Backup) == 0
}

// undoRestore calls off what was begun. Records that were put stay: it is for the caller
// to have put none.
func undoRestore(tx *Tx, backup []byte, run *wire.Restore_Buckets) error {
	from, to, err := tx.run(run.From, run.To)
	if err != nil {
		return err
	}
	for b := from; b <= to; b++ {
		if before := tx.look(b); before.Restoring && bytes.Equal(before.Backup, backup) {
			bucket := tx.bucket(b)
			bucket.Backup, bucket.Restoring = nil, false
			tx.restored = true
		}
	}
	return nil
}

// restores reports whether a bucket takes records of a backup; not ok, that it has them
// all.
func (tx *Tx) restores(b channel.Bucket, backup []byte) (ok bool, err error) {
	if err := tx.inRange(b); err != nil {
		return false, err
	}
	before := tx.look(b)
	if !bytes.Equal(before.Backup, backup) {
		return false, fmt.Errorf("%w: bucket %d was not begun with backup %x", ErrInvalid, b, backup)
	}
	return before.Restoring, nil
}

// putRecords checks all records before it writes the first.
func putRecords(tx *Tx, backup []byte, pairs []*wire.Restore_Pair) error {
	records := make([]record, len(pairs))
	for i, pair := range pairs {
		r, err := readRecord(pair.Key, pair.Value)
		if err == nil && r.kind == kindBucket {
			err = fmt.Errorf("bucket %d among the records", r.bucket)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if _, err := tx.restores(r.bucket, backup); err != nil {
			return err
		}
		records[i] = r
	}
	for i, r := range records {
		if !tx.look(r.bucket).Restoring {
			continue // it is whole
		}
		if err := r.restore(tx, pairs[i]); err != nil {
			return err
		}
	}
	return nil
}

// restore writes a record, with the index entries that belong to it.
func (r record) restore(tx *Tx, pair *wire.Restore_Pair) error {
	switch m := r.message.(type) {
	case *wire.Channel:
		m.Incarnation += incarnationLeap
		tx.channels[r.id] = m
		tx.save(r.id)
		return tx.m.willHave(kindChannel, r.bucket, r.id)
	case *wire.Position:
		m.Incarnation += incarnationLeap
		return tx.put(pair.Key, m)
	case *wire.Update:
		m.Incarnation += incarnationLeap
		stamped := &wire.Stamped{Channel: r.id[:], Version: r.item}
		return errors.Join(tx.put(pair.Key, m), tx.put(bucketItemKey(r.bucket, kindStamp, m.Stamp), stamped))
	case *wire.Subscription:
		return errors.Join(tx.putRaw(pair.Key, pair.Value), tx.putRaw(bucketItemKey(r.bucket, kindSeq, r.item), r.id[:]))
	case *wire.Claimed, *wire.Done:
		return errors.Join(tx.putRaw(pair.Key, pair.Value), tx.m.willHave(r.kind, r.bucket, r.id))
	default:
		return tx.putRaw(pair.Key, pair.Value)
	}
}

// endRestore has buckets be what the backup says, and take commands again.
func endRestore(tx *Tx, backup []byte, end *wire.Restore_End) error {
	if len(end.Buckets) == 0 {
		return fmt.Errorf("%w: end of no buckets", ErrInvalid)
	}
	from, _, err := tx.run(end.From, end.From+uint32(len(end.Buckets))-1)
	if err != nil {
		return err
	}
	for i, says := range end.Buckets {
		if _, err := tx.restores(from+channel.Bucket(i), backup); err != nil {
			return err
		}
		if says.Restoring || says.LastSeq > maxSeq-seqLeap {
			return fmt.Errorf("%w: bucket %d that is not whole, or has no more IDs", ErrInvalid, int(from)+i)
		}
	}
	for i, says := range end.Buckets {
		b := from + channel.Bucket(i)
		if !tx.look(b).Restoring {
			continue
		}
		tx.buckets[b] = restoredBucket(tx.look(b), says, backup)
		tx.restored = true
	}
	return nil
}

// restoredBucket is a bucket that had nothing but perhaps keys, and has a backup's
// records now.
func restoredBucket(before, says *wire.Bucket, backup []byte) *wire.Bucket {
	after := copyBucket(says)
	after.LastSeq += seqLeap
	after.LastIncarnation += incarnationLeap
	after.Backup = backup
	after.LastKeyDay = max(before.LastKeyDay, says.LastKeyDay)
	if after.FirstKeyDay == 0 || before.FirstKeyDay > 0 && before.FirstKeyDay < after.FirstKeyDay {
		after.FirstKeyDay = before.FirstKeyDay
	}
	return after
}

// Restored says that buckets began to take a backup's records, or have them all, or take none
// after all: whoever acts on what they have must look at [Machine.Restoring], and read it again.
func (tx *Tx) Restored() bool { return tx.restored }

// RestoreState is how far a range is with a backup.
type RestoreState struct {
	Whole bool // it has all of it
	Begun bool // some of it takes its records, or has them
}

// IsRestoring reports whether a bucket of a range has not all of its records yet.
func (r *Reader) IsRestoring(of channel.Range) (restoring bool, err error) {
	done, err := r.reading()
	if err != nil {
		return false, err
	}
	defer done()
	err = eachInBuckets(r.db, kindBucket, bucketKey(of.From), func(key, value []byte) (bool, error) {
		bucket := &wire.Bucket{}
		if b, _ := keyBucket(key); b > of.To {
			return false, nil
		}
		err := unmarshal(key, value, bucket)
		restoring = bucket.Restoring
		return !restoring, err
	})
	return restoring, err
}

// Restoring returns how far a range is with a backup. ErrNotFresh and ErrRestoring say
// that it cannot take one.
func (r *Reader) Restoring(of channel.Range, backup []byte) (s RestoreState, err error) {
	done, err := r.reading()
	if err != nil {
		return s, err
	}
	defer done()
	s.Whole = true
	buckets := int64(0)
	err = eachInBuckets(r.db, kindBucket, bucketKey(of.From), func(key, value []byte) (bool, error) {
		bucket := &wire.Bucket{}
		b, _ := keyBucket(key)
		if b > of.To {
			return false, nil
		}
		if err := unmarshal(key, value, bucket); err != nil {
			return false, err
		}
		buckets++
		mine := bytes.Equal(bucket.Backup, backup)
		s.Begun = s.Begun || mine
		s.Whole = s.Whole && mine && !bucket.Restoring
		switch {
		case mine:
			return true, nil
		case bucket.Restoring:
			return false, fmt.Errorf("%w: another one, with ID %x", ErrRestoring, bucket.Backup)
		case !isFresh(bucket):
			return false, ErrNotFresh
		}
		return true, nil
	})
	s.Whole = s.Whole && buckets == of.Buckets()
	return s, err
}
