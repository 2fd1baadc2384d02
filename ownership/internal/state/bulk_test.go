package state

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// TestBulkCodec: what is encoded by hand is what generated code writes, and reads
// back.
func TestBulkCodec(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.StringN(0, 300, -1))
	rapid.Check(t, func(rt *rapid.T) {
		var subscribes []Item
		var claims []claimItem
		generated := [2]*wire.Command{
			{Change: &wire.Command_Subscribe{Subscribe: &wire.Subscribe{}}}, {Change: &wire.Command_Claim{Claim: &wire.Claim{}}},
		}
		for range rapid.IntRange(0, 5).Draw(rt, "items") {
			i := Item{
				channel: text.Draw(rt, "channel"), url: text.Draw(rt, "url"), sinkType: text.Draw(rt, "type"), sinkURL: text.Draw(rt, "sink"),
				sinkSecret: text.Draw(rt, "secret"), key: text.Draw(rt, "key"), digest: text.Draw(rt, "digest"),
			}
			subscribes, claims = append(subscribes, i), append(claims, claimItem{i.key, i.digest})
			generated[0].GetSubscribe().Items = append(generated[0].GetSubscribe().Items, &wire.Subscribe_Item{
				Channel: []byte(i.channel), Url: i.url, SinkType: i.sinkType, SinkUrl: i.sinkURL, SinkSecret: i.sinkSecret,
				Key: []byte(i.key), Digest: []byte(i.digest),
			})
			generated[1].GetClaim().Items = append(generated[1].GetClaim().Items, &wire.Claim_Item{Key: []byte(i.key), Digest: []byte(i.digest)})
		}
		byHand := [2][]byte{EncodeSubscribe(subscribes), encodeClaim(claims)}
		for i, want := range generated {
			if got := marshal(t, want); string(got) != string(byHand[i]) {
				rt.Fatalf("by hand %x, generated %x", byHand[i], got)
			}
		}
		entry := AppendCommand(AppendCommand(nil, byHand[0], 7), byHand[1], 8)
		got, err := decodeEntry(entry)
		want := []command{{7, subscribes}, {8, claims}}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("decoded %v, %v; want %v", got, err, want)
		}
	})
}

// TestSeveralChanges: a command of several changes is not read as one of them, since
// another version might read another.
func TestSeveralChanges(t *testing.T) {
	claim, subscribe := encodeClaim([]claimItem{{"key", "digest"}}), EncodeSubscribe([]Item{{url: "http://example.com/"}})
	unsubscribe := marshal(t, &wire.Command{Change: &wire.Command_Unsubscribe{Unsubscribe: &wire.Unsubscribe{Seq: 1}}})
	for _, parts := range [][2][]byte{{claim, claim}, {claim, subscribe}, {unsubscribe, claim}, {subscribe, unsubscribe}, {unsubscribe, unsubscribe}} {
		entry := entryOf(0, slices.Concat(parts[0], parts[1]))
		if commands, err := decodeEntry(entry); !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("%x reads as %v, %v", entry, commands, err)
		}
	}
}

// TestBulkRecords: what is written by hand reads as the records of wire.proto.
func TestBulkRecords(t *testing.T) {
	m := newMachine(t)
	one := item("http://example.com/", webhook)
	id := channel.ID(one.Channel)
	one.Key, one.Digest = one.Channel, id[:digestLen]
	claim := &wire.Claim{Items: []*wire.Claim_Item{{Key: one.Key, Digest: one.Digest}}}
	m.apply(t, day0.Add(-time.Microsecond), &wire.Command{Change: &wire.Command_Claim{Claim: claim}})
	m.apply(t, day0, subscribeCommand(one))
	us, day := wire.Micros(day0), dayOf(wire.Micros(day0))
	for key, want := range map[string]proto.Message{
		string(dayKey(id.Bucket(), kindClaim, day, id[:])): &wire.Claimed{Digest: one.Digest},
		string(dayKey(id.Bucket(), kindDone, day, id[:])):  &wire.Done{Digest: one.Digest, Seq: 1, CreatedUs: us, FromVersion: 2},
		string(channelItemKey(kindMember, id, 1)): &wire.Subscription{
			SinkType: webhook.Type, SinkUrl: webhook.URL, SinkSecret: webhook.Secret, CreatedUs: us, FromVersion: 2,
		},
	} {
		got := want.ProtoReflect().New().Interface()
		if err := Get(m.db, []byte(key), got); err != nil || !proto.Equal(got, want) {
			t.Errorf("record at %q: %v, %v; want %v", key, got, err, want)
		}
	}
}

// TestChanges: however writes and reads follow each other, the store comes to what
// one batch of pebble's makes of them, and reads see what was written before.
func TestChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(t)
		keys := [][]byte{
			bucketItemKey(1, kindSeq, 1), bucketItemKey(1, kindSeq, 2), bucketItemKey(1, kindSeq, 1<<40),
			dayKey(1, kindDone, 1, make([]byte, 20)), dayKey(1, kindDone, 2, make([]byte, 20)), bucketKey(1), AppliedKey(3),
		}
		var err error
		c, want := changes{db: m.db}, map[string]string{}
		for i := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			key := rapid.SampledFrom(keys).Draw(rt, "key")
			switch rapid.SampledFrom([]string{"put", "put", "put", "delete", "delete range", "read"}).Draw(rt, "do") {
			case "put":
				want[string(key)] = fmt.Sprint(i)
				err = c.putRaw(key, fmt.Append(nil, i))
			case "delete":
				delete(want, string(key))
				err = c.delete(key)
			case "delete range":
				delete(want, string(key))
				err = c.deleteRange(key, append(key[:len(key):len(key)], 0))
			case "read":
				got := ""
				if r, err := c.reader(); err != nil {
					rt.Fatal(err)
				} else if value, closer, err := r.Get(key); err == nil {
					got = string(value)
					closer.Close()
				}
				if got != want[string(key)] {
					rt.Fatalf("key %x reads %q, want %q", key, got, want[string(key)])
				}
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		if err := c.commit(); err != nil {
			rt.Fatal(err)
		}
		if got := dump(t, m.db); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("store has %v, want %v", got, want)
		}
	})
}

// TestPrints: what was added is there, and nearly nothing else is.
func TestPrints(t *testing.T) {
	var p prints
	const n = 100_000
	id := func(i int) channel.ID { return channel.IDOf(fmt.Sprint(i)) }
	for i := range n {
		p.add(printOf(id(i)))
	}
	for i := range n {
		if !p.has(printOf(id(i))) {
			t.Fatalf("print %d of %d is missing", i, n)
		}
	}
	wrong := 0
	for i := range n {
		if p.has(printOf(id(n + i))) {
			wrong++
		}
	}
	if wrong > 20 || len(p.slots) > 3*n {
		t.Errorf("%d of %d others seem to be there; %d slots for %d", wrong, n, len(p.slots), n)
	}
}

// TestPrintsFollowTheState: what an earlier process wrote is known, and what was
// deleted is not remembered for ever.
func TestPrintsFollowTheState(t *testing.T) {
	m := newMachine(t)
	const n = 200
	b := channel.Bucket(0)
	ids := make([]channel.ID, n)
	for i := range ids {
		ids[i] = channel.ID{3: byte(i), 4: 1}
		if err := m.db.Set(channelKey(kindChannel, ids[i]), nil, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if may, err := m.mayHave(kindChannel, b, id); !may || err != nil {
			t.Fatalf("channel %s is not known: %v", id, err)
		}
	}
	if may, err := m.mayHave(kindChannel, b, channel.ID{3: 1, 5: 7}); may || err != nil {
		t.Errorf("a channel that never was may be there: %v", err)
	}
	m.forget(b, true, n)
	if m.known[b].channels == nil {
		t.Error("prints of channels that are there were forgotten")
	}
	m.forget(b, false, 3)
	if m.known[b].channels != nil {
		t.Error("prints of ended channels are kept")
	}
}

// TestCopyBucket: a copy has every field that wire.proto gives a bucket.
func TestCopyBucket(t *testing.T) {
	bucket, fields, content := &wire.Bucket{}, (&wire.Bucket{}).ProtoReflect().Descriptor().Fields(), []byte(nil)
	for i := range fields.Len() {
		if field := fields.Get(i); field.Kind() == protoreflect.BytesKind {
			content = appendText(content, field.Number(), fmt.Sprint(i))
		} else {
			content = appendNumber(content, field.Number(), uint64(i+1))
		}
	}
	if err := proto.Unmarshal(content, bucket); err != nil {
		t.Fatal(err)
	}
	if got := copyBucket(bucket); !proto.Equal(got, bucket) {
		t.Errorf("copy %v of %v", got, bucket)
	}
}
