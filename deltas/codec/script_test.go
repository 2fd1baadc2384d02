package codec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestBitsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probabilities := rapid.SliceOf(rapid.Uint32Range(1, 1<<16-1)).Draw(t, "probabilities")
		bits := rapid.SliceOfN(rapid.IntRange(0, 1), len(probabilities), len(probabilities)).Draw(t, "bits")
		w := newBitWriter(nil)
		for i, p := range probabilities {
			w.bit(bits[i], p)
		}
		r := newBitReader(w.close())
		for i, p := range probabilities {
			if got := r.bit(p); got != bits[i] || r.cut() {
				t.Fatalf("bit %d of %d is %d, want %d; cut %v", i, len(bits), got, bits[i], r.cut())
			}
		}
	})
}

// What is likely costs little: that is what the coder is for.
func TestBitsAreShort(t *testing.T) {
	w := newBitWriter(nil)
	for range 80_000 {
		w.bit(1, 1<<16-64)
	}
	if n := len(w.close()); n > 20 {
		t.Errorf("80,000 bits of probability 0.999 take %d bytes, their information is 14", n)
	}
}

func TestNumbersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 1<<31-2))).Draw(t, "numbers")
		w := newBitWriter(nil)
		var out numbers
		for _, n := range in {
			out.code(w, n)
		}
		r := newBitReader(w.close())
		var back numbers
		for i, n := range in {
			if got := back.code(r, 0); got != n || r.cut() {
				t.Fatalf("number %d is %d, want %d", i, got, n)
			}
		}
	})
}

func TestNotesReadBack(t *testing.T) {
	date := rapid.SampledFrom([]string{"", "2026-01-01T00:00:00Z", "2026-01-01T23:59:59Z", "1969-12-31T23:59:59Z", "1900-01-01T00:00:00Z", "2199-12-31T23:59:59Z"})
	one := rapid.Custom(func(t *rapid.T) content.Note {
		return content.Note{Place: rapid.IntRange(0, content.MaxEntries-1).Draw(t, "place"), Published: date.Draw(t, "published"), Updated: date.Draw(t, "updated")}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := content.Notes{FeedURL: rapid.SampledFrom([]string{"", "https://example.com/feed", "https://example.com/é"}).Draw(t, "feed"), Entries: rapid.SliceOf(one).Draw(t, "notes")}
		dated, ok := dated(n)
		if !ok {
			t.Fatalf("dates of %v", n)
		}
		known := rapid.SampledFrom([]string{"", "https://example.com/feed"}).Draw(t, "known feed")
		w := newBitWriter(nil)
		codeFeed(w, n.FeedURL, known)
		codeNotes(w, dated)
		r := newBitReader(w.close())
		got := content.Notes{FeedURL: codeFeed(r, "", known)}
		got.Entries = undated(codeNotes(r, nil))
		if r.cut() || got.FeedURL != n.FeedURL || !slices.Equal(got.Entries, n.Entries) {
			t.Fatalf("%v, want %v", got, n)
		}
	})
	if _, ok := dated(content.Notes{Entries: []content.Note{{Published: "yesterday"}}}); ok {
		t.Error("a date that is none has seconds")
	}
}

// anyLines generates texts that share lines and parts of lines.
func anyLines() *rapid.Generator[[]byte] {
	line := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "the same line as ever", "Cases | 5", "Cases | 6", "é漢\u00a0"}), rapid.StringN(0, 40, -1))
	return rapid.Map(rapid.SliceOfN(line, 0, 30), func(lines []string) []byte {
		var b bytes.Buffer
		for _, l := range lines {
			b.WriteString(strings.ReplaceAll(l, "\n", "") + "\n")
		}
		return b.Bytes()
	})
}

func TestStepsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, next := anyLines().Draw(t, "base"), anyLines().Draw(t, "next")
		steps, small := makeSteps(base, next)
		if !small {
			t.Fatalf("%d steps are too many", len(steps))
		}
		w := newBitWriter(nil)
		encodeSteps(w, base, steps)
		got, err := decodeSteps(newBitReader(w.close()), base)
		if err != nil || !bytes.Equal(got, next) {
			t.Fatalf("%q, %v, want %q", got, err, next)
		}
	})
}

// What a script would put in beyond its cap travels as a frame.
func TestDeltaOfMuch(t *testing.T) {
	base := extracted.Of(t, []byte("one line"))
	for _, size := range []int{maxScript / 2, 2 * maxScript} {
		next := extracted.Of(t, []byte(strings.Repeat("many lines ", size/11)))
		delta := Encode(base, next)
		if isFrame := delta[0] == deltaFrame; isFrame != (size > maxScript) || len(delta) > 1000 {
			t.Errorf("%d bytes: version %d, delta of %d bytes", size, delta[0], len(delta))
		}
		if got, err := Apply(base, delta); err != nil || got.Hash != next.Hash {
			t.Errorf("%d bytes: %v, %v", size, got, err)
		}
	}
}

// Scripts are stored and sent between versions of the program: neither format
// nor model may change but with the version.
func TestDeltaGolden(t *testing.T) {
	base := extracted.Of(t, documents.RSS("", documents.Story(3), documents.Story(2), documents.Story(1)))
	next := extracted.Of(t, documents.RSS("", documents.Story(4), documents.Story(3), documents.Story(2)))
	const want = "06450ffc85824f48d1d31df13d5133c13b03e0778c82da552c9503915b"
	if got := fmt.Sprintf("%x", Encode(base, next)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Row 55's kin: no bytes from another node cost more than a moment, whatever
// counts they claim.
func TestStepsHostile(t *testing.T) {
	base := bytes.Repeat([]byte("a line of the base\n"), 50_000)
	many := numbersOf(content.MaxLines, func(i int) (int, int, int) { return 0, 0, 1 })
	for name, body := range map[string][]byte{
		"nothing": nil, "zeros": make([]byte, 100), "ones": bytes.Repeat([]byte{0xff}, 100), "many steps": many,
		"more lines":    numbersOf(1, func(int) (int, int, int) { return 50_001, 0, 1 }),
		"far too many":  numbersOf(1<<31-2, func(int) (int, int, int) { return 0, 0, 0 }),
		"to the end":    numbersOf(1, func(int) (int, int, int) { return 0, 1<<31 - 2, 1 }),
		"no steps":      numbersOf(0, nil),
		"endless lines": numbersOf(1, func(int) (int, int, int) { return 0, 0, 1 << 30 }),
	} {
		begun := time.Now()
		got, err := decodeSteps(newBitReader(body), base)
		if err != nil && !errors.Is(err, errScript) || len(got) > len(base)+maxScript {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// numbersOf codes the shape of a script without its text.
func numbersOf(count int, each func(i int) (kept, omitted, added int)) []byte {
	w := newBitWriter(nil)
	var shapes shapeCoder
	shapes.counts.code(w, count)
	for i := range min(count, content.MaxLines) {
		var s step
		s.kept, s.omitted, s.added = each(i)
		shapes.code(w, &s)
	}
	return w.close()
}
