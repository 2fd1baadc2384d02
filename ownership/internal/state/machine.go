package state

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Machine is the replicated state of one range. Entries of the range's log are applied
// onto a [Tx], which Write makes the state, together with the index of the last of them,
// in one batch that is not synced: after a crash the state is that of some earlier index,
// and the log has the rest.
//
// Applying reads only commands and state. So every replica, and every replay, comes to
// the same state.
//
// Begin, Write, Reload and Applied belong to one goroutine of the caller; the other
// methods may be called from any.
type Machine struct {
	group uint32
	from  channel.Bucket
	to    atomic.Uint32 // the last bucket: a split takes those behind it away
	all   *DB
	db    *pebble.DB

	applied position
	spanned bool           // the state says which buckets it has
	buckets []*wire.Bucket // from..to, the newest state
	known   []known        // from..to
	knowing sync.RWMutex   // held to change what is known, and to ask for it from other goroutines
	recent  recent         // records as they are in the state

	hot  hot
	news news
}

// position is how far a state is in its log.
type position struct{ index, timeUS uint64 }

// hot is what others may read while entries are applied.
type hot struct {
	index, timeUS                        atomic.Uint64
	channels, subscriptions, updateBytes atomic.Uint64
	restoring                            atomic.Int64    // buckets that have not all of a backup yet
	lastStamp, trimmedStamp              []atomic.Uint64 // by bucket − from
	keyDay                               []atomic.Uint32 // the first day that holds keys, 0 for none
	newest                               atomic.Uint64   // stamp of an update
}

// Machine returns the state of a range as it is on disk. The buckets are those of a state that
// was never split; of another one, they are all that it may have had.
func (d *DB) Machine(r channel.Range) (*Machine, error) {
	n := int(r.To-r.From) + 1
	m := &Machine{group: r.ID, from: r.From, all: d, db: d.db, buckets: emptyBuckets(n)}
	m.to.Store(uint32(r.To))
	m.hot.lastStamp, m.hot.trimmedStamp = make([]atomic.Uint64, n), make([]atomic.Uint64, n)
	m.hot.keyDay = make([]atomic.Uint32, n)
	return m, m.Reload()
}

// Reload reads what the machine holds in memory again, after another state was put in
// place.
func (m *Machine) Reload() error {
	at := &wire.Applied{}
	if err := Get(m.db, AppliedKey(m.group), at); err != nil && !isMissing(err) {
		return err
	}
	if at.Index > 0 {
		m.to.Store(uint32(m.from) + uint32(len(m.buckets)) - 1)
	}
	if m.spanned = at.Span != nil; m.spanned {
		if at.Span.From != uint32(m.from) || at.Span.To < at.Span.From || int(at.Span.To) >= int(m.from)+len(m.buckets) {
			return misfit("state of range %d has buckets %d to %d, want some of %d from %d on", m.group, at.Span.From, at.Span.To, len(m.buckets), m.from)
		}
		m.to.Store(at.Span.To)
	}
	buckets := emptyBuckets(len(m.buckets))
	err := eachInBuckets(m.db, kindBucket, bucketKey(m.from), func(key, value []byte) (bool, error) {
		b, _ := keyBucket(key)
		if b > m.last() || at.Index == 0 { // without an entry, what is there is another range's
			return false, nil
		}
		return true, unmarshal(key, value, buckets[b-m.from])
	})
	if err != nil {
		return err
	}
	for i, state := range buckets {
		m.hot.count(i, m.buckets[i], state)
	}
	m.buckets, m.known, m.recent = buckets, make([]known, len(buckets)), newRecent(len(buckets))
	m.applied = position{index: at.Index, timeUS: at.TimeUs}
	m.news.reset(max(at.TimeUs, m.NewestTime())) // before the range is closed up to there
	m.hot.index.Store(m.applied.index)
	m.hot.timeUS.Store(m.applied.timeUS)
	return nil
}

func emptyBuckets(n int) []*wire.Bucket {
	buckets := make([]*wire.Bucket, n)
	for i := range buckets {
		buckets[i] = &wire.Bucket{}
	}
	return buckets
}

// Write makes tx the state, and lets streams pass its times.
func (m *Machine) Write(tx *Tx) error {
	for b, state := range tx.buckets {
		// Before the updates go, so that no reader misses both them and this.
		m.hot.trimmedStamp[b-m.from].Store(state.TrimmedStamp)
	}
	if err := tx.commit(); err != nil {
		return err
	}
	m.applied = tx.applied
	m.hot.index.Store(m.applied.index)
	for b, state := range tx.buckets {
		i := int(b - m.from)
		m.hot.count(i, m.buckets[i], state)
		m.buckets[i] = state
		m.forget(b, tx.expired[b], state.Channels)
	}
	if tx.restored {
		m.news.reset(max(tx.applied.timeUS, m.NewestTime())) // it has not seen the backup's, whose clock may have been ahead
	}
	m.news.add(tx.news)
	if m.spanned = tx.spanned; tx.to < m.last() {
		m.divide(tx.to)
	}
	// Last, since it closes the range up to this time: a stream that sees it before the
	// newest stamp would skip the updates of this transaction.
	m.hot.timeUS.Store(m.applied.timeUS)
	return nil
}

// count moves the hot figures from a bucket's state before to the one after.
func (h *hot) count(i int, before, after *wire.Bucket) {
	h.channels.Add(after.Channels - before.Channels)
	h.subscriptions.Add(after.Subscriptions - before.Subscriptions)
	h.updateBytes.Add(after.UpdateBytes - before.UpdateBytes)
	if before.Restoring != after.Restoring {
		h.restoring.Add(map[bool]int64{true: 1, false: -1}[after.Restoring])
	}
	h.lastStamp[i].Store(after.LastStamp)
	h.newest.Store(max(h.newest.Load(), after.LastStamp))
	h.trimmedStamp[i].Store(after.TrimmedStamp)
	h.keyDay[i].Store(after.FirstKeyDay)
}

// last returns the last bucket.
func (m *Machine) last() channel.Bucket { return channel.Bucket(m.to.Load()) }

// Range returns the range with the buckets that the state has. A Time that was read before it
// is one up to which those are closed.
func (m *Machine) Range() channel.Range {
	return channel.Range{ID: m.group, From: m.from, To: m.last()}
}

// Narrow says which bucket is the last while the state has nothing, of a range that was split.
func (m *Machine) Narrow(to channel.Bucket) {
	if m.applied.index == 0 && to < m.last() {
		m.to.Store(uint32(to))
		m.spanned = true
	}
}

// Index returns the index of the last entry that the state has.
func (m *Machine) Index() uint64 { return m.hot.index.Load() }

// Time returns the time of the last command that the state has, in microseconds. Everything
// up to it is applied: later commands have later times.
func (m *Machine) Time() uint64 { return m.hot.timeUS.Load() }

// Restoring reports whether a bucket has not all of a backup's records yet.
func (m *Machine) Restoring() bool { return m.hot.restoring.Load() > 0 }

// NewestStamp returns the newest stamp of an update.
func (m *Machine) NewestStamp() uint64 { return m.hot.newest.Load() }

// NewestTime returns the newest time that the state has seen, in microseconds.
func (m *Machine) NewestTime() uint64 {
	newest := m.hot.timeUS.Load()
	for i := range m.hot.lastStamp {
		newest = max(newest, m.hot.lastStamp[i].Load())
	}
	return newest
}

// String spells out what the machine holds in memory, for comparing. It belongs to the
// goroutine of Write.
func (m *Machine) String() string {
	channels, subscriptions := m.Counts()
	s := fmt.Sprint(m.applied, m.Index(), m.Time(), channels, subscriptions, m.UpdateBytes())
	for i, b := range m.buckets {
		if b.LastSeq > 0 {
			s += fmt.Sprint(i, b, m.hot.lastStamp[i].Load(), m.hot.trimmedStamp[i].Load(), m.hot.keyDay[i].Load())
		}
	}
	return s
}

// Counts returns the number of channels and of subscriptions.
func (m *Machine) Counts() (channels, subscriptions uint64) {
	return m.hot.channels.Load(), m.hot.subscriptions.Load()
}

// UpdateBytes returns the bytes of the updates kept.
func (m *Machine) UpdateBytes() uint64 { return m.hot.updateBytes.Load() }
