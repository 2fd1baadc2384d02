package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

func TestCompareEntries(t *testing.T) {
	edited := documents.Story(2)
	edited.Title, edited.Text = "Story two", edited.Text+" And more."
	long := documents.Story(2)
	long.Text = strings.Repeat("long text ", 100)
	longer := long
	longer.Text += "with an end"
	undated := func(numbers ...int) []byte {
		items := make([]documents.Item, len(numbers))
		for i, n := range numbers {
			items[i] = documents.Story(n)
			items[i].Date = ""
		}
		return documents.RSS("", items...)
	}
	tests := []struct {
		name                    string
		base, next              []byte
		added, changed, removed string
		fields                  string
	}{
		{"added on top", documents.Stories(2, 1), documents.Stories(3, 2, 1), "id-3", "", "", ""},
		{"added in the middle", documents.Stories(3, 1), documents.Stories(3, 2, 1), "id-2", "", "", ""},
		{"left at the old end", documents.Stories(3, 2, 1), documents.Stories(4, 3, 2), "id-4", "", "", ""},
		{"withdrawn from the middle", documents.Stories(3, 2, 1), documents.Stories(3, 1), "", "", "id-2", ""},
		{"withdrawn from the top", documents.Stories(3, 2, 1), documents.Stories(2, 1), "", "", "id-3", ""},
		{"old end of a list that grows downwards", documents.Stories(1, 2, 3), documents.Stories(2, 3, 4), "id-4", "", "", ""},
		{"without dates, order decides", undated(3, 2, 1), undated(4, 3, 2), "id-4", "", "", ""},
		{"without dates, from the middle", undated(3, 2, 1), undated(4, 3, 1), "id-4", "", "id-2", ""},
		{"all others came", documents.Stories(3, 2, 1), documents.Stories(6, 5, 4), "id-6 id-5 id-4", "", "", ""},
		{"empty removes nothing", documents.Stories(3, 2, 1), documents.Stories(), "", "", "", ""},
		{"another kind removes nothing", documents.Stories(3, 2, 1), []byte("<html>Error"), "", "", "", ""},
		{"edited", documents.Stories(3, 2, 1), documents.RSS("", documents.Story(3), edited, documents.Story(1)), "", "id-2", "", "title summary"},
		{"edited behind the summary", documents.RSS("", long), documents.RSS("", longer), "", "id-2", "", "content"},
		{"JSON members", []byte(`[{"id":1,"votes":1,"title":"a"}]`), []byte(`[{"id":1,"votes":2,"by":"x","title":"a"}]`), "", "1", "", "by votes"},
		{"JSON nested member", []byte(`[{"id":1,"v":{"a":[1]}}]`), []byte(`[{"id":1,"v":{"a":[2]}}]`), "", "1", "", "v"},
	}
	for _, test := range tests {
		u := Compare(extracted.Of(t, test.base), extracted.Of(t, test.next))
		got := [...]string{extracted.IDs(u.Entries.Added), extracted.IDs(u.Entries.Changed), extracted.IDs(u.Entries.Removed)}
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
	u := Compare(nil, extracted.Of(t, documents.Stories(2, 1)))
	if extracted.IDs(u.Entries.Added) != "id-2 id-1" || !strings.HasPrefix(u.Diff, "@@ -0,0 +1,10 @@\n+corona-core") {
		t.Errorf("%+v", u)
	}
}

func TestUpdateAdmit(t *testing.T) {
	next := extracted.Of(t, documents.Stories(3, 2, 1))
	u := Compare(extracted.Of(t, documents.Stories(1)), next)
	u.Admit(next.Identities()[:1])
	if extracted.IDs(u.Entries.Added) != "id-3" {
		t.Errorf("added %s, want id-3 alone", extracted.IDs(u.Entries.Added))
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
		{"the same", documents.Stories(2, 1), documents.Stories(1, 2), false},
		{"left the window", documents.Stories(3, 2, 1), documents.Stories(3, 2), false},
		{"withdrawn", documents.Stories(3, 2, 1), documents.Stories(3, 1), true},
		{"added", documents.Stories(2, 1), documents.Stories(3, 2), true},
		{"emptied", documents.Stories(2, 1), documents.Stories(), true},
		{"another title", documents.RSS("", documents.Story(1)), []byte(strings.Replace(string(documents.RSS("", documents.Story(1))), "News", "Old News", 1)), true},
		{"text", []byte("a\nb"), []byte("a\nc"), true},
		{"blank lines", []byte("a\nb"), []byte("a\n\nb \n"), false},
	}
	for _, test := range tests {
		if got := Germane(extracted.Of(t, test.base), extracted.Of(t, test.next)); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestUpdateIsBounded(t *testing.T) {
	items := make([]documents.Item, content.MaxEntries)
	for n := range items {
		items[n] = documents.Item{GUID: fmt.Sprint(n), Title: strings.Repeat("t", lines.MaxTitle), Text: strings.Repeat("x", 400)}
	}
	u := Compare(nil, extracted.Of(t, documents.RSS("", items...)))
	if !u.Truncated || len(u.Entries.Added) == 0 || len(u.Entries.Added) == len(items) {
		t.Errorf("%d of %d entries, truncated %v", len(u.Entries.Added), len(items), u.Truncated)
	}
	if _, err := DecodeUpdate(u.Append(nil)); err != nil {
		t.Error(err)
	}
}

// A member of many lines is compared in time that grows with their number.
func TestCompareLongMember(t *testing.T) {
	list := func(last int) *content.Core {
		return extracted.Of(t, fmt.Appendf(nil, `[{"id":1,"points":[%s%d]},{"id":2}]`, strings.Repeat("1.5,", 100_000), last))
	}
	base, next := list(1), list(2)
	cost.CheckBounds(t, "points", func() {
		if u := Compare(base, next); len(u.Entries.Changed) != 1 || fmt.Sprint(u.Entries.Changed[0].Fields) != "[points]" {
			t.Errorf("%+v", u.Entries)
		}
	})
}
