package judge

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestUpdateReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "base")})
		if err != nil {
			base = nil
		}
		next, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "next")})
		if err != nil {
			t.SkipNow()
		}
		u := Compare(base, next)
		stored := u.Append([]byte("prefix"))
		got, err := DecodeUpdate(stored[len("prefix"):])
		if err != nil || !bytes.HasPrefix(stored, []byte("prefix")) {
			t.Fatal(err)
		}
		u.Delta = nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", u) {
			t.Fatalf("%+v\nwant\n%+v", got, u)
		}
	})
}

func TestUpdateIsSmall(t *testing.T) {
	u := Compare(extracted.Of(t, documents.Stories(1)), extracted.Of(t, documents.Stories(2, 1)))
	if stored := u.Append(nil); len(stored) > 150 {
		t.Errorf("%d bytes for one short entry", len(stored))
	}
}

// Stored updates outlive the program that wrote them: the dictionary is part of
// the format.
func TestUpdateDictionaryIsFixed(t *testing.T) {
	const want = "ad22ee80083ba95a41558aeccafd31c9"
	if got := content.HashOf([]byte(updateDictionary)).String(); got != want {
		t.Errorf("the dictionary is %s, not %s: it needs another updateVersion, and the old one for decoding", got, want)
	}
}

func TestDecodeUpdateErrors(t *testing.T) {
	stored := Compare(nil, extracted.Of(t, []byte("text"))).Append(nil)
	plain := func(json string) []byte {
		return updateFrames.Append([]byte{updateVersion}, []byte(json))
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, content.ErrCorrupt},
		{"another version", append([]byte{9}, stored[1:]...), content.ErrVersion},
		{"cut", stored[:len(stored)-1], content.ErrCorrupt},
		{"not JSON", plain("x"), content.ErrCorrupt},
		{"no kind", plain("{}"), content.ErrCorrupt},
		{"too long", plain(`{"kind":"text","diff":"` + strings.Repeat("x", maxUpdate) + `"}`), content.ErrCorrupt},
	}
	for _, test := range tests {
		if got, err := DecodeUpdate(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

// FuzzDecodeUpdate: a typed error, or an update that is stored and read as itself.
func FuzzDecodeUpdate(f *testing.F) {
	f.Add(Compare(nil, extracted.Of(f, documents.Stories(2, 1))).Append(nil))
	f.Add(Compare(extracted.Of(f, documents.Stories(3, 2, 1)), extracted.Of(f, documents.Stories(3, 1))).Append(nil))
	f.Add(updateFrames.Append([]byte{updateVersion}, []byte(`{"kind":"html","entries":{"added":null}}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := DecodeUpdate(data)
		if err != nil {
			if !errors.Is(err, content.ErrCorrupt) && !errors.Is(err, content.ErrVersion) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if u.Entries.Added == nil || u.Entries.Changed == nil || u.Entries.Removed == nil {
			t.Fatal("a nil list")
		}
		again, err := DecodeUpdate(u.Append(nil))
		if err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", u) {
			t.Fatalf("%+v, %v\nwant\n%+v", again, err, u)
		}
	})
}
