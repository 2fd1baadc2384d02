package state

import (
	"context"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
)

// hashOf is the hash of a bucket as it is now.
func (m *machine) hashOf(t *testing.T, b channel.Bucket) string {
	t.Helper()
	v, err := m.View(b)
	if err != nil {
		t.Fatal(err)
	}
	return hashed(t, v)
}

func hashed(t *testing.T, v *View) string {
	t.Helper()
	sum, err := v.Hash(context.Background(), func() {})
	if err != nil {
		t.Error(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	return hex.EncodeToString(sum[:])
}

// TestHash: a view shows a bucket as it was; the hash, which all replicas share, is of what
// records say, not of the order of their fields, and of nothing beside the bucket.
func TestHash(t *testing.T) {
	m := newMachine(t)
	url := "http://example.com/"
	id := channel.IDOf(url)
	b := id.Bucket()
	m.apply(t, day0, subscribeCommand(item(url, webhook)))
	const golden = "572cc0682a88bef9dd7463b60bb0f7a8d6c022f257db8a373f280432be17a667"
	v, err := m.View(b)
	if err != nil {
		t.Fatal(err)
	}
	m.apply(t, day0, subscribeCommand(item(url, webhook)))
	if got := hashed(t, v); got != golden {
		t.Errorf("hash %s, want %s", got, golden)
	}
	after := m.hashOf(t, b)
	if after == golden {
		t.Error("a second subscription does not change the hash")
	}
	set := func(key, value []byte) {
		t.Helper()
		if err := m.db.Set(key, value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	set(FirstKey(b+1), []byte("beside"))
	if got := m.hashOf(t, b); got != after {
		t.Errorf("hash %s with a record of another bucket, was %s", got, after)
	}
	key := channelKey(kindChannel, id)
	record := &wire.Channel{}
	if err := Get(m.db, key, record); err != nil {
		t.Fatal(err)
	}
	subscribers := record.Subscribers
	record.Subscribers = 0
	behind := marshal(t, record) // the same record, one field behind all others
	number := record.ProtoReflect().Descriptor().Fields().ByName("subscribers").Number()
	behind = protowire.AppendVarint(protowire.AppendTag(behind, number, protowire.VarintType), subscribers)
	set(key, behind)
	if got := m.hashOf(t, b); got != after {
		t.Errorf("hash %s of a record with another order of fields, was %s", got, after)
	}
	set(key, []byte("no record"))
	broken := m.hashOf(t, b)
	set(key, []byte("no recorD"))
	if other := m.hashOf(t, b); broken == after || other == broken {
		t.Errorf("hashes %s, %s and %s of a record, of none and of another one that is none", after, broken, other)
	}
}

// TestCompareCommand: it is noted, changes nothing, and is refused for a bucket that the range
// has not.
func TestCompareCommand(t *testing.T) {
	m := newMachine(t)
	m.open(t, channel.Range{From: 10, To: 20})
	for b, want := range map[channel.Bucket]error{9: ErrMoved, 10: nil, 20: nil, 21: ErrMoved} {
		tx := m.Begin(false)
		results, err := tx.Apply(marshal(t, &wire.Entry{Commands: []*wire.Command{NewCompare(b)}}))
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(results[0].Err, want) {
			t.Errorf("bucket %d: %v, want %v", b, results[0].Err, want)
		}
		if noted := len(tx.Compared()) == 1; noted != (want == nil) || tx.Size() > 0 {
			t.Errorf("bucket %d: noted %v, %d bytes of changes", b, noted, tx.Size())
		}
		tx.Drop()
	}
}
