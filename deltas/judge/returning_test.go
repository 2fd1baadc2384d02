package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// subscriber knows of a channel what its updates say.
type subscriber struct {
	owner
	says map[string]string // of each entry, by ID
}

// sees is a look at a document; it returns the update, nil if there is none.
func (s *subscriber) sees(t rapid.TB, at time.Time, core *content.Core) *Update {
	base := s.base
	d := s.report(t, at, core)
	if base == nil || d.Verdict != VerdictPublish {
		if s.says == nil {
			s.says = make(map[string]string)
			s.reads(core.Entries)
		}
		return nil
	}
	u := d.Noise.Compare(base, core)
	u.Admit(d.NewSeen)
	s.reads(u.Entries.Added)
	s.reads(u.Entries.Changed)
	return u
}

func (s *subscriber) reads(entries []content.Entry) {
	for _, e := range entries {
		s.says[e.ID] = e.Title + "\n" + e.Summary
	}
}

// newsOf returns which entries an update says are new, and which have changed.
func newsOf(u *Update) string {
	if u == nil {
		return ""
	}
	return extracted.IDs(u.Entries.Added) + "/" + extracted.IDs(u.Entries.Changed)
}

// An entry that comes back is told if it says something else than when it left.
func TestReturnedEntries(t *testing.T) {
	feed := func(texts ...string) string { // "2 b" is the second entry, with the text b
		var items []documents.Item
		for _, text := range texts {
			var it documents.Item
			var n int
			if _, err := fmt.Sscan(text, &n, &text); err != nil {
				t.Fatal(err)
			}
			it = documents.Story(n)
			it.Text = text
			items = append(items, it)
		}
		return string(documents.RSS("", items...))
	}
	list := func(texts ...string) string {
		for i, text := range texts {
			id, says, _ := strings.Cut(text, " ")
			texts[i] = fmt.Sprintf(`{"id":%q,"title":%q}`, id, says)
		}
		return `{"items":[` + strings.Join(texts, ",") + `]}`
	}
	const errorPage = "<html><title>503</title><p>Please come back later."
	for _, tc := range []struct {
		name  string
		looks []string
		want  string // told by the last look
	}{
		{"with the same text", []string{feed("2 a", "1 a"), feed("3 a", "2 a"), feed("3 a", "2 a", "1 a")}, ""},
		{"with another text", []string{feed("2 a", "1 a"), feed("3 a", "2 a"), feed("3 a", "2 a", "1 b")}, "/id-1"},
		{"with another text beside news", []string{feed("2 a", "1 a"), feed("3 a", "2 a"), feed("4 a", "3 a", "2 a", "1 b")}, "id-4/id-1"},
		{"with another text beside a removal", []string{feed("3 a", "2 a", "1 a"), feed("4 a", "3 a", "2 a"), feed("4 a", "1 b")}, "/id-1"},
		{"after a silent departure", []string{feed("2 a", "1 a"), feed("2 a"), feed("2 a", "1 b")}, "/id-1"},
		{"with what a change said", []string{feed("2 a", "1 a"), feed("2 a", "1 b"), feed("3 a", "2 a"), feed("3 a", "2 a", "1 b")}, ""},
		{"with what it said before a change", []string{feed("2 a", "1 a"), feed("2 a", "1 b"), feed("3 a", "2 a"), feed("3 a", "2 a", "1 a")}, "/id-1"},
		{"for the second time, with the text of the first", []string{feed("2 a", "1 a"), feed("2 a"), feed("2 a", "1 b"), feed("2 a"), feed("3 a", "2 a"), feed("3 a", "2 a", "1 a")}, "/id-1"},
		{"behind an empty feed", []string{feed("2 a", "1 a"), feed(), feed(), feed("2 a", "1 b")}, "/id-1"},
		{"behind an error page", []string{feed("2 a", "1 a"), errorPage, errorPage, feed("2 a", "1 b")}, "/id-1"},
		{"behind an error page, with the same text", []string{feed("2 a", "1 a"), errorPage, errorPage, feed("2 a", "1 a")}, ""},
		{"in a JSON list", []string{list("2 a", "1 a"), list("3 a", "2 a"), list("3 a", "2 a", "1 b")}, "/1"},
		{"in a JSON list, with the same text", []string{list("2 a", "1 a"), list("3 a", "2 a"), list("3 a", "2 a", "1 a")}, ""},
	} {
		var s subscriber
		var last *Update
		for n, look := range tc.looks {
			last = s.sees(t, epoch.Add(time.Duration(n)*time.Hour), extracted.Of(t, []byte(look)))
		}
		if got := newsOf(last); got != tc.want {
			t.Errorf("%s: told %q, want %q", tc.name, got, tc.want)
		}
	}
}

// An entry that comes back is told without fields: what of it is another is not known.
func TestReturnedEntryHasNoFields(t *testing.T) {
	var s subscriber
	s.sees(t, epoch, extracted.Of(t, documents.Stories(2, 1)))
	s.sees(t, epoch.Add(time.Hour), extracted.Of(t, documents.Stories(3, 2)))
	edited := documents.Story(1)
	edited.Text = "Otherwise."
	u := s.sees(t, epoch.Add(2*time.Hour), extracted.Of(t, documents.RSS("", documents.Story(3), documents.Story(2), edited)))
	if newsOf(u) != "/id-1" || u.Entries.Changed[0].Summary != "Otherwise." || u.Entries.Changed[0].Fields != nil {
		t.Errorf("%+v", u)
	}
}

// What was remembered of entries by older versions, their identities alone, tells
// nothing of what they said.
func TestReturnedEntryOfOlderVersion(t *testing.T) {
	base := extracted.Of(t, documents.Stories(3, 2))
	edited := documents.Story(1)
	edited.Text = "Otherwise."
	next := extracted.Of(t, documents.RSS("", documents.Story(3), documents.Story(2), edited))
	d := Decide(settled(base), slices.Concat(base.Identities(), next.Identities()), base, Observation{Begun: epoch.Add(time.Hour), Core: next})
	if d.Verdict != VerdictRebase {
		t.Errorf("%v", d.Verdict)
	}
}

// Numbers that are masked are no other text, and a report that is late tells of no
// return.
func TestReturnedEntryIsJudgedAsSeen(t *testing.T) {
	counting := func(count int, numbers ...int) *content.Core {
		var items []documents.Item
		for _, n := range numbers {
			it := documents.Story(n)
			it.Text = fmt.Sprintf("Pulls: %d of them", count)
			items = append(items, it)
		}
		return extracted.Of(t, documents.RSS("", items...))
	}
	masks := Noise{slots: []slot{{key: newKey(slotField, "Pulls: \x00 of"), rhythm: rhythm{score: 40, masked: true}}}}
	for _, tc := range []struct {
		name  string
		noise Noise
		at    time.Duration
		want  Verdict
	}{
		{"the number counts", Noise{}, 2 * time.Hour, VerdictPublish},
		{"the number is masked", masks, 2 * time.Hour, VerdictRebase},
		{"the report is late", Noise{}, time.Hour - time.Minute, VerdictUnchanged},
	} {
		o := owner{base: counting(1, 2, 1)}
		o.state = settled(o.base)
		o.state.Noise = tc.noise
		o.state.Face = tc.noise.face(tc.noise.view(o.base))
		o.seen = Remember(nil, o.base.Identities())
		if d := o.report(t, epoch.Add(time.Hour), counting(1, 2)); d.Verdict != VerdictRebase || len(d.NewSeen) != 1 {
			t.Fatalf("%s: an entry left: %v, %d to be remembered", tc.name, d.Verdict, len(d.NewSeen))
		}
		o.state.Noise = tc.noise // whatever was learned
		if d := o.report(t, epoch.Add(tc.at), counting(2, 2, 1)); d.Verdict != tc.want && tc.at > time.Hour {
			t.Errorf("%s: %v, want %v", tc.name, d.Verdict, tc.want)
		}
	}
}

// An entry that comes and goes is remembered once for each text, so that it does not
// drive out others.
func TestReturningEntryIsRememberedOnce(t *testing.T) {
	with, without := extracted.Of(t, documents.Stories(2, 1)), extracted.Of(t, documents.Stories(2))
	var o owner
	for n := range 40 {
		o.report(t, epoch.Add(time.Duration(n)*time.Hour), with)
		o.report(t, epoch.Add(time.Duration(n)*time.Hour+time.Minute), without)
	}
	if len(o.seen) != 2*len(with.Entries)+1 {
		t.Errorf("%d remembered of two entries, one of which came and went", len(o.seen))
	}
}

// What an item said that is news again whenever it comes back need not be remembered.
func TestDepartedAlarmIsNotRemembered(t *testing.T) {
	list := func(names ...string) *content.Core {
		return extracted.Of(t, []byte(`{"alarms":[{"kind":"alarm","name":"`+strings.Join(names, `"},{"kind":"alarm","name":"`)+`"}]}`))
	}
	var o owner
	o.report(t, epoch, list("A", "B", "C"))
	seen := len(o.seen)
	if d := o.report(t, epoch.Add(time.Hour), list("A", "D", "C")); d.Verdict != VerdictPublish || len(d.NewSeen) != 2 {
		t.Errorf("an alarm for another: %v, %d to be remembered beside %d, want its identity and alias", d.Verdict, len(d.NewSeen), seen)
	}
}

// Whatever comes, goes and changes, a subscriber who has read all updates knows of each
// entry of the current content what it says.
func TestSubscriberKnowsCurrentContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s subscriber
		for n := range rapid.IntRange(2, 12).Draw(t, "looks") {
			shown := rapid.MapOf(rapid.IntRange(1, 5), rapid.SampledFrom([]string{"one", "two", "three"})).Draw(t, "entries")
			var items []documents.Item
			for _, number := range slices.Backward(slices.Sorted(maps.Keys(shown))) {
				it := documents.Story(number)
				it.Text = shown[number]
				items = append(items, it)
			}
			core := extracted.Of(t, documents.RSS("", items...))
			s.sees(t, epoch.Add(time.Duration(n)*time.Hour), core)
			if s.state.Current != core.Hash {
				continue // held
			}
			for _, e := range core.Entries {
				if s.says[e.ID] != e.Title+"\n"+e.Summary {
					t.Fatalf("look %d shows %s with %q, told was %q", n, e.ID, e.Summary, s.says[e.ID])
				}
			}
		}
	})
}
