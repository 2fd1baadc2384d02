package deltas

import (
	"fmt"
	"strings"
	"testing"
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
