package store

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// Cache keeps a record of each channel and core content addressed by its hash.
// It is disposable: what is lost is fetched again. Content is
// synced when it is staged, since the owner may commit what it is the base of;
// records are synced a second later, and writes reach the disk in their order, so
// that a record is never there without its content. [Cache.Run] does the late syncs
// and repairs damage. Its methods may be called concurrently.
//
//	'r' channel         record
//	'c' channel hash    content, packed (package deltas); as text, if an older program wrote it
//	's' channel         what the owner keeps, see Shelf
type Cache struct {
	db       *pebble.DB
	gentle   *volume.Gentle
	config   Config
	metrics  *Metrics
	packer   *deltas.Packer
	unsynced chan struct{} // there are writes that a kill would lose: they wait in memory
	damaged  chan damage
}

const (
	recordPrefix  = 'r'
	contentPrefix = 'c'
	shelfPrefix   = 's'
)

// Close closes the cache, which is not used after that.
func (c *Cache) Close() error {
	c.gentle.Hurry()
	return c.db.Close()
}

// DB returns the store beneath, for tests and benchmarks that damage it or read its
// counters.
func (c *Cache) DB() *pebble.DB { return c.db }

// Bytes returns the size of the cache on disk.
func (c *Cache) Bytes() uint64 { return c.db.Metrics().DiskSpaceUsage() }

// Failed counts and logs the failure of a use of the cache, if err is one. The
// volume logs that the disk is full.
func (c *Cache) Failed(doing string, err error) {
	if err == nil {
		return
	}
	c.metrics.cacheErrors.Inc()
	if errors.Is(err, ErrNoSpace) {
		return
	}
	c.config.Logger.Error("content cache failed", "doing", doing, "error", err)
}

// Record returns a channel's record; ok is false when there is none. A record that
// cannot be read is an error, once: it is removed.
func (c *Cache) Record(id channel.ID) (r Record, ok bool, err error) {
	data, ok, err := c.get(RecordKey(id))
	if err != nil || !ok {
		return Record{}, false, err
	}
	if r, err = parseRecord(data); err != nil {
		return Record{}, false, errors.Join(fmt.Errorf("channel %s: %w", id, err), c.db.Delete(RecordKey(id), pebble.NoSync))
	}
	return r, true, nil
}

// Recorded is a channel's record.
type Recorded struct {
	ID     channel.ID
	Record Record
}

// Records returns records in the order of their keys, of at most so many channels
// behind one, and the last of these; ok is false at the end. Records that cannot be
// read are left out: [Cache.Record] meets their errors.
func (c *Cache) Records(after channel.ID, most int) (all []Recorded, last channel.ID, ok bool, err error) {
	options := &pebble.IterOptions{LowerBound: append(RecordKey(after), 0), UpperBound: []byte{recordPrefix + 1}}
	iter, err := c.db.NewIter(options)
	if err != nil {
		return nil, after, false, err
	}
	last = after
	all = make([]Recorded, 0, most)
	for valid := iter.First(); valid && !ok; valid = iter.Next() {
		copy(last[:], iter.Key()[1:])
		if r, err := parseRecord(iter.Value()); err == nil {
			all = append(all, Recorded{last, r})
		}
		most--
		ok = most == 0
	}
	return all, last, ok, errors.Join(iter.Error(), iter.Close())
}

// Content returns a channel's content by its hash, nil when the cache does not have it.
// Content that does not match its hash is removed, and nil.
func (c *Cache) Content(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	packed, ok, err := c.get(ContentKey(id, hash))
	if err != nil || !ok {
		return nil, err
	}
	core, err := c.packer.Unpack(packed)
	if err != nil || core.Hash != hash {
		return nil, c.db.Delete(ContentKey(id, hash), pebble.NoSync)
	}
	return core, nil
}

// get returns a copy of a value, which is the caller's.
func (c *Cache) get(key []byte) (value []byte, ok bool, err error) {
	found, closer, err := c.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = slices.Clone(found)
	return value, true, closer.Close()
}

// Stage makes content durable before it is known whether it will be a version: if the
// owner commits it, and this process ends before the answer, the next change needs it as
// its base. Concurrent stages share a sync. The error is [ErrNoSpace] on a full disk.
func (c *Cache) Stage(id channel.ID, core *deltas.Core) error {
	if err := c.room(); err != nil {
		return err
	}
	return c.db.Set(ContentKey(id, core.Hash), c.packer.Append(nil, core), pebble.Sync)
}

// StageAlone is Stage for a channel of which the cache may hold other content: all
// but what has one of the hashes is removed, so that a page that is another each
// time leaves no more than that.
func (c *Cache) StageAlone(id channel.ID, core *deltas.Core, keep ...deltas.Hash) error {
	return c.setAlone(id, core, keep, pebble.Sync)
}

// Keep writes the content of a version that is committed, and removes the channel's others. It is
// synced within about a second, with or before the record that follows it: a crash before that
// costs a GET.
func (c *Cache) Keep(id channel.ID, core *deltas.Core) error {
	defer c.syncLater()
	return c.setAlone(id, core, nil, pebble.NoSync)
}

func (c *Cache) setAlone(id channel.ID, core *deltas.Core, keep []deltas.Hash, sync *pebble.WriteOptions) error {
	if err := c.room(); err != nil {
		return err
	}
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := c.prune(batch, id, append(keep, core.Hash)); err != nil {
		return err
	}
	if err := batch.Set(ContentKey(id, core.Hash), c.packer.Append(nil, core), nil); err != nil {
		return err
	}
	return batch.Commit(sync)
}

// room returns ErrNoSpace while the disk is full: what a cache holds can wait.
func (c *Cache) room() error {
	if c.config.Volume.Level() == volume.Critical {
		return ErrNoSpace
	}
	return nil
}

// SetRecord replaces a channel's record; it is synced within about a second. The
// error is [ErrNoSpace] on a full disk.
func (c *Cache) SetRecord(id channel.ID, r Record) error {
	if err := c.room(); err != nil {
		return err
	}
	defer c.syncLater()
	return c.db.Set(RecordKey(id), r.append(nil), pebble.NoSync)
}

// Adopt is SetRecord for another version: content of the other hashes is removed.
// The version's own content is written with the record; a nil core is staged
// already. The error is [ErrNoSpace] on a full disk where there is content to be written.
func (c *Cache) Adopt(id channel.ID, r Record, core *deltas.Core, others ...deltas.Hash) error {
	if core != nil {
		if err := c.room(); err != nil {
			return err
		}
	}
	defer c.syncLater()
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(RecordKey(id), r.append(nil), nil); err != nil {
		return err
	}
	if core != nil {
		if err := batch.Set(ContentKey(id, core.Hash), c.packer.Append(nil, core), nil); err != nil {
			return err
		}
	}
	for _, hash := range others {
		if hash == r.Hash || hash == (deltas.Hash{}) {
			continue
		}
		if err := batch.Delete(ContentKey(id, hash), nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.NoSync)
}

// Purge removes all that is known of a channel. [Cache.Sync] makes that durable.
func (c *Cache) Purge(id channel.ID) error {
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Delete(RecordKey(id), nil); err != nil {
		return err
	}
	if err := c.prune(batch, id, nil); err != nil {
		return err
	}
	return batch.Commit(pebble.NoSync)
}

// prune removes a channel's content but what has one of the hashes.
func (c *Cache) prune(batch *pebble.Batch, id channel.ID, keep []deltas.Hash) error {
	lower := ContentKey(id, deltas.Hash{})
	upper := append(ContentKey(id, lastHash), 0)
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	for valid := iter.First(); valid; valid = iter.Next() {
		var hash deltas.Hash
		copy(hash[:], iter.Key()[1+channel.IDLen:])
		if slices.Contains(keep, hash) {
			continue
		}
		if err := batch.Delete(iter.Key(), nil); err != nil {
			return errors.Join(err, iter.Close())
		}
	}
	return iter.Close()
}

// Sync makes durable what has been written without.
func (c *Cache) Sync() error { return c.db.LogData(nil, pebble.Sync) }

// Each calls visit with every channel that the cache knows something of, some of
// them twice, until it returns false.
func (c *Cache) Each(visit func(channel.ID) bool) error {
	for _, prefix := range []byte{recordPrefix, contentPrefix} {
		iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
		if err != nil {
			return err
		}
		for valid := iter.First(); valid; {
			var id channel.ID
			copy(id[:], iter.Key()[1:])
			if !visit(id) {
				return iter.Close()
			}
			valid = iter.SeekGE(append(keyOf(prefix, id, lastHash), 0))
		}
		if err := iter.Close(); err != nil {
			return err
		}
	}
	return nil
}

var lastHash = deltas.Hash{
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
}

// RecordKey returns the key of a channel's record in [Cache.DB].
func RecordKey(id channel.ID) []byte { return append([]byte{recordPrefix}, id[:]...) }

// ContentKey returns the key of a channel's content in [Cache.DB].
func ContentKey(id channel.ID, hash deltas.Hash) []byte { return keyOf(contentPrefix, id, hash) }

func keyOf(prefix byte, id channel.ID, hash deltas.Hash) []byte {
	key := make([]byte, 0, 1+channel.IDLen+len(hash)+1)
	return append(append(append(key, prefix), id[:]...), hash[:]...)
}

// pebbleLogger passes on errors. Fatalf must not return: pebble cannot continue when
// its write-ahead log cannot be written.
type pebbleLogger struct {
	logger *slog.Logger
	fatal  func(error)
}

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	if volume.SaidAlready(args) {
		return
	}
	l.logger.Error("content cache", "error", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf("content cache: "+format, args...)
	l.fatal(err)
	panic(err)
}
