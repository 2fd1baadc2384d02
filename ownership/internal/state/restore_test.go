package state

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

const restoreURL = "http://example.com/restored"

var (
	backupA = bytes.Repeat([]byte{0xA}, backupIDLen)
	backupB = bytes.Repeat([]byte{0xB}, backupIDLen)
)

func beginOf(id []byte, from, to uint32) *wire.Command {
	return restoreCommand(&wire.Restore{Backup: id, Step: &wire.Restore_Begin{Begin: &wire.Restore_Buckets{From: from, To: to}}})
}

func undoOf(id []byte, from, to uint32) *wire.Command {
	return restoreCommand(&wire.Restore{Backup: id, Step: &wire.Restore_Undo{Undo: &wire.Restore_Buckets{From: from, To: to}}})
}

func putOf(id []byte, pairs ...*wire.Restore_Pair) *wire.Command {
	return restoreCommand(&wire.Restore{Backup: id, Step: &wire.Restore_Put{Put: &wire.Restore_Records{Pairs: pairs}}})
}

func endOf(id []byte, from uint32, buckets ...*wire.Bucket) *wire.Command {
	return restoreCommand(&wire.Restore{Backup: id, Step: &wire.Restore_End_{End: &wire.Restore_End{From: from, Buckets: buckets}}})
}

func restoreCommand(r *wire.Restore) *wire.Command {
	return &wire.Command{Change: &wire.Command_Restore{Restore: r}}
}

// TestRestoreSteps: a bucket that was begun takes the backup's records, as often as they
// come, and nothing else; then it goes on beyond what was given before.
func TestRestoreSteps(t *testing.T) {
	m := newMachine(t)
	id := channel.IDOf(restoreURL)
	b := uint32(id.Bucket())
	subscribeTo := subscribeCommand(&wire.Subscribe_Item{Channel: id[:], Url: restoreURL, SinkType: "sse"})
	member := &wire.Restore_Pair{Key: channelItemKey(kindMember, id, 7), Value: marshal(t, &wire.Subscription{SinkType: "sse", CreatedUs: 5, FromVersion: 2})}
	record := &wire.Restore_Pair{Key: channelKey(kindChannel, id), Value: marshal(t, &wire.Channel{Url: restoreURL, Incarnation: 3, Version: 4, Subscribers: 1, Oldest: 4, OldestStamp: 9})}
	update := &wire.Restore_Pair{Key: channelItemKey(kindUpdate, id, 4), Value: marshal(t, &wire.Update{Incarnation: 3, Stamp: 9, Data: []byte("news")})}
	bucket := &wire.Bucket{LastSeq: 7, LastIncarnation: 3, LastStamp: 9, Channels: 1, Subscriptions: 1, UpdateBytes: 4}
	at := day0
	do := func(want error, command *wire.Command) Result {
		t.Helper()
		at = at.Add(time.Second)
		r := m.apply(t, at, command)
		if !errors.Is(r.Err, want) {
			t.Errorf("%v: %v, want %v", command, r.Err, want)
		}
		return r
	}
	do(ErrInvalid, putOf(backupA, member)) // not begun
	do(nil, beginOf(backupA, 0, b))
	do(ErrRestoring, beginOf(backupB, b, b))
	do(nil, undoOf(backupB, 0, b)) // of another: no effect
	do(ErrRestoring, &wire.Command{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Bucket: b, Seq: 7}}})
	if r := do(nil, subscribeTo); !errors.Is(r.Subscribed[0].Err, ErrRestoring) {
		t.Errorf("subscribe meanwhile: %v", r.Subscribed[0].Err)
	}
	unknown := func() {
		t.Helper()
		ids := []string{SubscriptionID(channel.Bucket(b), 7)}
		for name, read := range map[string]func() error{
			"channel":              func() error { _, err := m.states.Channel(id); return err },
			"updates":              func() error { _, _, err := m.states.Updates(id, 1, 1); return err },
			"subscription":         func() error { _, err := m.states.Subscription(ids[0]); return err },
			"beginning":            func() error { _, err := m.states.Beginnings(t.Context(), ids, false); return err },
			"beginning, existence": func() error { _, err := m.states.Beginnings(t.Context(), ids[:1], true); return err },
		} {
			if err := read(); !errors.Is(err, ErrRestoring) && !(err == nil && name == "beginning, existence") {
				t.Errorf("%s, before all of the backup has come: %v", name, err)
			}
		}
	}
	unknown()
	do(nil, putOf(backupA, member))
	unknown()
	for range 2 {
		do(nil, beginOf(backupA, 0, b))
		do(nil, putOf(backupA, record, update, member))
	}
	before := dump(t, m.db)
	do(ErrInvalid, putOf(backupA, member, &wire.Restore_Pair{Key: bucketKey(channel.Bucket(b)), Value: marshal(t, bucket)}))
	do(ErrInvalid, endOf(backupB, b, bucket))
	do(ErrInvalid, endOf(backupA, b, &wire.Bucket{LastSeq: maxSeq}))
	if after := dump(t, m.db); len(after) != len(before) {
		t.Errorf("refused commands left %d records of %d", len(after), len(before))
	}
	for range 2 {
		do(nil, endOf(backupA, b, bucket))
	}
	do(nil, putOf(backupA, member)) // late, of an attempt before: no effect
	c, err := m.states.Channel(id)
	if err != nil || c.Version != 4 || c.Incarnation != 3+incarnationLeap {
		t.Errorf("channel %+v, %v", c, err)
	}
	if channels, subscriptions := m.Counts(); channels != 1 || subscriptions != 1 || m.UpdateBytes() != 4 {
		t.Errorf("%d channels, %d subscriptions, %d bytes of updates", channels, subscriptions, m.UpdateBytes())
	}
	updates, _, err := m.states.Updates(id, 3, 10)
	if err != nil || len(updates) != 1 || updates[0].Incarnation != c.Incarnation {
		t.Errorf("updates %+v, %v", updates, err)
	}
	if r := do(nil, subscribeTo); r.Subscribed[0].Seq != 7+seqLeap+1 {
		t.Errorf("the next subscription: %+v", r.Subscribed[0])
	}
	do(ErrNotFresh, beginOf(backupB, b, b))
	do(nil, undoOf(backupA, 0, b)) // calls off what has no records: the rest of them
	do(nil, beginOf(backupB, 0, b-1))
	m.open(t, channel.Range{To: channel.Buckets - 1}) // what is on disk is what was in memory
	if channels, subscriptions := m.Counts(); channels != 1 || subscriptions != 2 {
		t.Errorf("on disk: %d channels, %d subscriptions", channels, subscriptions)
	}
}

// TestNewsOfRestored: updates that a backup has brought are only in the state, also where the clock
// of its cluster was ahead.
func TestNewsOfRestored(t *testing.T) {
	m := newMachine(t)
	id, ahead := channel.IDOf(restoreURL), wire.Micros(day0.Add(time.Hour))
	m.apply(t, day0, beginOf(backupA, 0, uint32(id.Bucket())))
	m.apply(t, day0, putOf(backupA,
		&wire.Restore_Pair{Key: channelKey(kindChannel, id), Value: marshal(t, &wire.Channel{Url: restoreURL, Incarnation: 3, Version: 4, Subscribers: 1, Oldest: 4, OldestStamp: ahead})},
		&wire.Restore_Pair{Key: channelItemKey(kindUpdate, id, 4), Value: marshal(t, &wire.Update{Incarnation: 3, Stamp: ahead, Data: []byte("news")})},
	))
	if !m.Restoring() {
		t.Error("it is not being restored")
	}
	m.apply(t, day0, endOf(backupA, uint32(id.Bucket()), &wire.Bucket{LastSeq: 7, LastIncarnation: 3, LastStamp: ahead, Channels: 1, Subscriptions: 1, UpdateBytes: 4}))
	if updates, _, ok := m.news.since(channel.EndOf(ahead-1), ahead, 10); ok {
		t.Errorf("all that there is of it in memory is %v", updates)
	}
	m.apply(t, day0, undoOf(backupA, 0, uint32(id.Bucket()-1)))
	if m.Restoring() {
		t.Error("it is still being restored")
	}
}

// TestForeignRecords: what no node writes is refused before anything is put.
func TestForeignRecords(t *testing.T) {
	id, other := channel.IDOf(restoreURL), channel.IDOf("http://example.com/other")
	b := id.Bucket()
	good := marshal(t, &wire.Channel{Url: restoreURL, Incarnation: 1})
	for what, pair := range map[string]*wire.Restore_Pair{
		"no key":                {},
		"unknown kind":          {Key: channelKey('z', id)},
		"index":                 {Key: bucketItemKey(b, kindSeq, 1), Value: id[:]},
		"of the node":           {Key: AppliedKey(1)},
		"beyond the buckets":    {Key: append(kindPrefix(channel.Buckets, kindChannel), id[:]...), Value: good},
		"long key":              {Key: append(channelKey(kindChannel, id), 0), Value: good},
		"short key":             {Key: channelKey(kindChannel, id)[:20], Value: good},
		"of another bucket":     {Key: append(kindPrefix(b+1, kindChannel), id[:]...), Value: good},
		"another's URL":         {Key: channelKey(kindChannel, other), Value: good},
		"no record":             {Key: channelKey(kindChannel, id), Value: []byte{0xFF}},
		"unknown field":         {Key: channelKey(kindChannel, id), Value: append(bytes.Clone(good), 0xF8, 0x7F, 1)},
		"no incarnation":        {Key: channelKey(kindChannel, id), Value: marshal(t, &wire.Channel{Url: restoreURL})},
		"no sink":               {Key: channelItemKey(kindMember, id, 1), Value: marshal(t, &wire.Subscription{})},
		"no number":             {Key: channelItemKey(kindMember, id, 0), Value: marshal(t, &wire.Subscription{SinkType: "sse"})},
		"large judge":           {Key: channelKey(kindJudge, id), Value: make([]byte, maxJudge+1)},
		"straggler":             {Key: channelItemKey(kindStraggler, id, 1), Value: []byte{1}},
		"stamp of an update":    {Key: bucketItemKey(b, kindStamp, 1), Value: marshal(t, &wire.Stamped{Channel: id[:], Version: 2})},
		"another's notice":      {Key: bucketItemKey(b, kindStamp, 1), Value: marshal(t, &wire.Stamped{Channel: other[:], GoneUs: 2})},
		"endpoint":              {Key: channelKey(kindEndpoint, id), Value: marshal(t, &wire.Endpoint{Url: "https://other.example/"})},
		"digest":                {Key: dayKey(b, kindClaim, 1, id[:]), Value: marshal(t, &wire.Claimed{Digest: []byte{1}})},
		"bucket being restored": {Key: bucketKey(b), Value: marshal(t, &wire.Bucket{Restoring: true})},
	} {
		if r, err := readRecord(pair.Key, pair.Value); err == nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if _, err := readRecord(channelKey(kindChannel, id), good); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// TestInventory: a bucket's record and what it has must agree.
func TestInventory(t *testing.T) {
	id := channel.IDOf(restoreURL)
	b := id.Bucket()
	for _, test := range []struct {
		bucket *wire.Bucket
		ok     bool
	}{
		{&wire.Bucket{Channels: 1, LastSeq: 1}, true},
		{&wire.Bucket{Channels: 2}, false},
		{&wire.Bucket{Channels: 1, Subscriptions: 1}, false},
		{&wire.Bucket{Channels: 1, UpdateBytes: 1}, false},
	} {
		i := NewInventory(0, channel.Buckets-1)
		err := i.Add(bucketKey(b), marshal(t, test.bucket))
		if err == nil {
			err = i.Add(channelKey(kindChannel, id), marshal(t, &wire.Channel{Url: restoreURL, Incarnation: 1}))
		}
		counts, buckets, ended := i.End()
		if err != nil || (ended == nil) != test.ok || counts.Channels != 1 || buckets[b].GetChannels() != test.bucket.Channels {
			t.Errorf("%v: %v, %v, %+v", test.bucket, err, ended, counts)
		}
		if err := i.Add(bucketKey(b-1), nil); err == nil {
			t.Error("a bucket behind a later one")
		}
	}
	i := NewInventory(b, b)
	if err := i.Add(bucketKey(b+1), nil); err == nil {
		t.Error(fmt.Sprint("bucket ", b+1, " in a range of ", b))
	}
}
