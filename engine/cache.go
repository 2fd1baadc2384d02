package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// cache keeps what the poller holds of each channel, on disk: a record, and core
// content addressed by its hash. Nothing in it is the truth of anything: what is
// lost is fetched again. Content is synced when it is staged, since the owner may
// commit what it is the base of; records are not, and writes reach the disk in
// their order, so that a record is never there without its content.
//
//	'f'                 the format of all keys
//	'r' channel         record
//	'c' channel hash    content: the core's text
type cache struct {
	db *pebble.DB
}

const (
	formatKey     = 'f'
	recordPrefix  = 'r'
	contentPrefix = 'c'
)

// cacheFormat counts the formats of the cache's keys. A directory of a higher one
// is refused.
const cacheFormat = 1

// errFormat says that another version of the program wrote the cache.
var errFormat = errors.New("content cache was written by a newer version of corona")

func openCache(config Config) (*cache, error) {
	db, err := pebble.Open(config.Dir, cacheOptions(config))
	if err != nil {
		return nil, fmt.Errorf("open content cache (it may be deleted: contents are fetched again): %w", err)
	}
	c := &cache{db}
	if err := c.checkFormat(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

func cacheOptions(config Config) *pebble.Options {
	options := &pebble.Options{
		FS:                 config.fs,
		FormatMajorVersion: pebble.FormatValueSeparation,
		CacheSize:          config.CacheMemory,
		MemTableSize:       16 << 20,
		MaxOpenFiles:       500,
		Logger:             pebbleLogger{config.Logger},
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	return options
}

func (c *cache) checkFormat() error {
	format, ok, err := c.get([]byte{formatKey})
	if err != nil {
		return fmt.Errorf("read the content cache's format: %w", err)
	}
	if !ok {
		return c.db.Set([]byte{formatKey}, []byte{cacheFormat}, pebble.Sync)
	}
	if len(format) != 1 || format[0] > cacheFormat {
		return fmt.Errorf("%w: format %x, this one reads %d", errFormat, format, cacheFormat)
	}
	return nil
}

func (c *cache) close() error { return c.db.Close() }

// bytes returns the size of the cache on disk.
func (c *cache) bytes() uint64 { return c.db.Metrics().DiskSpaceUsage() }

// record returns a channel's record; ok is false when there is none. One that
// cannot be read is an error, once: it is removed.
func (c *cache) record(id channel.ID) (r record, ok bool, err error) {
	data, ok, err := c.get(recordKey(id))
	if err != nil || !ok {
		return record{}, false, err
	}
	if r, err = parseRecord(data); err != nil {
		return record{}, false, errors.Join(fmt.Errorf("channel %s: %w", id, err), c.db.Delete(recordKey(id), pebble.NoSync))
	}
	return r, true, nil
}

// content returns a channel's content by its hash, nil when the cache has it not.
// Content that is not what its hash says is as good as none, and removed.
func (c *cache) content(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	text, ok, err := c.get(contentKey(id, hash))
	if err != nil || !ok {
		return nil, err
	}
	core, err := deltas.ParseCore(text)
	if err != nil || core.Hash != hash {
		return nil, c.db.Delete(contentKey(id, hash), pebble.NoSync)
	}
	return core, nil
}

// get returns a copy of a value, which is the caller's.
func (c *cache) get(key []byte) (value []byte, ok bool, err error) {
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

// stage makes content durable before anybody knows whether it will be a version:
// if it is, and we crash before we hear of it, the next change needs it as its
// base. Concurrent stages share a sync.
func (c *cache) stage(id channel.ID, core *deltas.Core) error {
	return c.db.Set(contentKey(id, core.Hash), core.Text, pebble.Sync)
}

// stageAlone is stage for a channel of which the cache may hold other content: all
// but what has one of the hashes is removed, so that a page that is another each
// time leaves no more than that.
func (c *cache) stageAlone(id channel.ID, core *deltas.Core, keep ...deltas.Hash) error {
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := c.prune(batch, id, append(keep, core.Hash)); err != nil {
		return err
	}
	if err := batch.Set(contentKey(id, core.Hash), core.Text, nil); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
}

// setRecord says what is held of a channel.
func (c *cache) setRecord(id channel.ID, r record) error {
	return c.db.Set(recordKey(id), r.append(nil), pebble.NoSync)
}

// adopt is setRecord for another version, whose content is staged: content of the
// other hashes is removed.
func (c *cache) adopt(id channel.ID, r record, others ...deltas.Hash) error {
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(recordKey(id), r.append(nil), nil); err != nil {
		return err
	}
	for _, hash := range others {
		if hash == r.hash || hash == (deltas.Hash{}) {
			continue
		}
		if err := batch.Delete(contentKey(id, hash), nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.NoSync)
}

// purge removes all that is known of a channel.
func (c *cache) purge(id channel.ID) error {
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Delete(recordKey(id), nil); err != nil {
		return err
	}
	if err := c.prune(batch, id, nil); err != nil {
		return err
	}
	return batch.Commit(pebble.NoSync)
}

// prune removes a channel's content but what has one of the hashes.
func (c *cache) prune(batch *pebble.Batch, id channel.ID, keep []deltas.Hash) error {
	lower := contentKey(id, deltas.Hash{})
	upper := append(contentKey(id, lastHash), 0)
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

// each calls visit with every channel that the cache knows something of, some of
// them twice, until it returns false.
func (c *cache) each(visit func(channel.ID) bool) error {
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
			valid = iter.SeekGE(append(contentKeyOf(prefix, id, lastHash), 0))
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

func recordKey(id channel.ID) []byte { return append([]byte{recordPrefix}, id[:]...) }

func contentKey(id channel.ID, hash deltas.Hash) []byte { return contentKeyOf(contentPrefix, id, hash) }

func contentKeyOf(prefix byte, id channel.ID, hash deltas.Hash) []byte {
	key := make([]byte, 0, 1+channel.IDLen+len(hash)+1)
	return append(append(append(key, prefix), id[:]...), hash[:]...)
}

// pebbleLogger passes on what goes wrong. Fatalf must not return: a write-ahead
// log that cannot be written leaves nothing to go on with.
type pebbleLogger struct{ logger *slog.Logger }

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.logger.Error("content cache", "error", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	panic("content cache: " + fmt.Sprintf(format, args...))
}
