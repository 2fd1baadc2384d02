package jsondoc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

// anyValue returns a value as encoding/json has it.
func anyValue(v *Value) any {
	switch v.Kind {
	case '{':
		object := make(map[string]any)
		for i := range v.Children {
			object[v.Children[i].Name] = anyValue(&v.Children[i])
		}
		return object
	case '[':
		array := make([]any, len(v.Children))
		for i := range v.Children {
			array[i] = anyValue(&v.Children[i])
		}
		return array
	case '"':
		return v.Text
	case '0':
		return json.Number(v.Text)
	case 'n':
		return nil
	}
	return v.Text == "true"
}

// checkJSON compares reading JSON with encoding/json, and what is written of its
// strings.
func checkJSON(t rapid.TB, text string) {
	t.Helper()
	root, err := Read(text, content.KindJSON)
	if errors.Is(err, content.ErrTooLarge) {
		return
	}
	if valid := json.Valid([]byte(text)); valid != (err == nil) {
		t.Fatalf("%q: %v, and encoding/json: %v", text, err, valid)
	}
	if err != nil {
		return
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if got := anyValue(&root); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as %#v, want %#v", text, got, want)
	}
	if root.Kind == '"' {
		var w Writer
		w.quote(root.Text)
		var quoted strings.Builder
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(root.Text); err != nil || string(w.text)+"\n" != quoted.String() {
			t.Fatalf("%q is quoted %s, want %s", root.Text, w.text, quoted.String())
		}
	}
}

var jsonPieces = []string{"{", "}", "[", "]", ",", ":", `"a"`, `"b"`, `"\u00e9\ud83d\ude00\ud800\n\/\b\f"`, `"<&>é`, `"`, `\`, `\"`, `\u12`, "0", "-1.50e+3", "01", "-", "true", "null", "nul", " ", "\n",
	"\u2028", "\x7f", `"\u0001\u2029"`}

func TestJSONIsReadAsByEncodingJSON(t *testing.T) {
	for _, text := range []string{`{"b":1,"a":[{},[],null],"b":2}`, `{"a" 1}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{a:1}`, "1 2", "", " 1 ", `{"":""}`, "\"\t\""} {
		checkJSON(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkJSON(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(jsonPieces), 0, 12).Draw(t, "pieces"), ""))
		checkJSON(t, string(documents.AnyJSON().Draw(t, "document")))
	})
}

func FuzzJSONRead(f *testing.F) {
	for _, piece := range jsonPieces {
		f.Add(`{"a":[` + piece + `]}`)
		f.Add(piece)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
			checkJSON(t, text)
		}
	})
}
