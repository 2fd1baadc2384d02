package state

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// InBackup says whether a backup has a key. It has all but the indexes that follow from
// other keys, and what is a range's or a node's. The error is ErrRestoring for a bucket that
// has not all of its records yet.
func InBackup(key, value []byte) (bool, error) {
	switch b, kind := keyBucket(key); {
	case b == systemBucket, kind == kindSeq:
		return false, nil
	case kind == kindStamp: // only the notice that a channel is gone is nowhere else
		stamped := &wire.Stamped{}
		err := unmarshal(key, value, stamped)
		return stamped.GoneUs > 0, err
	case kind == kindBucket:
		bucket := &wire.Bucket{}
		err := unmarshal(key, value, bucket)
		if err == nil && bucket.Restoring {
			err = ErrRestoring
		}
		return true, err
	default:
		return true, nil
	}
}

// Counts are numbers of records.
type Counts struct {
	Records, Bytes uint64 // of all kinds; bytes of keys and values
	Channels       uint64
	Subscriptions  uint64
	Updates        uint64
	Endpoints      uint64
	Keys           uint64 // idempotency keys, each at its claim or its subscription
	Positions      uint64
}

// Plus returns the sums of both.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		Records: c.Records + d.Records, Bytes: c.Bytes + d.Bytes, Channels: c.Channels + d.Channels,
		Subscriptions: c.Subscriptions + d.Subscriptions, Updates: c.Updates + d.Updates,
		Endpoints: c.Endpoints + d.Endpoints, Keys: c.Keys + d.Keys, Positions: c.Positions + d.Positions,
	}
}

// Inventory checks the records of a range as a backup has them: each by itself, and
// those of a bucket against what the bucket's record says of them. It takes them in the
// order of their keys.
type Inventory struct {
	from, to channel.Bucket
	counts   Counts
	buckets  []*wire.Bucket
	bucket   channel.Bucket
	in       wire.Bucket // what was counted in bucket
}

// NewInventory returns one of a range's buckets.
func NewInventory(from, to channel.Bucket) *Inventory {
	i := &Inventory{from: from, to: to, bucket: from, buckets: make([]*wire.Bucket, int(to-from)+1)}
	for b := range i.buckets {
		i.buckets[b] = &wire.Bucket{}
	}
	return i
}

// Add takes the next record. An error says what is wrong with it, or with the bucket
// before its own.
func (i *Inventory) Add(key, value []byte) error {
	r, err := readRecord(key, value)
	if err != nil {
		return err
	}
	if r.bucket < i.from || r.bucket > i.to || r.bucket < i.bucket {
		return fmt.Errorf("record %x is of bucket %d, after %d of %d to %d", key, r.bucket, i.bucket, i.from, i.to)
	}
	if r.bucket > i.bucket {
		if err := i.endBucket(); err != nil {
			return err
		}
		i.bucket, i.in = r.bucket, wire.Bucket{}
	}
	i.counts.Records++
	i.counts.Bytes += uint64(len(key) + len(value))
	i.count(r)
	return nil
}

func (i *Inventory) count(r record) {
	switch m := r.message.(type) {
	case *wire.Bucket:
		i.buckets[r.bucket-i.from] = m
	case *wire.Channel:
		i.counts.Channels++
		i.in.Channels++
	case *wire.Subscription:
		i.counts.Subscriptions++
		i.in.Subscriptions++
	case *wire.Update:
		i.counts.Updates++
		i.in.UpdateBytes += uint64(len(m.Data) + len(m.Patch))
	case *wire.Endpoint:
		i.counts.Endpoints++
	case *wire.Claimed, *wire.Done:
		i.counts.Keys++
	case *wire.Position:
		i.counts.Positions++
	}
}

// endBucket compares what a bucket has with what its record says.
func (i *Inventory) endBucket() error {
	says := i.buckets[i.bucket-i.from]
	if says.Channels != i.in.Channels || says.Subscriptions != i.in.Subscriptions || says.UpdateBytes != i.in.UpdateBytes {
		return fmt.Errorf("bucket %d has %d channels, %d subscriptions, %d bytes of updates; should have %d, %d, %d", i.bucket,
			i.in.Channels, i.in.Subscriptions, i.in.UpdateBytes, says.Channels, says.Subscriptions, says.UpdateBytes)
	}
	return nil
}

// Counts returns what was counted so far.
func (i *Inventory) Counts() Counts { return i.counts }

// End returns what was counted, and the records of all buckets of the range.
func (i *Inventory) End() (Counts, []*wire.Bucket, error) { return i.counts, i.buckets, i.endBucket() }

// record is one of a backup's, checked by itself.
type record struct {
	bucket  channel.Bucket
	kind    byte
	id      channel.ID // that the key names; of the kinds of one bucket, zero
	item    uint64     // at the key's end, where it has one
	message proto.Message
}

// shape says what the keys and values of a kind look like.
type shape struct {
	day, item bool // the key has one before, or behind, its ID
	elsewhere bool // its ID is of any bucket
	noID      bool
	message   func() proto.Message // nil: bytes
}

var shapes = map[byte]shape{
	kindBucket:    {noID: true, message: func() proto.Message { return &wire.Bucket{} }},
	kindChannel:   {message: func() proto.Message { return &wire.Channel{} }},
	kindJudge:     {},
	kindSeen:      {item: true, message: func() proto.Message { return &wire.Seen{} }},
	kindPosition:  {message: func() proto.Message { return &wire.Position{} }},
	kindStraggler: {item: true},
	kindMember:    {item: true, message: func() proto.Message { return &wire.Subscription{} }},
	kindUpdate:    {item: true, message: func() proto.Message { return &wire.Update{} }},
	kindStamp:     {item: true, noID: true, message: func() proto.Message { return &wire.Stamped{} }},
	kindClaim:     {day: true, message: func() proto.Message { return &wire.Claimed{} }},
	kindDone:      {day: true, elsewhere: true, message: func() proto.Message { return &wire.Done{} }},
	kindEndpoint:  {message: func() proto.Message { return &wire.Endpoint{} }},
	kindResting:   {message: func() proto.Message { return &wire.Resting{} }},
}

// readRecord reads one record of a backup, strictly.
func readRecord(key, value []byte) (record, error) {
	if len(key) < 3 {
		return record{}, fmt.Errorf("key %x is too short", key)
	}
	b, kind := keyBucket(key)
	s, known := shapes[kind]
	if !known || b >= channel.Buckets {
		return record{}, fmt.Errorf("key %x is of no kind that backups have", key)
	}
	r := record{bucket: b, kind: kind}
	rest := key[3:]
	if s.day {
		rest = rest[min(4, len(rest)):]
	}
	if !s.noID && len(rest) >= channel.IDLen {
		r.id = channel.ID(rest[:channel.IDLen])
		rest = rest[channel.IDLen:]
	}
	if s.item && len(rest) == 8 {
		r.item, rest = binary.BigEndian.Uint64(rest), nil
	}
	if len(rest) > 0 || len(key) != s.keyLen() || !s.noID && !s.elsewhere && r.id.Bucket() != b {
		return record{}, fmt.Errorf("key %x is not one of kind %q", key, kind)
	}
	if s.message != nil {
		r.message = s.message()
		if err := proto.Unmarshal(value, r.message); err != nil {
			return record{}, fmt.Errorf("record at key %x: %w", key, err)
		}
		if err := wire.Strict(r.message); err != nil {
			return record{}, fmt.Errorf("record at key %x: %w", key, err)
		}
	}
	return r, r.check(key, value)
}

func (s shape) keyLen() int {
	n := 3
	if s.day {
		n += 4
	}
	if !s.noID {
		n += channel.IDLen
	}
	if s.item {
		n += 8
	}
	return n
}

// check refuses a record that does not go with its key, or that no command makes.
func (r record) check(key, value []byte) error {
	ok := true
	switch m := r.message.(type) {
	case *wire.Bucket:
		ok = !m.Restoring && m.LastSeq <= maxSeq-seqLeap
	case *wire.Channel:
		ok = channel.IDOf(m.Url) == r.id && len(m.Url) <= channel.MaxURL && m.Incarnation > 0
	case *wire.Subscription:
		ok = m.SinkType != "" && len(m.SinkType) <= maxSinkType && r.item > 0 && r.item <= maxSeq
	case *wire.Stamped:
		ok = m.GoneUs > 0 && len(m.Channel) == channel.IDLen && channel.ID(m.Channel).Bucket() == r.bucket
	case *wire.Endpoint:
		ok = channel.IDOf(m.Url) == r.id
	case *wire.Claimed:
		ok = len(m.Digest) == digestLen
	case nil:
		ok = r.kind == kindJudge && len(value) <= maxJudge || r.kind == kindStraggler && len(value) == 8
	}
	if !ok {
		return fmt.Errorf("record at key %x is none that a node writes", key)
	}
	return nil
}

// Restorable returns the bucket of a backup's record, and whether it is put as it is:
// those of buckets are what a restore ends with.
func Restorable(key []byte) (b channel.Bucket, put bool) {
	b, kind := keyBucket(key)
	return b, kind != kindBucket
}
