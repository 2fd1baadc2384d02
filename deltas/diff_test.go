package deltas

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	edited := story(2)
	edited.text = "Other text."
	u := Compare(mustExtract(t, stories(3, 2)), mustExtract(t, rssFeed("", story(4), story(3), edited)))
	const want = `@@ -6 +6 @@ Story 2
-  What happened in story 2.
+  Other text.
@@ -10,0 +11,4 @@
+entry: id-4
+title: Story 4
+link: https://example.com/4
+  What happened in story 4.
`
	if u.Diff != want {
		t.Errorf("diff:\n%s\nwant\n%s", u.Diff, want)
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
		got := Ops(mustExtract(t, []byte(test.base)), mustExtract(t, []byte(test.next)))
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
		for _, h := range hunks([]byte(old), []byte(is)) {
			b.WriteString(strings.Join(lines[at:h.oldLine], ""))
			if got := strings.Join(lines[h.oldLine:h.oldLine+h.omitted], ""); got != string(h.old) {
				t.Fatalf("hunk omits %q, there stands %q", h.old, got)
			}
			if n := strings.Count(b.String(), "\n"); n != h.newLine || strings.Count(string(h.new), "\n") != h.added {
				t.Fatalf("hunk %+v at new line %d", h, n)
			}
			b.Write(h.new)
			at = h.oldLine + h.omitted
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
	u := Compare(mustExtract(t, []byte("x")), mustExtract(t, []byte(b.String())))
	if !u.Truncated || len(u.Diff) > maxDiff || len(u.Diff) < maxDiff-100 || !strings.HasSuffix(u.Diff, "short\n") {
		t.Errorf("diff of %d bytes, truncated %v, ends %.40q", len(u.Diff), u.Truncated, u.Diff[len(u.Diff)-40:])
	}
}

// Row 33: input on which a diff is quadratic. The cap is on work, not on time,
// so that the test is no race; the time given is many times what it takes.
func TestDiffIsNotQuadratic(t *testing.T) {
	for _, alphabet := range []int{2, 50, 1000, 1_000_000} {
		for _, lines := range []int{shortestLines / 2, fastLines / 2, MaxLines} {
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
			hunks(old, is)
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("%d lines of %d different ones took %v", lines, alphabet, took)
			}
		}
	}
}
