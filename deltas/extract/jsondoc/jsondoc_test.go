package jsondoc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/extract/jsondoc"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

func TestJSONLines(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"sorted", `{"b":1.50,"a":[true,null,"x\ny <é>"],"c":{}}`,
			"  {\n    \"a\": [\n      true\n      null\n      \"x\\ny <é>\"\n    ]\n    \"b\": 1.50\n    \"c\": {\n    }\n  }\n"},
		{"build stamps", `{"a":1,"generated_at":"2026-01-01","took":3}`, "  {\n    \"a\": 1\n  }\n"},
		{"build stamps in other spellings", `{"a":1,"dateGenerated":"2026-01-01","x-request-id":"7f","csrfToken":"x","query_time_ms":4,"lastUpdatedAt":1}`, "  {\n    \"a\": 1\n  }\n"},
		{"what is named as build stamps", `{"modified":["a.go"],"published":false,"updated":1}`, "  {\n    \"modified\": [\n      \"a.go\"\n    ]\n    \"published\": false\n  }\n"},
		{"visits in URLs", `["https://x.org/a?b=1&utm_source=c&X-Amz-Signature=d#e","https://x.org/?gclid=1","https://x.org/ ?gclid=1"]`,
			"  [\n    \"https://x.org/a?b=1#e\"\n    \"https://x.org/\"\n    \"https://x.org/ ?gclid=1\"\n  ]\n"},
		{"list without identity", `[{"a":1},{"a":2}]`, "  [\n    {\n      \"a\": 1\n    }\n    {\n      \"a\": 2\n    }\n  ]\n"},
	}
	for _, test := range tests {
		if core := extracted.Of(t, []byte(test.body)); core.Body() != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, core.Body(), test.want)
		}
	}
}

func TestJSONEntries(t *testing.T) {
	core := extracted.Of(t, []byte(`{"total":2,"data":[
		{"title":"Second","html_url":"https://example.com/2","id":2,"body":"<p>Text</p>","created_at":"2026-01-02T00:00:00Z","votes":5},
		{"id":1,"name":"First","url":"https://example.com/1"}]}`))
	if core.Kind != content.KindJSON || core.Body() != "  {\n    \"total\": 2\n  }\n" || extracted.IDs(core.Entries) != "2 1" {
		t.Fatalf("%v %q %s\n%s", core.Kind, core.Body(), extracted.IDs(core.Entries), core.Text)
	}
	e := core.Entries[0]
	if e.Title != "Second" || e.Link != "https://example.com/2" || e.Summary != "Text" || e.Published != "2026-01-02T00:00:00Z" {
		t.Errorf("entry %+v", e)
	}
}

// Row 29, of JSON: the order of members and of a list's items is no content.
func TestJSONHashIgnoresOrder(t *testing.T) {
	a := extracted.Of(t, []byte(`[{"id":1,"v":{"x":1,"y":2},"updated_at":"2026-01-01T00:00:00Z"},{"id":2}]`))
	b := extracted.Of(t, []byte(`[{"id":2},{"updated_at":"2027-01-01T00:00:00Z","v":{"y":2,"x":1},"id":1}]`))
	if a.Hash != b.Hash {
		t.Errorf("order is content:\n%s\n%s", a.Content(), b.Content())
	}
	if c := extracted.Of(t, []byte(`["b","a"]`)); c.Hash == extracted.Of(t, []byte(`["a","b"]`)).Hash {
		t.Error("the order of a list without identities is content")
	}
}

// Row 31: null items do not keep a list from being one.
func TestJSONNullItems(t *testing.T) {
	core := extracted.Of(t, []byte(`{"items":[null,{"id":1},null],"authors":[null]}`))
	if extracted.IDs(core.Entries) != "1" {
		t.Errorf("entries %+v", core.Entries)
	}
}

// Row 27, of identities in JSON: what ends the content does not stand in it.
func TestJSONControlCharactersInIDs(t *testing.T) {
	for _, body := range []string{
		`[{"id":"a\u001enotes 1\n\u0000b"},{"id":"c"}]`,
		`{"version":"https://jsonfeed.org/version/1","items":[{"id":"a\u001enotes 1\n\u0000b"},{"id":"c"}]}`,
	} {
		if core := extracted.Of(t, []byte(body)); extracted.IDs(core.Entries) != "anotes 1 b c" {
			t.Errorf("%s: entries %+v", body, core.Entries)
		}
	}
}

// Row 24, of JSON.
func TestJSONHostile(t *testing.T) {
	for name, body := range map[string]string{
		"deep":       strings.Repeat("[", scan.MaxDepth+1) + strings.Repeat("]", scan.MaxDepth+1),
		"wide":       "[" + strings.Repeat("1,", jsondoc.MaxValues) + "1]",
		"long lines": strings.Repeat("[", 200) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 200),
	} {
		if core, err := extract.Content(extract.Document{Body: []byte(body)}); !errors.Is(err, content.ErrTooLarge) {
			t.Errorf("%s: %v, %v; want ErrTooLarge", name, core, err)
		}
	}
}
