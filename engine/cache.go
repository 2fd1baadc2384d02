package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// cache keeps what the poller holds of each channel, on disk: a record, and core
// content addressed by its hash. Nothing in it is the truth of anything: what is
// lost is fetched again. Content is synced when it is staged, since the owner may
// commit what it is the base of; records are a second later, and writes reach the
// disk in their order, so that a record is never there without its content.
//
//	'r' channel         record
//	'c' channel hash    content, packed (package deltas); as text, if an older program wrote it
type cache struct {
	db       *pebble.DB
	packer   *deltas.Packer
	volume   *volume.Volume
	unsynced chan struct{} // there are writes that a kill would lose: they wait in memory
	damaged  chan damage
}

// damage is a file of the cache that cannot be read, with the run of keys that it
// holds, the last one included.
type damage struct {
	path        string
	first, last []byte
}

const (
	recordPrefix  = 'r'
	contentPrefix = 'c'
)

func (c *cache) close() error { return c.db.Close() }

// isDamaged is told by pebble that a file cannot be read. Pebble by itself would end
// the process, at each start again. While one is being removed others wait to be met
// again.
func (c *cache) isDamaged(info pebble.DataCorruptionInfo) {
	select {
	case c.damaged <- damage{info.Path, slices.Clone(info.Bounds.Start), slices.Clone(info.Bounds.End.Key)}:
	default:
	}
}

// cut removes all that the cache holds where a file is damaged, and with it the files
// that lie there, without reading them.
func (c *cache) cut(ctx context.Context, d damage) error {
	return c.db.Excise(ctx, pebble.KeyRange{Start: d.first, End: append(d.last, 0)})
}

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

// records returns records in the order of their keys, of at most so many channels
// behind one, and the last of these; ok is false at the end. Those that cannot be read
// are left out: whoever asks for one by itself meets the error.
func (c *cache) records(after channel.ID, most int) (all []recorded, last channel.ID, ok bool, err error) {
	options := &pebble.IterOptions{LowerBound: append(recordKey(after), 0), UpperBound: []byte{recordPrefix + 1}}
	iter, err := c.db.NewIter(options)
	if err != nil {
		return nil, after, false, err
	}
	last = after
	all = make([]recorded, 0, most)
	for valid := iter.First(); valid && !ok; valid = iter.Next() {
		copy(last[:], iter.Key()[1:])
		if r, err := parseRecord(iter.Value()); err == nil {
			all = append(all, recorded{last, r})
		}
		most--
		ok = most == 0
	}
	return all, last, ok, errors.Join(iter.Error(), iter.Close())
}

// recorded is a channel's record.
type recorded struct {
	id     channel.ID
	record record
}

// content returns a channel's content by its hash, nil when the cache has it not.
// Content that is not what its hash says is as good as none, and removed.
func (c *cache) content(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	packed, ok, err := c.get(contentKey(id, hash))
	if err != nil || !ok {
		return nil, err
	}
	core, err := c.packer.Unpack(packed)
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
	if err := c.room(); err != nil {
		return err
	}
	return c.db.Set(contentKey(id, core.Hash), c.packer.Append(nil, core), pebble.Sync)
}

// stageAlone is stage for a channel of which the cache may hold other content: all
// but what has one of the hashes is removed, so that a page that is another each
// time leaves no more than that.
func (c *cache) stageAlone(id channel.ID, core *deltas.Core, keep ...deltas.Hash) error {
	if err := c.room(); err != nil {
		return err
	}
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := c.prune(batch, id, append(keep, core.Hash)); err != nil {
		return err
	}
	if err := batch.Set(contentKey(id, core.Hash), c.packer.Append(nil, core), nil); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
}

// errNoSpace says that the disk is too full for what a poll found.
var errNoSpace = errors.New("disk nearly full")

// room returns errNoSpace while the disk is full: what a cache holds can wait.
func (c *cache) room() error {
	if c.volume.Level() == volume.Critical {
		return errNoSpace
	}
	return nil
}

// setRecord says what is held of a channel.
func (c *cache) setRecord(id channel.ID, r record) error {
	if err := c.room(); err != nil {
		return err
	}
	defer c.waits()
	return c.db.Set(recordKey(id), r.append(nil), pebble.NoSync)
}

// waits says that something waits to be synced.
func (c *cache) waits() {
	select {
	case c.unsynced <- struct{}{}:
	default:
	}
}

// sync puts on disk what has been written without.
func (c *cache) sync() error { return c.db.LogData(nil, pebble.Sync) }

// adopt is setRecord for another version: content of the other hashes is removed.
// Its own content is written with the record, unless it is staged already: then it
// is nil.
func (c *cache) adopt(id channel.ID, r record, core *deltas.Core, others ...deltas.Hash) error {
	defer c.waits()
	batch := c.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(recordKey(id), r.append(nil), nil); err != nil {
		return err
	}
	if core != nil {
		if err := batch.Set(contentKey(id, core.Hash), c.packer.Append(nil, core), nil); err != nil {
			return err
		}
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
