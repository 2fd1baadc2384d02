package state

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
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
