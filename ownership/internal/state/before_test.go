package state

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// TestBeforeMoved: a log entry and a record of a version that knew of no moves
// read as they did then.
func TestBeforeMoved(t *testing.T) {
	entry := "0a2208072a1e0a149c17e047f58f9220a7008d4f18152fee4d111d141001300458096001"
	record := "0a13687474703a2f2f6578616d706c652e636f6d2f100118032804300240096001900108"
	id := channel.IDOf("http://example.com/")
	old := &wire.Channel{}
	if err := proto.Unmarshal(unhex(t, record), old); err != nil {
		t.Fatal(err)
	}
	want := channel.Channel{
		ID: id, URL: "http://example.com/", Incarnation: 1, Version: 3, Kind: 4, Subscribers: 2,
		Created: time.UnixMicro(9).UTC(), Gone: true, GoneStamp: 8,
	}
	if got := channelOf(id, old); !reflect.DeepEqual(got, want) {
		t.Errorf("record reads as %+v, want %+v", got, want)
	}
	m := newMachine(t)
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	if results, err := m.entry(unhex(t, entry)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	after, err := getChannel(m.db, id)
	if err != nil || !after.Gone || after.Kind != 4 || after.Moved != nil {
		t.Errorf("entry leaves %v, %v", after, err)
	}
}

// TestBeforeForget: a log entry and a record of a version that knew of no Forget and no
// Hold read as they did then.
func TestBeforeForget(t *testing.T) {
	entry := "0a25082a2a210a149c17e047f58f9220a7008d4f18152fee4d111d1410013a056a756467657001"
	record := "0a13687474703a2f2f6578616d706c652e636f6d2f100118032804300240096001900108a80101"
	id := channel.IDOf("http://example.com/")
	old := &wire.Channel{}
	if err := proto.Unmarshal(unhex(t, record), old); err != nil {
		t.Fatal(err)
	}
	if got := channelOf(id, old); !got.Held || got.Hold != (channel.Hold{}) || got.Forgotten != 0 || got.Version != 3 {
		t.Errorf("record reads as %+v", got)
	}
	m := newMachine(t)
	m.apply(t, day0, subscribeCommand(item("http://example.com/", stream)))
	if results, err := m.entry(unhex(t, entry)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	after, err := getChannel(m.db, id)
	if err != nil || !after.Held || after.Hold != nil || after.Forgotten != 0 {
		t.Errorf("entry leaves %v, %v", after, err)
	}
	// By the numbers of then: a command that this test knows by its bytes alone.
	command := &wire.Command{Change: &wire.Command_Forget{Forget: &wire.Forget{Channel: id[:], Incarnation: 1, Hash: make([]byte, hashLen), Judge: []byte("x")}}}
	b, err := proto.Marshal(command)
	if want := "5a2d0a149c17e047f58f9220a7008d4f18152fee4d111d1410012210000000000000000000000000000000002a0178"; err != nil || string(b) != string(unhex(t, want)) {
		t.Errorf("a Forget is %x, %v; want %s", b, err, want)
	}
}
