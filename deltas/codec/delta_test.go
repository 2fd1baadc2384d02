package codec

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// makers make deltas between two contents.
var makers = []func(base, next *content.Core) []byte{Encode, EncodeFast}

func TestDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "base")})
		if err != nil || rapid.Bool().Draw(t, "without base") {
			base = nil
		}
		next, err := extract.Content(extract.Document{Body: documents.Any().Draw(t, "next")})
		if err != nil {
			t.SkipNow()
		}
		got, err := Apply(base, rapid.SampledFrom(makers).Draw(t, "maker")(base, next))
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash != next.Hash || !bytes.Equal(got.Content(), next.Content()) || got.FeedURL != next.FeedURL {
			t.Fatalf("patched:\n%q\nwant\n%q", got.Text, next.Text)
		}
		extracted.Check(t, got)
		if base == nil && !bytes.Equal(got.Text, next.Text) {
			t.Fatalf("without a base, notes differ:\n%q\nwant\n%q", got.Text, next.Text)
		}
	})
}

// A reader of deltas alone ends with the content of a reader of every document: deltas
// made between documents apply to what other deltas made.
func TestDeltasCompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := documents.AnyHistory(t)
		was := extracted.Of(t, history[0])
		first, held := was, was
		for n, body := range history[1:min(len(history), 6)] {
			next := extracted.Of(t, body)
			got, err := Apply(held, makers[n%2](was, next))
			if err != nil || got.Hash != next.Hash {
				t.Fatalf("document %d: %v", n+1, err)
			}
			was, held = next, got
		}
		if far, err := Apply(first, Encode(first, was)); err != nil || far.Hash != held.Hash {
			t.Fatalf("from the first to the last at once: %v", err)
		}
	})
}

// A delta carries the dates of what is new and leaves the others alone.
func TestDeltaNotes(t *testing.T) {
	moved := documents.Story(1)
	moved.Date = "Wed, 31 Dec 2031 00:00:00 GMT"
	base, next := extracted.Of(t, documents.Stories(2, 1)), extracted.Of(t, documents.RSS("", documents.Story(4), moved, documents.Story(3), documents.Story(2)))
	got, err := Apply(base, Encode(base, next))
	if err != nil {
		t.Fatal(err)
	}
	dates := ""
	for _, e := range got.Entries {
		dates += fmt.Sprintf("%s %s\n", e.ID, e.Published)
	}
	const want = "id-4 2026-01-01T04:00:00Z\nid-3 2026-01-01T03:00:00Z\nid-2 2026-01-01T02:00:00Z\nid-1 2026-01-01T01:00:00Z\n"
	if dates != want {
		t.Errorf("entries:\n%s\nwant\n%s", dates, want)
	}
}

func TestDeltaIsSmall(t *testing.T) {
	numbers := make([]int, 40)
	for i := range numbers {
		numbers[i] = 100 - i
	}
	base, next := extracted.Of(t, documents.Stories(numbers[1:]...)), extracted.Of(t, documents.Stories(numbers[:39]...))
	for i, most := range []int{len(next.Content()) / 30, len(next.Content()) / 20} {
		if delta := makers[i](base, next); len(delta) > most {
			t.Errorf("maker %d: delta of %d bytes for one new entry in %d", i, len(delta), len(next.Content()))
		}
	}
}

func TestApplyDeltaErrors(t *testing.T) {
	base, next, other := extracted.Of(t, documents.Stories(1)), extracted.Of(t, documents.Stories(2, 1)), extracted.Of(t, documents.Stories(9))
	delta := Encode(base, next)
	flipped := bytes.Clone(delta)
	flipped[1+deltaBaseLen] ^= 1
	tests := []struct {
		name  string
		base  *content.Core
		delta []byte
		want  error
	}{
		{"empty", base, nil, content.ErrCorrupt},
		{"short", base, delta[:deltaHeader-1], content.ErrCorrupt},
		{"no script", base, delta[:deltaHeader], content.ErrCorrupt},
		{"a script without a base", nil, Encode(nil, next)[:0:0], content.ErrCorrupt},
		{"cut", base, delta[:len(delta)-1], content.ErrCorrupt},
		{"another version", base, append([]byte{deltaScript + 1}, delta[1:]...), content.ErrVersion},
		{"another base", other, delta, ErrBase},
		{"no base", nil, delta, ErrBase},
		{"another result", base, flipped, content.ErrCorrupt},
	}
	for _, test := range tests {
		if got, err := Apply(test.base, test.delta); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

// A frame that claims, or is, more than content may be is refused.
func TestDecompressIsCapped(t *testing.T) {
	bomb := compressSmall(nil, make([]byte, 4<<20), nil)
	if out, err := decompress(bomb, nil, 1<<20); !errors.Is(err, content.ErrCorrupt) {
		t.Errorf("%d bytes of %d, %v", len(out), len(bomb), err)
	}
	if out, err := decompress(bomb, nil, 4<<20); err != nil || len(out) != 4<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// Encoders and decoders are shared by all goroutines, and their dictionaries are not.
func TestDeltaConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for n := range 8 {
		base, next := extracted.Of(t, documents.Stories(n+1)), extracted.Of(t, documents.Stories(n+2, n+1))
		wg.Go(func() {
			for i := range 50 {
				got, err := Apply(base, makers[i%2](base, next))
				if err != nil || got.Hash != next.Hash {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// FuzzApplyDelta: whatever comes from another node, a typed error or the content
// whose hash the delta names.
func FuzzApplyDelta(f *testing.F) {
	base := extracted.Of(f, documents.Stories(2, 1))
	for _, body := range [][]byte{documents.Stories(3, 2, 1), documents.Stories(), []byte("text"), []byte(`[{"id":1}]`)} {
		for _, made := range makers {
			f.Add(made(base, extracted.Of(f, body)))
		}
	}
	f.Fuzz(func(t *testing.T, delta []byte) {
		next, err := Apply(base, delta)
		if err != nil {
			if !errors.Is(err, content.ErrCorrupt) && !errors.Is(err, content.ErrVersion) && !errors.Is(err, ErrBase) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := Apply(base, delta); err != nil || !bytes.Equal(again.Text, next.Text) {
			t.Fatalf("%x gives %q, then %q, %v", delta, next.Text, again.Text, err)
		}
		if back, err := Apply(base, EncodeFast(base, next)); err != nil || back.Hash != next.Hash {
			t.Fatalf("%q does not come back: %v", next.Text, err)
		}
	})
}
