package jsondoc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

// anyValue returns a value as json.Unmarshal has it, numbers as they are written.
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

// checkJSON compares a document read token by token with the same read at once.
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
}

func TestRead(t *testing.T) {
	for _, text := range []string{`{"b":1,"a":[{},[],null],"b":2}`, `{"a" 1}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{a:1}`, `{1:2}`, `{"a":}`, `[}`, `{"a"}`, "]", "1 2", "[] x", "", " 1 ",
		`{"":""}`, "\"\t\"", `[1`, `"\u00e9\ud83d\ude00\ud800"`, "[-1.50e+3, 01]", "[true,false,nul]"} {
		checkJSON(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { checkJSON(t, string(documents.AnyJSON().Draw(t, "document"))) })
}

// Containers bear the text that they are written as.
func TestReadText(t *testing.T) {
	root, err := Read(` {"b": [ {"x":1 } , "é"], "a":2}`, content.KindJSON)
	if err != nil {
		t.Fatal(err)
	}
	if root.Text != `{"b": [ {"x":1 } , "é"], "a":2}` || root.Children[0].Name != "a" || root.Children[1].Text != `[ {"x":1 } , "é"]` || root.Children[1].Children[0].Text != `{"x":1 }` {
		t.Errorf("%+v", root)
	}
}
