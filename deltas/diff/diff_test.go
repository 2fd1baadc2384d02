package diff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestUnified(t *testing.T) {
	edited := documents.Story(2)
	edited.Text = "Other text."
	text, truncated := Unified(extracted.Of(t, documents.Stories(3, 2)), extracted.Of(t, documents.RSS("", documents.Story(4), documents.Story(3), edited)))
	const want = `@@ -6 +6 @@ Story 2
-  What happened in story 2.
+  Other text.
@@ -10,0 +11,4 @@
+entry: id-4
+title: Story 4
+link: https://example.com/4
+  What happened in story 4.
`
	if text != want || truncated {
		t.Errorf("diff:\n%s\nwant\n%s", text, want)
	}
}

func TestOps(t *testing.T) {
	tests := []struct{ base, next, want string }{
		{"a\nb\nc", "a\nb\nc", "[]"},
		{"a\nb\nc", "a\nx\nb\nc", "[{add 3 1 0}]"},
		{"a\nb\nc", "a\nc", "[{omit 4 1 0}]"},
		{"a\nb\nc", "a\nx\ny\nc", "[{replace 4 1 2}]"},
		{"a\nb\nc\nd\ne", "b\nc\nx\ne\nf", "[{omit 3 1 0} {replace 6 1 1} {add 7 1 0}]"},
		{"a", "a\na\na", "[{add 3 2 0}]"},
		{"a\na\na", "a", "[{omit 4 2 0}]"},
	}
	for _, test := range tests {
		got := Ops(extracted.Of(t, []byte(test.base)), extracted.Of(t, []byte(test.next)))
		if fmt.Sprint(got) != test.want {
			t.Errorf("%q to %q: %v, want %s", test.base, test.next, got, test.want)
		}
	}
}

// Hunks applied to the old text give the new one.
func TestHunksApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "c"}), 0, 30), func(lines []string) string {
			var b strings.Builder
			for _, line := range lines {
				b.WriteString(line + "\n")
			}
			return b.String()
		})
		old, is := text.Draw(t, "old"), text.Draw(t, "new")
		lines := strings.SplitAfter(old, "\n")
		var b strings.Builder
		at := 0
		for _, h := range Hunks([]byte(old), []byte(is)) {
			b.WriteString(strings.Join(lines[at:h.OldLine], ""))
			if got := strings.Join(lines[h.OldLine:h.OldLine+h.Omitted], ""); got != string(h.Old) {
				t.Fatalf("hunk omits %q, there stands %q", h.Old, got)
			}
			if n := strings.Count(b.String(), "\n"); n != h.NewLine || strings.Count(string(h.New), "\n") != h.Added {
				t.Fatalf("hunk %+v at new line %d", h, n)
			}
			b.Write(h.New)
			at = h.OldLine + h.Omitted
		}
		b.WriteString(strings.Join(lines[at:], ""))
		if b.String() != is {
			t.Fatalf("%q by hunks is %q, want %q", old, b.String(), is)
		}
	})
}

func TestDiffIsCut(t *testing.T) {
	var b strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&b, "line %d of a text that is not short\n", n)
	}
	text, truncated := Unified(extracted.Of(t, []byte("x")), extracted.Of(t, []byte(b.String())))
	if !truncated || len(text) > MaxUnified || len(text) < MaxUnified-100 || !strings.HasSuffix(text, "short\n") {
		t.Errorf("diff of %d bytes, truncated %v, ends %.40q", len(text), truncated, text[len(text)-40:])
	}
}

// Row 33: input on which a diff is quadratic. The cap is on work, not on time,
// so that the test is no race; the time given is many times what it takes.
func TestDiffIsNotQuadratic(t *testing.T) {
	for _, alphabet := range []int{2, 50, 1000, 1_000_000} {
		for _, lines := range []int{shortestLines / 2, fastLines / 2, content.MaxLines} {
			text := func(seed uint32) []byte {
				var b strings.Builder
				for range lines {
					seed = seed*1664525 + 1013904223
					fmt.Fprintf(&b, "%d\n", int(seed>>8)%alphabet)
				}
				return []byte(b.String())
			}
			old, is := text(1), text(2)
			begun := time.Now()
			Hunks(old, is)
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("%d lines of %d different ones took %v", lines, alphabet, took)
			}
		}
	}
}
