package notify

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// The messages, byte for byte, as docs/contract.md promises them.
func TestMessages(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 11, 12, 345678000, time.UTC)
	id := channel.IDOf("http://origin.example/feed")
	sub := channel.Subscription{ID: "sub_000abc", Seq: 3, Channel: id, URL: "http://origin.example/feed"}
	u := channel.Update{Channel: id, URL: sub.URL, Incarnation: 1, Version: 5, At: at, Data: encoded(5)}
	update, err := encodeUpdate(u)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		m        message
		id, body string
		next     step
	}{
		{
			updateMessage(sub, u, update), "sub_000abc-5",
			`{"type":"channel.updated","timestamp":"2026-11-20T10:11:12.345678Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","url":"http://origin.example/feed","version":5,"previous":4,"detected_at":"2026-11-20T10:11:12.345678Z","kind":"feed",` +
				`"entries":{"added":[{"id":"entry-5","title":"a \u0026 b","link":"","published":"","updated":"","summary":""}],"changed":[],"removed":[]},` +
				`"diff":"+entry 5\n","delta_bytes":42,"truncated":false}}`,
			goneStep(5),
		},
		{
			gapMessage(sub, channel.Gap{From: 2, To: 4}, reasonRetention, at), "sub_000abc-gap-2-4",
			`{"type":"channel.gap","timestamp":"2026-11-20T10:11:12.345Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","from":2,"to":4,"reason":"the updates are no longer kept"}}`,
			goneStep(4),
		},
		{
			goneMessage(sub, goneStep(5), at), "sub_000abc-gone-5",
			`{"type":"channel.gone","timestamp":"2026-11-20T10:11:12.345Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","url":"http://origin.example/feed","reason":"the origin answered 410 Gone"}}`,
			versionStep(6),
		},
		{
			testMessage(sub, at), "sub_000abc-test-1795169472345678",
			`{"type":"subscription.test","timestamp":"2026-11-20T10:11:12.345Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","url":"http://origin.example/feed"}}`,
			0,
		},
	} {
		if test.m.id != test.id || string(test.m.body) != test.body || test.m.next != test.next {
			t.Errorf("got  %s %s, then %d\nwant %s %s, then %d", test.m.id, test.m.body, test.m.next, test.id, test.body, test.next)
		}
	}
	// Splicing makes what encoding would have made.
	var decoded api.Update
	if err := json.Unmarshal(update, &decoded); err != nil {
		t.Fatal(err)
	}
	whole := quoted(api.Message{Type: api.MessageUpdated, Timestamp: at, Data: api.UpdateData{Subscription: sub.ID, Update: decoded}})
	if spliced := updateMessage(sub, u, update).body; string(spliced) != string(whole) {
		t.Errorf("spliced %s\nencoded %s", spliced, whole)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	b := newBodies(1000)
	for v := uint64(2); v < 100; v++ {
		u := channel.Update{Version: v, Data: encoded(v)}
		first, err := b.get(u)
		if err != nil {
			t.Fatal(err)
		}
		u.Data = nil // known by now
		again, err := b.get(u)
		if err != nil || &again[0] != &first[0] {
			t.Fatalf("version %d was encoded again: %v", v, err)
		}
		if b.mu.bytes > 1000 || len(b.mu.known) != len(b.mu.order) {
			t.Fatalf("%d bytes in %d of %d bodies", b.mu.bytes, len(b.mu.known), len(b.mu.order))
		}
	}
	if _, err := b.get(channel.Update{Version: 2}); err == nil {
		t.Error("the oldest is still known")
	}
}
