package payload

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// What is encoded says what the view says, of every part that an update has.
func TestEncodeIsTheView(t *testing.T) {
	full := deltas.Update{
		Kind: deltas.KindFeed, DeltaBytes: 12, Truncated: true, Diff: "@@ -1 +1 @@\n-a\u2028\n+<b>&\"\\\n",
		Entries: deltas.Entries{
			Added:   []deltas.Entry{{ID: "1", Title: "ü", Link: "http://a.example/?a=1&b=2", Published: "p", Updated: "u", Summary: "s\r\n", Categories: []string{"c"}, Geometry: "g"}},
			Changed: []deltas.Entry{{ID: "2", Fields: []string{"title"}}},
			Removed: []deltas.Entry{{ID: "3"}},
		},
		Masked: []deltas.Mask{{What: "w", Text: "t", Why: "y"}},
	}
	empty := deltas.Update{Kind: deltas.KindText}
	for name, data := range map[string][]byte{"full": full.Append(nil), "empty": empty.Append(nil), "plain": memstore.Encoded(2)} {
		u := channel.Update{Channel: channel.ID{1, 2}, URL: "http://a.example/?x=<&>", Version: 7, At: time.Date(2026, 11, 26, 1, 2, 3, 4000, time.FixedZone("", 3600)), Data: data}
		got, err := Encode(u)
		if err != nil {
			t.Fatal(name, err)
		}
		var decoded api.Update
		strict := json.NewDecoder(bytes.NewReader(got))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&decoded); err != nil {
			t.Fatalf("%s: %v in %s", name, err, got)
		}
		want, err := View(u)
		if err != nil || !reflect.DeepEqual(decoded, *want) {
			t.Errorf("%s: encoded %+v, want %+v, %v", name, decoded, *want, err)
		}
		if strings.ContainsAny(string(got), "\r\n") || strings.Contains(string(got), "null") {
			t.Errorf("%s: more than a line, or a list that is null: %q", name, got)
		}
	}
	for _, data := range [][]byte{nil, {0}, {1}, full.Append(nil)[:20]} {
		if got, err := Encode(channel.Update{Data: data}); err == nil {
			t.Errorf("%x is encoded as %s", data, got)
		}
	}
}
