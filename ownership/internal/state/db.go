package state

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
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
// once the pebble is flushed.
func (d *DB) Drop(r channel.Range) error {
	d.gate.Lock()
	defer d.gate.Unlock()
	batch := d.db.NewBatch()
	defer batch.Close()
	err := errors.Join(
		batch.DeleteRange(FirstKey(r.From), FirstKey(r.To+1), nil),
		batch.Delete(AppliedKey(r.ID), nil),
		batch.Commit(pebble.NoSync),
	)
	if err != nil {
		return fmt.Errorf("drop state of range %d: %w", r.ID, err)
	}
	return nil
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
