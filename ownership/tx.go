package ownership

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// tx collects the changes of some commands. Reads see the changes. Channel and
// bucket records are kept decoded, since bulk changes meet the same ones often.
type tx struct {
	f        *fsm
	batch    *pebble.Batch // indexed
	applied  position
	buckets  map[channel.Bucket]*wire.Bucket
	channels map[channel.ID]*wire.Channel // nil for one that does not exist
	dirty    map[channel.ID]int           // of channels, to be written: the last command that touched it
	events   []func(Observer)
	buf      []byte // for encoding

	// Of the command being applied.
	command int
	now     uint64           // its time
	touched []channel.ID     // channels that it changed, in order
	pending []func(Observer) // events, told after the touched channels
}

func newTx(f *fsm) *tx {
	return &tx{
		f: f, batch: f.db.NewIndexedBatch(),
		applied:  f.applied,
		buckets:  make(map[channel.Bucket]*wire.Bucket),
		channels: make(map[channel.ID]*wire.Channel),
		dirty:    make(map[channel.ID]int),
	}
}

func (tx *tx) size() int { return tx.batch.Len() }

// begin starts a command with its time.
func (tx *tx) begin(timeUS uint64) {
	tx.command++
	tx.now = timeUS
	tx.applied.timeUS = max(tx.applied.timeUS, timeUS)
}

// end turns what the command did into events: the channels first.
func (tx *tx) end() {
	if tx.telling() {
		for _, id := range tx.touched {
			c := channelOf(id, tx.channels[id])
			tx.events = append(tx.events, func(o Observer) { o.ChannelChanged(c, false) })
		}
		tx.events = append(tx.events, tx.pending...)
	}
	tx.touched, tx.pending = tx.touched[:0], tx.pending[:0]
}

// telling says whether events are worth building.
func (tx *tx) telling() bool { return tx.f.observer != nil }

// tell adds an event of the command.
func (tx *tx) tell(event func(Observer)) { tx.pending = append(tx.pending, event) }

// commit writes everything, and the applied index with it.
func (tx *tx) commit() error {
	defer tx.batch.Close()
	for id := range tx.dirty {
		if err := tx.put(channelKey(kindChannel, id), tx.channels[id]); err != nil {
			return err
		}
	}
	for b, state := range tx.buckets {
		if err := tx.put(bucketKey(b), state); err != nil {
			return err
		}
	}
	at := &wire.Applied{Index: tx.applied.index, TimeUs: tx.applied.timeUS}
	if err := tx.put(appliedKey(tx.f.group), at); err != nil {
		return err
	}
	return tx.batch.Commit(pebble.NoSync)
}

func (tx *tx) drop() { tx.batch.Close() }

// id reads a channel's or a key's ID. Its error is ErrInvalid, also for one of
// another range.
func (tx *tx) id(b []byte) (channel.ID, error) {
	id, err := wireID(b)
	if err == nil {
		err = tx.own(id.Bucket())
	}
	return id, err
}

func (tx *tx) own(b channel.Bucket) error {
	if b < tx.f.from || b > tx.f.to {
		return fmt.Errorf("%w: bucket %d is not in range %d, %d to %d", ErrInvalid, b, tx.f.group, tx.f.from, tx.f.to)
	}
	return nil
}

// bucket returns the record of a bucket of this range, to be changed.
func (tx *tx) bucket(b channel.Bucket) *wire.Bucket {
	state, ok := tx.buckets[b]
	if !ok {
		state = proto.CloneOf(tx.f.buckets[b-tx.f.from])
		tx.buckets[b] = state
	}
	return state
}

// channel returns a channel's record, nil if it does not exist. Who changes it
// calls touch.
func (tx *tx) channel(id channel.ID) (*wire.Channel, error) {
	if record, ok := tx.channels[id]; ok {
		return record, nil
	}
	record := &wire.Channel{}
	err := tx.get(channelKey(kindChannel, id), record)
	if isMissing(err) {
		record, err = nil, nil
	}
	if err == nil {
		tx.channels[id] = record
	}
	return record, err
}

// touch says that the command changed a channel's record.
func (tx *tx) touch(id channel.ID) {
	if tx.dirty[id] != tx.command {
		tx.dirty[id] = tx.command
		tx.touched = append(tx.touched, id)
	}
}

// save says that the command changed what nobody is told of.
func (tx *tx) save(id channel.ID) {
	if _, ok := tx.dirty[id]; !ok {
		tx.dirty[id] = 0
	}
}

// forget removes a channel's record.
func (tx *tx) forget(id channel.ID) error {
	tx.channels[id] = nil
	delete(tx.dirty, id)
	return tx.delete(channelKey(kindChannel, id))
}

// get reads a record; its error is pebble.ErrNotFound if there is none.
func (tx *tx) get(key []byte, record proto.Message) error { return getProto(tx.batch, key, record) }

func (tx *tx) put(key []byte, record proto.Message) error {
	value, err := proto.MarshalOptions{}.MarshalAppend(tx.buf[:0], record)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	tx.buf = value
	return tx.batch.Set(key, value, nil)
}

func (tx *tx) putRaw(key, value []byte) error { return tx.batch.Set(key, value, nil) }

func (tx *tx) delete(key []byte) error { return tx.batch.Delete(key, nil) }

// has says whether a key exists.
func (tx *tx) has(key []byte) (bool, error) {
	_, closer, err := tx.batch.Get(key)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, readError("read state", err)
	}
	return true, closer.Close()
}

// scan calls visit for the keys from start to the end of the prefix until it
// returns false. Keys and values hold for the call only; visit may change state.
func (tx *tx) scan(prefix, start []byte, visit func(key, value []byte) (bool, error)) error {
	return scan(tx.batch, prefix, start, visit)
}

// deletePrefix deletes all keys with the prefix, one by one: a range deletion for
// a handful of keys would cost every later read of the neighbourhood.
func (tx *tx) deletePrefix(prefix []byte) error {
	return tx.scan(prefix, prefix, func(key, _ []byte) (bool, error) { return true, tx.delete(key) })
}

// scan reads the keys with prefix, from start on.
func scan(r pebble.Reader, prefix, start []byte, visit func(key, value []byte) (bool, error)) error {
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return readError("read state", err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		more, err := visit(iter.Key(), iter.Value())
		if err != nil {
			return errors.Join(err, iter.Close())
		}
		if !more {
			break
		}
	}
	return readError("read state", iter.Close())
}

// getProto reads a record; its error is pebble.ErrNotFound if there is none.
func getProto(r pebble.Reader, key []byte, record proto.Message) error {
	value, closer, err := r.Get(key)
	if isMissing(err) {
		return err
	}
	if err != nil {
		return readError("read state", err)
	}
	if err := proto.Unmarshal(value, record); err != nil {
		return errors.Join(corrupt("record at key %x: %w", key, err), closer.Close())
	}
	return closer.Close()
}
