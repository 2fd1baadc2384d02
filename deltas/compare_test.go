package deltas

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCompareEntries(t *testing.T) {
	edited := story(2)
	edited.title, edited.text = "Story two", edited.text+" And more."
	long := story(2)
	long.text = strings.Repeat("long text ", 100)
	longer := long
	longer.text += "with an end"
	undated := func(numbers ...int) []byte {
		items := make([]item, len(numbers))
		for i, n := range numbers {
			items[i] = story(n)
			items[i].date = ""
		}
		return rssFeed("", items...)
	}
	tests := []struct {
		name                    string
		base, next              []byte
		added, changed, removed string
		fields                  string
	}{
		{"added on top", stories(2, 1), stories(3, 2, 1), "id-3", "", "", ""},
		{"added in the middle", stories(3, 1), stories(3, 2, 1), "id-2", "", "", ""},
		{"left at the old end", stories(3, 2, 1), stories(4, 3, 2), "id-4", "", "", ""},
		{"withdrawn from the middle", stories(3, 2, 1), stories(3, 1), "", "", "id-2", ""},
		{"withdrawn from the top", stories(3, 2, 1), stories(2, 1), "", "", "id-3", ""},
		{"old end of a list that grows downwards", stories(1, 2, 3), stories(2, 3, 4), "id-4", "", "", ""},
		{"without dates, order decides", undated(3, 2, 1), undated(4, 3, 2), "id-4", "", "", ""},
		{"without dates, from the middle", undated(3, 2, 1), undated(4, 3, 1), "id-4", "", "id-2", ""},
		{"all others came", stories(3, 2, 1), stories(6, 5, 4), "id-6 id-5 id-4", "", "", ""},
		{"empty removes nothing", stories(3, 2, 1), stories(), "", "", "", ""},
		{"another kind removes nothing", stories(3, 2, 1), []byte("<html>Error"), "", "", "", ""},
		{"edited", stories(3, 2, 1), rssFeed("", story(3), edited, story(1)), "", "id-2", "", "title summary"},
		{"edited behind the summary", rssFeed("", long), rssFeed("", longer), "", "id-2", "", "content"},
		{"JSON members", []byte(`[{"id":1,"votes":1,"title":"a"}]`), []byte(`[{"id":1,"votes":2,"by":"x","title":"a"}]`), "", "1", "", "by votes"},
		{"JSON nested member", []byte(`[{"id":1,"v":{"a":[1]}}]`), []byte(`[{"id":1,"v":{"a":[2]}}]`), "", "1", "", "v"},
	}
	for _, test := range tests {
		u := Compare(mustExtract(t, test.base), mustExtract(t, test.next))
		got := [...]string{entryIDs(u.Entries.Added), entryIDs(u.Entries.Changed), entryIDs(u.Entries.Removed)}
		if got != [...]string{test.added, test.changed, test.removed} {
			t.Errorf("%s: added, changed, removed %q", test.name, got)
		}
		for _, e := range u.Entries.Changed {
			if fields := strings.Join(e.Fields, " "); fields != test.fields {
				t.Errorf("%s: fields %q, want %q", test.name, fields, test.fields)
			}
		}
		if u.Entries.Added == nil || u.Entries.Changed == nil || u.Entries.Removed == nil {
			t.Errorf("%s: a nil list", test.name)
		}
	}
}

func TestCompareWithNothing(t *testing.T) {
	u := Compare(nil, mustExtract(t, stories(2, 1)))
	if entryIDs(u.Entries.Added) != "id-2 id-1" || !strings.HasPrefix(u.Diff, "@@ -0,0 +1,10 @@\n+corona-core") {
		t.Errorf("%+v", u)
	}
}

func TestUpdateAdmit(t *testing.T) {
	next := mustExtract(t, stories(3, 2, 1))
	u := Compare(mustExtract(t, stories(1)), next)
	u.Admit(next.Identities()[:1])
	if entryIDs(u.Entries.Added) != "id-3" {
		t.Errorf("added %s, want id-3 alone", entryIDs(u.Entries.Added))
	}
	u.Admit(nil)
	if len(u.Entries.Added) != 0 || u.Entries.Added == nil {
		t.Errorf("added %v, want an empty list", u.Entries.Added)
	}
}

func TestGermane(t *testing.T) {
	tests := []struct {
		name       string
		base, next []byte
		want       bool
	}{
		{"the same", stories(2, 1), stories(1, 2), false},
		{"left the window", stories(3, 2, 1), stories(3, 2), false},
		{"withdrawn", stories(3, 2, 1), stories(3, 1), true},
		{"added", stories(2, 1), stories(3, 2), true},
		{"emptied", stories(2, 1), stories(), true},
		{"another title", rssFeed("", story(1)), []byte(strings.Replace(string(rssFeed("", story(1))), "News", "Old News", 1)), true},
		{"text", []byte("a\nb"), []byte("a\nc"), true},
		{"blank lines", []byte("a\nb"), []byte("a\n\nb \n"), false},
	}
	for _, test := range tests {
		if got := Germane(mustExtract(t, test.base), mustExtract(t, test.next)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

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

func TestUpdateIsBounded(t *testing.T) {
	items := make([]item, MaxEntries)
	for n := range items {
		items[n] = item{guid: fmt.Sprint(n), title: strings.Repeat("t", maxTitle), text: strings.Repeat("x", 400)}
	}
	u := Compare(nil, mustExtract(t, rssFeed("", items...)))
	if !u.Truncated || len(u.Entries.Added) == 0 || len(u.Entries.Added) == len(items) {
		t.Errorf("%d of %d entries, truncated %v", len(u.Entries.Added), len(items), u.Truncated)
	}
	if _, err := DecodeUpdate(u.Append(nil)); err != nil {
		t.Error(err)
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

// FuzzCompare: a delta and an update of any two documents work.
func FuzzCompare(f *testing.F) {
	f.Add(stories(2, 1), stories(3, 2))
	f.Add([]byte("<html><p>a<p>b"), []byte("<html><p>b<p>c"))
	f.Add([]byte(`[{"id":1,"a":1}]`), []byte(`[{"id":1,"a":2},{"id":2}]`))
	f.Add([]byte("a\nb\nc"), []byte("c\nb\na"))
	for i, list := range listSeeds {
		f.Add([]byte(list), []byte(listSeeds[(i+1)%len(listSeeds)]))
	}
	f.Add([]byte(`[{"level":"high","region":"N"},{"level":"low","region":"S"}]`), []byte(`[{"level":"mid","region":"N"},{"level":"low","region":"S"}]`))
	f.Fuzz(func(t *testing.T, old, is []byte) {
		base, err := Extract(Document{Body: old})
		if err != nil {
			return
		}
		next, err := Extract(Document{Body: is})
		if err != nil {
			return
		}
		u := Compare(base, next)
		if err := verify(base, next, u); err != nil {
			t.Fatal(err)
		}
		if (u.Diff == "") != (base.Hash == next.Hash) {
			t.Fatalf("diff %q of %v and %v", u.Diff, base.Hash, next.Hash)
		}
	})
}
