package webhook

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/payload"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// The messages, byte for byte, as docs/contract.md promises them.
func TestMessages(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 11, 12, 345678000, time.UTC)
	id := channel.IDOf("http://origin.example/feed")
	sub := channel.Subscription{ID: "sub_000abc", Seq: 3, Channel: id, URL: "http://origin.example/feed"}
	u := channel.Update{Channel: id, URL: sub.URL, Incarnation: 1, Version: 5, At: at, Data: memstore.Encoded(5)}
	update, err := payload.Encode(u)
	if err != nil {
		t.Fatal(err)
	}
	encoded := payload.Encoded{Version: u.Version, At: u.At, JSON: update}
	for _, test := range []struct {
		m        message
		id, body string
		next     position.Step
	}{
		{
			updateMessage(sub, encoded), "sub_000abc-5",
			`{"type":"channel.updated","timestamp":"2026-11-20T10:11:12.345678Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","url":"http://origin.example/feed","version":5,"previous":4,"detected_at":"2026-11-20T10:11:12.345678Z","kind":"feed",` +
				`"delta_bytes":42,"truncated":false,"entries":{"added":[{"id":"entry-5","title":"a & b","link":"","published":"","updated":"","summary":""}],"changed":[],"removed":[]},` +
				`"diff":"+entry 5\n"}}`,
			position.GoneStep(5),
		},
		{
			gapMessage(sub, channel.Gap{From: 2, To: 4}, payload.ReasonRetention, at), "sub_000abc-gap-2-4",
			`{"type":"channel.gap","timestamp":"2026-11-20T10:11:12.345Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","from":2,"to":4,"reason":"the updates are no longer kept"}}`,
			position.GoneStep(4),
		},
		{
			goneMessage(sub, position.GoneStep(5), at), "sub_000abc-gone-5",
			`{"type":"channel.gone","timestamp":"2026-11-20T10:11:12.345Z","data":{"subscription":"sub_000abc","channel":"` + id.String() +
				`","url":"http://origin.example/feed","reason":"the origin answered 410 Gone"}}`,
			position.VersionStep(6),
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
	whole := api.Message{Type: api.MessageUpdated, Timestamp: at, Data: api.UpdateData{Subscription: sub.ID, Update: decoded}}
	var unescaped bytes.Buffer
	encoder := json.NewEncoder(&unescaped)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(whole); err != nil {
		t.Fatal(err)
	}
	if spliced := updateMessage(sub, encoded).body; string(spliced)+"\n" != unescaped.String() {
		t.Errorf("spliced %s\nencoded %s", spliced, &unescaped)
	}
}
