package deltas

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := Extract(Document{Body: anyDocument().Draw(t, "base")})
		if err != nil || rapid.Bool().Draw(t, "without base") {
			base = nil
		}
		next, err := Extract(Document{Body: anyDocument().Draw(t, "next")})
		if err != nil {
			t.SkipNow()
		}
		got, err := ApplyDelta(base, MakeDelta(base, next))
		if err != nil {
			t.Fatal(err)
		}
		if got.Hash != next.Hash || !bytes.Equal(got.Content(), next.Content()) || got.FeedURL != next.FeedURL {
			t.Fatalf("patched:\n%q\nwant\n%q", got.Text, next.Text)
		}
		checkCore(t, got)
		if base == nil && !bytes.Equal(got.Text, next.Text) {
			t.Fatalf("without a base, notes differ:\n%q\nwant\n%q", got.Text, next.Text)
		}
	})
}

// Who was given deltas alone ends where those are who read every document: deltas
// made between documents apply to what other deltas made.
func TestDeltasCompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := feedHistory(t)
		was := mustExtract(t, history[0])
		first, held := was, was
		for n, body := range history[1:min(len(history), 6)] {
			next := mustExtract(t, body)
			got, err := ApplyDelta(held, MakeDelta(was, next))
			if err != nil || got.Hash != next.Hash {
				t.Fatalf("document %d: %v", n+1, err)
			}
			was, held = next, got
		}
		if far, err := ApplyDelta(first, MakeDelta(first, was)); err != nil || far.Hash != held.Hash {
			t.Fatalf("from the first to the last at once: %v", err)
		}
	})
}

// A delta carries the dates of what is new and leaves the others alone.
func TestDeltaNotes(t *testing.T) {
	moved := story(1)
	moved.date = "Wed, 31 Dec 2031 00:00:00 GMT"
	base, next := mustExtract(t, stories(2, 1)), mustExtract(t, rssFeed("", story(4), moved, story(3), story(2)))
	got, err := ApplyDelta(base, MakeDelta(base, next))
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
	base, next := mustExtract(t, stories(numbers[1:]...)), mustExtract(t, stories(numbers[:39]...))
	if delta := MakeDelta(base, next); len(delta) > len(next.Content())/30 {
		t.Errorf("delta of %d bytes for one new entry in %d", len(delta), len(next.Content()))
	}
}

func TestApplyDeltaErrors(t *testing.T) {
	base, next, other := mustExtract(t, stories(1)), mustExtract(t, stories(2, 1)), mustExtract(t, stories(9))
	delta := MakeDelta(base, next)
	flipped := bytes.Clone(delta)
	flipped[1+deltaBaseLen] ^= 1
	tests := []struct {
		name  string
		base  *Core
		delta []byte
		want  error
	}{
		{"empty", base, nil, ErrCorrupt},
		{"short", base, delta[:deltaHeader-1], ErrCorrupt},
		{"no script", base, delta[:deltaHeader], ErrCorrupt},
		{"a script without a base", nil, MakeDelta(nil, next)[:0:0], ErrCorrupt},
		{"cut", base, delta[:len(delta)-1], ErrCorrupt},
		{"another version", base, append([]byte{deltaScript + 1}, delta[1:]...), ErrVersion},
		{"another base", other, delta, ErrBase},
		{"no base", nil, delta, ErrBase},
		{"another result", base, flipped, ErrCorrupt},
	}
	for _, test := range tests {
		if got, err := ApplyDelta(test.base, test.delta); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

// A frame that claims, or is, more than content may be is refused.
func TestDecompressIsCapped(t *testing.T) {
	bomb := compress(nil, make([]byte, 4<<20), nil)
	if out, err := decompress(bomb, nil, 1<<20); !errors.Is(err, ErrCorrupt) {
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
		base, next := mustExtract(t, stories(n+1)), mustExtract(t, stories(n+2, n+1))
		wg.Go(func() {
			for range 50 {
				got, err := ApplyDelta(base, MakeDelta(base, next))
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
	base := mustExtract(f, stories(2, 1))
	for _, body := range [][]byte{stories(3, 2, 1), stories(), []byte("text"), []byte(`[{"id":1}]`)} {
		f.Add(MakeDelta(base, mustExtract(f, body)))
	}
	f.Fuzz(func(t *testing.T, delta []byte) {
		next, err := ApplyDelta(base, delta)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrBase) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := ApplyDelta(base, delta); err != nil || !bytes.Equal(again.Text, next.Text) {
			t.Fatalf("%x gives %q, then %q, %v", delta, next.Text, again.Text, err)
		}
		if back, err := ApplyDelta(base, MakeDelta(base, next)); err != nil || back.Hash != next.Hash {
			t.Fatalf("%q does not come back: %v", next.Text, err)
		}
	})
}
