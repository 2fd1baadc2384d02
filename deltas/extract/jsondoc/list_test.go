package jsondoc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

// A list without IDs is known by what is most likely to stay the same.
func TestJSONListKeys(t *testing.T) {
	tests := []struct{ name, body, ids string }{
		{"a URL-like member", `[{"name":"A","page":"https://example.com/a?utm_source=x"},{"name":"B","page":"https://example.com/b"}]`,
			"https://example.com/a https://example.com/b"},
		{"pictures are none", `[{"name":"A","photo":"https://example.com/a.png?1"},{"name":"B","photo":"https://example.com/b.png"}]`, "content:[name=A] content:[name=B]"},
		{"a name before other texts", `{"offers":[{"code":"x","name":"A"},{"code":"y","name":"B"}]}`, "content:offers[name=A] content:offers[name=B]"},
		{"any other text", `{"a":{"trains":[{"state":"late","line":"U1","at":"10:15"},{"state":"late","line":"U2","at":"10:20"}]}}`, "content:a.trains[line=U1] content:a.trains[line=U2]"},
		{"texts before dates", `[{"day":"2026-01-02","what":"Rain"},{"day":"2026-01-03","what":"Sun"}]`, "content:[what=Rain] content:[what=Sun]"},
		{"dates before descriptions", `[{"day":"2026-01-02","text":"Rain"},{"day":"2026-01-03","text":"Sun"}]`, "content:[day=2026-01-02] content:[day=2026-01-03]"},
		{"several together", `[{"title":"Meeting","day":"1 May","room":"a"},{"title":"Meeting","day":"2 May","room":"a"},{"title":"Lunch","day":"1 May","room":"a"},{"title":"Lunch","day":"2 May","room":"a"}]`,
			"content:[title=Meeting&day=1 May] content:[title=Meeting&day=2 May] content:[title=Lunch&day=1 May] content:[title=Lunch&day=2 May]"},
		{"members of members", `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point"},"properties":{"name":"A","mag":1}},{"type":"Feature","geometry":{"type":"Point"},"properties":{"name":"B","mag":1}}]}`,
			"content:features[properties.name=A] content:features[properties.name=B]"},
		{"rows of a table", `[["county","cases"],["Adams",5],["Berks",7]]`, "content:[1=county] content:[1=Adams] content:[1=Berks]"},
		{"two lists of one document", `{"cold":[{"name":"A"}],"warm":[{"name":"A"}]}`, "content:cold[name=A] content:warm[name=A]"},
		{"not build stamps", `[{"published_at":"a","name":"A"},{"published_at":"b","name":"B"}]`, "content:[name=A] content:[name=B]"},
		{"numbers and flags are none", `[{"n":1,"ok":true},{"n":2,"ok":false}]`, ""},
		{"scalars are none", `{"tags":["a","b"]}`, ""},
		{"a list of lists is none", `[[{"id":1}],[{"id":2}]]`, ""},
		{"what is the same is none", `[{"a":"x"},{"a":"x"}]`, ""},
		{"an ID two objects deep", `{"data":{"shops":[{"id":1,"name":"A"},{"id":2,"name":"B"}],"towns":[{"id":1,"name":"C"},{"id":2,"name":"D"}]}}`, "1 2 content:data.towns[name=C] content:data.towns[name=D]"},
		{"an ID in another list goes first", `{"a":[{"name":"A"}],"b":[{"id":7}]}`, "7"},
		{"an ID that one of four lacks", `[{"link":"a","url":"x"},{"link":"b","url":"y"},{"link":"c","url":"z"},{"name":"A","url":"w"}]`, "a b c w"},
		{"an ID that two of four lack", `[{"link":"a","url":"x"},{"link":"b","url":"y"},{"url":"z"},{"url":"w"}]`, "x y z w"},
		{"an ID that is the same in most", `[{"key":"a"},{"key":"a"},{"key":"a"},{"name":"A"}]`, ""},
	}
	for _, test := range tests {
		if core := extracted.Of(t, []byte(test.body)); extracted.IDs(core.Entries) != test.ids {
			t.Errorf("%s: %s, want %s", test.name, extracted.IDs(core.Entries), test.ids)
		}
	}
}

// An item that lacks the member by which the others are known changes nothing for them
// when it comes and goes, wherever it stands; neither does one with no ID at all.
func TestJSONListKeyMissing(t *testing.T) {
	list := func(items ...string) *content.Core {
		return extracted.Of(t, []byte(`{"items":[`+strings.Join(items, ",")+`]}`))
	}
	var items []string
	for n := range 6 {
		items = append(items, fmt.Sprintf(`{"link":"https://example.com/item?id=%d","title":"Story %d","url":"https://example.org/%d"}`, n, n, n))
	}
	base := list(items...)
	for _, tc := range []struct{ item, id string }{
		{`{"link":null,"title":"A job","url":"https://example.org/job"}`, "https://example.org/job"},
		{`{"title":"A job","url":"https://example.org/job"}`, "https://example.org/job"},
		{`{"title":"A job"}`, content.ContentID + "11f1dc07478d77eb"},
	} {
		for at := range len(items) + 1 {
			next := list(slices.Insert(slices.Clone(items), at, tc.item)...)
			if u := judge.Compare(base, next); extracted.IDs(u.Entries.Added) != tc.id || len(u.Entries.Changed)+len(u.Entries.Removed) > 0 {
				t.Errorf("%s came at %d: %+v", tc.item, at, u.Entries)
			}
			if u := judge.Compare(next, base); len(u.Entries.Added)+len(u.Entries.Changed) > 0 || len(u.Entries.Removed) > 1 {
				t.Errorf("%s went from %d: %+v", tc.item, at, u.Entries)
			}
		}
	}
}

// What stands in no list stays a line, and a list leaves nothing behind.
func TestJSONListsAreTakenOut(t *testing.T) {
	core := extracted.Of(t, []byte(`{"count":2,"data":{"offers":[{"name":"A"},null]},"meta":{"page":1,"rows":[{"name":"B"}]}}`))
	if want := "  {\n    \"count\": 2\n    \"meta\": {\n      \"page\": 1\n    }\n  }\n"; core.Body() != want || len(core.Entries) != 2 {
		t.Errorf("entries %s, body\n%swant\n%s", extracted.IDs(core.Entries), core.Body(), want)
	}
}

// However a list's items are ordered, they have the same identities.
func TestJSONListHasNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := documents.AnyList().Draw(t, "list")
		render := func(list []any) *content.Core {
			body, err := json.Marshal(map[string]any{"list": list})
			if err != nil {
				t.Fatal(err)
			}
			return extracted.Of(t, body)
		}
		is := render(list)
		other := render(rapid.Permutation(list).Draw(t, "order"))
		if is.Hash != other.Hash && len(is.Entries) > 0 {
			t.Fatalf("%s\nand\n%s", is.Content(), other.Content())
		}
		for _, doc := range []*content.Core{is, other} {
			if again, err := content.ParseCore(slices.Clone(doc.Text)); err != nil || !slices.Equal(again.Identities(), doc.Identities()) {
				t.Fatalf("read back %v, %v of %v", again, err, doc)
			}
		}
	})
}

// What happens to lists without IDs, as updates tell it.
func TestJSONListChanges(t *testing.T) {
	names := func(entries []content.Entry) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(extracted.IDs(entries), "content:", "")), " ")
	}
	tests := []struct{ name, base, next, added, changed, removed string }{
		{"moved", `[{"name":"A","v":1},{"name":"B","v":2}]`, `[{"name":"B","v":2},{"name":"A","v":1}]`, "", "", ""},
		{"moved and changed", `[{"name":"A","v":1},{"name":"B","v":2}]`, `[{"name":"B","v":2},{"name":"A","v":9}]`, "", "[name=A]", ""},
		{"one came, one went", `[{"name":"A"},{"name":"B"},{"name":"C"}]`, `[{"name":"A"},{"name":"D"},{"name":"C"}]`, "[name=D]", "", "[name=B]"},
		{"the last went", `[{"name":"A"},{"name":"B"},{"name":"C"}]`, `[{"name":"A"},{"name":"B"}]`, "", "", "[name=C]"},
		{"the key was the member that changed", `[{"level":"high","region":"North"},{"level":"low","region":"South"}]`,
			`[{"level":"medium","region":"North"},{"level":"low","region":"South"}]`, "", "[level=medium]", ""},
		{"the key became another", `[{"level":"high","region":"North"},{"level":"low","region":"South"}]`,
			`[{"level":"low","region":"North"},{"level":"low","region":"South"}]`, "", "[region=North]", ""},
		{"the key came twice", `[{"name":"A","v":"x"},{"name":"B","v":"y"}]`, `[{"name":"A","v":"x"},{"name":"B","v":"y"},{"name":"B","v":"z"}]`, "[v=z]", "", ""},
		{"a feature's geometry", `{"features":[{"geometry":{"coordinates":[1,2]},"properties":{"name":"A"}}]}`,
			`{"features":[{"geometry":{"coordinates":[1,3]},"properties":{"name":"A"}}]}`, "", "features[properties.name=A]", ""},
		{"a row", `[["county","cases"],["Adams",5],["Berks",7]]`, `[["county","cases"],["Berks",7],["Adams",6]]`, "", "[1=Adams]", ""},
		{"from one list to the other", `{"cold":[{"name":"A"},{"name":"B"}],"warm":[{"name":"C"}]}`, `{"cold":[{"name":"B"}],"warm":[{"name":"A"},{"name":"C"}]}`,
			"warm[name=A]", "", "cold[name=A]"},
	}
	for _, test := range tests {
		u := judge.Compare(extracted.Of(t, []byte(test.base)), extracted.Of(t, []byte(test.next)))
		if a, c, r := names(u.Entries.Added), names(u.Entries.Changed), names(u.Entries.Removed); a != test.added || c != test.changed || r != test.removed {
			t.Errorf("%s: added %q, changed %q, removed %q; want %q, %q, %q", test.name, a, c, r, test.added, test.changed, test.removed)
		}
	}
}

// An item of a list without IDs that comes back is news again, and one that goes is told
// within two looks, wherever it stood.
func TestJSONListReturns(t *testing.T) {
	alarms := func(names ...string) []byte {
		var items []string
		for _, name := range names {
			items = append(items, fmt.Sprintf(`{"name":%q,"kind":"alarm"}`, name))
		}
		return []byte(`{"service":"harbour","alarms":[` + strings.Join(items, ",") + `]}`)
	}
	looks := [][]byte{alarms("A", "B", "C"), alarms("A", "B"), alarms("A", "B"), alarms("A", "B", "C"), alarms("A", "B", "C"), alarms(), alarms(), alarms("B"), alarms("B")}
	want := []int{0, 2, 4, 6, 7}
	var replay deltas.Replay
	var told []int
	for n, body := range looks {
		step := replay.Capture(extract.Document{Body: body}, time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC))
		if step.Err != nil {
			t.Fatal(step.Err)
		}
		if step.Verdict == judge.VerdictPublish {
			told = append(told, n)
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("told at looks %v, want %v", told, want)
	}
}

// The search for a key takes time that grows with a list's members, however many the
// first item has that others have not.
func TestJSONListKeyIsNotQuadratic(t *testing.T) {
	var b strings.Builder
	for n := range 30_000 {
		fmt.Fprintf(&b, "%q:%q,", fmt.Sprintf("member %d", n), "x")
	}
	body := []byte("[{" + strings.TrimSuffix(b.String(), ",") + "},{}]")
	cost.CheckBounds(t, "members of one item", func() {
		if core := extracted.Of(t, body); len(core.Entries) != 0 {
			t.Errorf("%d entries", len(core.Entries))
		}
	})
}
