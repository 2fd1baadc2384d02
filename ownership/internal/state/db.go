package state

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// DB is the states of all replicas of a node, in one pebble.
type DB struct{ Reader }

// New returns the states in a pebble, which the caller closes after Close.
func New(db *pebble.DB) *DB { return &DB{Reader{db: db}} }

// Reader reads the states of all replicas of a node. After Close of the [DB] its methods
// return ErrClosed.
type Reader struct {
	db   *pebble.DB
	gate struct {
		sync.RWMutex // held for reading by reads, for writing while the state closes or another is put in place
		closed       bool
	}
}

// reading keeps the state open until done is called.
func (r *Reader) reading() (done func(), err error) {
	r.gate.RLock()
	if r.gate.closed {
		r.gate.RUnlock()
		return nil, ErrClosed
	}
	return r.gate.RUnlock, nil
}

// Drop forgets the state of a range, whose machine must not be used any more. It is durable
// once the pebble is flushed. A damaged state may be dropped too: its files are not read, but
// where they are cut. The error is ErrCorrupt if damage is there; then nothing has changed.
// Begun are the ranges that were split off it and never ran here.
func (d *DB) Drop(r channel.Range, begun ...uint32) error {
	d.gate.Lock()
	defer d.gate.Unlock()
	err := d.excise(r)
	for _, id := range append(begun, r.ID) {
		if err == nil {
			err = d.db.Delete(AppliedKey(id), pebble.NoSync)
		}
	}
	if err != nil {
		return fmt.Errorf("drop state of range %d: %w", r.ID, err)
	}
	return nil
}

// Excise takes the records of a range out of the files of the state, durably, so that no
// compaction reads them. Its machine must apply nothing more. The error is ErrCorrupt if
// damage is where files are cut.
func (d *DB) Excise(r channel.Range) error {
	d.gate.Lock()
	defer d.gate.Unlock()
	return d.excise(r)
}

func (d *DB) excise(r channel.Range) error {
	return disk.Excise(d.db, pebble.KeyRange{Start: FirstKey(r.From), End: FirstKey(r.To + 1)})
}

// Overlaps reports whether a file may have records of a range.
func Overlaps(r channel.Range, table disk.DamagedTable) bool {
	return bytes.Compare(table.To, FirstKey(r.From)) >= 0 && bytes.Compare(table.From, FirstKey(r.To+1)) < 0
}

// Verify reads the records of a range that lie between the bounds of a file, from memory
// where they are there. Its error is ErrCorrupt if one is unreadable.
func (d *DB) Verify(r channel.Range, table disk.DamagedTable) error {
	from, to := FirstKey(r.From), FirstKey(r.To+1)
	if bytes.Compare(table.From, from) > 0 {
		from = table.From
	}
	if bytes.Compare(table.To, to) < 0 {
		to = append(bytes.Clone(table.To), 0)
	}
	done, err := d.reading()
	if err != nil {
		return err
	}
	defer done()
	iter, err := d.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return disk.ReadError("read state", err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		if _, err := iter.ValueAndErr(); err != nil {
			return disk.ReadError("read state", errors.Join(err, iter.Close()))
		}
	}
	return disk.ReadError("read state", iter.Close())
}

// Gate keeps readers out while it is locked.
func (d *DB) Gate() sync.Locker { return &d.gate.RWMutex }

// Close lets no more readers in, and returns when those that are in have gone.
func (d *DB) Close() {
	d.gate.Lock()
	defer d.gate.Unlock()
	d.gate.closed = true
}

// Metrics asks pebble what it holds; nothing after Close.
func (d *DB) Metrics() *pebble.Metrics {
	done, err := d.reading()
	if err != nil {
		return &pebble.Metrics{}
	}
	defer done()
	return d.db.Metrics()
}

func isMissing(err error) bool { return errors.Is(err, pebble.ErrNotFound) }
