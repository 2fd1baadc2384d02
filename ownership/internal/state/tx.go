package state

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Tx collects the changes of some entries. Reads see the changes. Channel and
// bucket records are kept decoded, since bulk changes meet the same ones often.
type Tx struct {
	m *Machine
	changes
	applied  position
	to       channel.Bucket // the last one
	spanned  bool           // see Machine
	buckets  map[channel.Bucket]*wire.Bucket
	channels map[channel.ID]*wire.Channel // nil for one that does not exist
	dirty    map[channel.ID]int           // of channels, to be written: the last command that touched it
	expired  map[channel.Bucket]bool      // buckets that forgot keys
	compared []channel.Bucket             // to be hashed as they are behind the entry
	restored bool                         // buckets began to take a backup's records, have them all, or take none after all
	telling  bool                         // events are worth building
	events   []func(Observer)
	news     []channel.Update

	term uint64 // of the entry being applied

	// Of the command being applied.
	command int
	now     uint64           // its time
	touched []channel.ID     // channels that it changed, in order
	pending []func(Observer) // events, told after the touched channels
}

// Begin begins a transaction onto the state, which ends with Write or Drop. Telling says
// that Tell will be called.
func (m *Machine) Begin(telling bool) *Tx {
	return &Tx{
		m: m, changes: changes{db: m.db},
		applied:  m.applied,
		to:       m.last(),
		spanned:  m.spanned,
		buckets:  make(map[channel.Bucket]*wire.Bucket),
		channels: make(map[channel.ID]*wire.Channel),
		dirty:    make(map[channel.ID]int),
		expired:  make(map[channel.Bucket]bool),
		telling:  telling,
	}
}

// Tell tells the observer of the changes, in the order of the commands.
func (tx *Tx) Tell(o Observer) {
	for _, tell := range tx.events {
		tell(o)
	}
}

// start starts a command. Its time is the given one, or later: times rise with each
// command of a range, whatever the clocks of its leaders say, so that one that has been
// applied closes all before it.
func (tx *Tx) start(timeUS uint64) {
	tx.command++
	if planted.Bug(10) {
		timeUS = wire.Micros(time.Now())
	}
	tx.applied.timeUS = max(tx.applied.timeUS+1, timeUS)
	if planted.Bug(11) { // this alone would still hide a clock that is not primed
		tx.applied.timeUS = timeUS
	}
	tx.now = tx.applied.timeUS
}

// finish turns what the command did into events: the channels first.
func (tx *Tx) finish() {
	if tx.telling {
		for _, id := range tx.touched {
			c := channelOf(id, tx.channels[id])
			tx.events = append(tx.events, func(o Observer) { o.ChannelChanged(c, false) })
		}
		tx.events = append(tx.events, tx.pending...)
	}
	tx.touched, tx.pending = tx.touched[:0], tx.pending[:0]
}

// tell adds an event of the command.
func (tx *Tx) tell(event func(Observer)) { tx.pending = append(tx.pending, event) }

// commit writes everything, and the applied index with it.
func (tx *Tx) commit() error {
	var value []byte
	for id := range tx.dirty {
		record := tx.channels[id]
		var err error
		if value, err = (proto.MarshalOptions{}).MarshalAppend(value[:0], record); err != nil {
			return fmt.Errorf("encode record: %w", err)
		}
		if err := tx.putRaw(channelKey(kindChannel, id), value); err != nil {
			return err
		}
		if record.Subscribers > 1 || record.Version > 1 {
			tx.m.recent.put(id, value)
		} else {
			tx.m.recent.forget(id)
		}
	}
	for b, state := range tx.buckets {
		if err := tx.put(bucketKey(b), state); err != nil {
			return err
		}
	}
	at := &wire.Applied{Index: tx.applied.index, TimeUs: tx.applied.timeUS}
	if tx.spanned {
		at.Span = &wire.Span{From: uint32(tx.m.from), To: uint32(tx.to)}
	}
	if err := tx.put(AppliedKey(tx.m.group), at); err != nil {
		return err
	}
	return tx.changes.commit()
}

// id reads a channel's or a key's ID. Its error is ErrInvalid, or ErrMoved for one of
// another range.
func (tx *Tx) id(text string) (channel.ID, error) {
	id, err := textID(text)
	if err == nil {
		err = tx.own(id.Bucket())
	}
	return id, err
}

// own refuses a bucket of another range, and one that a backup is being restored to.
func (tx *Tx) own(b channel.Bucket) error {
	if err := tx.inRange(b); err != nil {
		return err
	}
	if tx.look(b).Restoring {
		return ErrRestoring
	}
	return nil
}

func (tx *Tx) inRange(b channel.Bucket) error {
	if b < tx.m.from || b > tx.to {
		return fmt.Errorf("%w: bucket %d is not in range %d, %d to %d", ErrMoved, b, tx.m.group, tx.m.from, tx.to)
	}
	return nil
}

// bucket returns the record of a bucket of this range, to be changed.
func (tx *Tx) bucket(b channel.Bucket) *wire.Bucket {
	state, ok := tx.buckets[b]
	if !ok {
		state = copyBucket(tx.look(b))
		tx.buckets[b] = state
	}
	return state
}

// look returns the record of a bucket of this range, only to be read.
func (tx *Tx) look(b channel.Bucket) *wire.Bucket {
	if state, ok := tx.buckets[b]; ok {
		return state
	}
	return tx.m.buckets[b-tx.m.from]
}

// channel returns a channel's record, nil if it does not exist. A caller that
// changes it calls touch.
func (tx *Tx) channel(id channel.ID) (*wire.Channel, error) {
	if record, ok := tx.channels[id]; ok {
		return record, nil
	}
	if value := tx.m.recent.records[id]; value != nil {
		record := &wire.Channel{}
		tx.channels[id] = record
		return record, unmarshal(channelKey(kindChannel, id), value, record)
	}
	may, err := tx.m.mayHave(kindChannel, id.Bucket(), id)
	if err != nil {
		return nil, err
	}
	var record *wire.Channel
	if may {
		// Not from the changes: they have only what tx.channels has too.
		if record, err = getChannel(tx.m.db, id); isMissing(err) {
			record, err = nil, nil
		}
	}
	if err == nil {
		tx.channels[id] = record
	}
	return record, err
}

// create makes a channel's record.
func (tx *Tx) create(id channel.ID, url string) (*wire.Channel, error) {
	bucket := tx.bucket(id.Bucket())
	bucket.LastIncarnation++
	bucket.Channels++
	record := &wire.Channel{Url: url, Incarnation: bucket.LastIncarnation, CreatedUs: tx.now}
	tx.channels[id] = record
	return record, tx.m.willHave(kindChannel, id.Bucket(), id)
}

// touch says that the command changed a channel's record.
func (tx *Tx) touch(id channel.ID) {
	if tx.dirty[id] != tx.command {
		tx.dirty[id] = tx.command
		tx.touched = append(tx.touched, id)
	}
}

// save notes that the command changed a channel's record in a way that makes no event.
func (tx *Tx) save(id channel.ID) {
	if _, ok := tx.dirty[id]; !ok {
		tx.dirty[id] = 0
	}
}

// forget removes a channel's record.
func (tx *Tx) forget(id channel.ID) error {
	tx.channels[id] = nil
	delete(tx.dirty, id)
	tx.m.recent.forget(id)
	return tx.delete(channelKey(kindChannel, id))
}

// get reads a record; its error is pebble.ErrNotFound if there is none.
func (tx *Tx) get(key []byte, record proto.Message) error {
	r, err := tx.reader()
	if err != nil {
		return err
	}
	return Get(r, key, record)
}

// has says whether a key exists.
func (tx *Tx) has(key []byte) (bool, error) {
	r, err := tx.reader()
	if err != nil {
		return false, err
	}
	_, closer, err := r.Get(key)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, disk.ReadError("read state", err)
	}
	return true, closer.Close()
}

// scan calls visit for the keys from start to the end of the prefix until it
// returns false. Keys and values hold for the call only; visit may change state.
func (tx *Tx) scan(prefix, start []byte, visit func(key, value []byte) (bool, error)) error {
	r, err := tx.reader()
	if err != nil {
		return err
	}
	return scan(r, prefix, start, visit)
}

// deletePrefix deletes all keys with the prefix, one by one: a range deletion for
// a handful of keys would cost every later read of the neighbourhood.
func (tx *Tx) deletePrefix(prefix []byte) error {
	return tx.scan(prefix, prefix, func(key, _ []byte) (bool, error) { return true, tx.delete(key) })
}

// scan reads the keys with prefix, from start on.
func scan(r pebble.Reader, prefix, start []byte, visit func(key, value []byte) (bool, error)) error {
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return disk.ReadError("read state", err)
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
	return disk.ReadError("read state", iter.Close())
}

// Get reads a record; its error is pebble.ErrNotFound if there is none.
func Get(r pebble.Reader, key []byte, record proto.Message) error {
	value, closer, err := r.Get(key)
	if isMissing(err) {
		return err
	}
	if err != nil {
		return disk.ReadError("read state", err)
	}
	if err := proto.Unmarshal(value, record); err != nil {
		return errors.Join(misfit("record at key %x: %w", key, err), closer.Close())
	}
	return closer.Close()
}
