package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// owner is a channel's owner reduced to what the judge needs: it takes reports
// in the order of their arrival and keeps what it decided.
type owner struct {
	state    State
	seen     []uint64
	base     *content.Core
	versions []content.Hash // published, the first content included
	reported []string       // IDs of entries reported as new
	removed  []string       // IDs of entries reported as withdrawn
}

func (o *owner) report(t rapid.TB, begun time.Time, core *content.Core) Decision {
	d := Decide(o.state, o.seen, o.base, Observation{Begun: begun, Core: core})
	stored, err := d.State.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	o.state = State{}
	if err := o.state.UnmarshalBinary(stored); err != nil {
		t.Fatal(err)
	}
	o.seen = Remember(o.seen, d.NewSeen)
	switch d.Verdict {
	case VerdictPublish:
		if o.base != nil {
			u := d.Noise.Compare(o.base, core)
			u.Admit(d.NewSeen)
			for _, e := range u.Entries.Added {
				o.reported = append(o.reported, e.ID)
			}
			for _, e := range u.Entries.Removed {
				o.removed = append(o.removed, e.ID)
			}
		}
		o.versions = append(o.versions, core.Hash)
		o.base = core
	case VerdictRebase:
		o.base = core
	}
	return d
}

// TestJudgeTimelines shows polls of one poller, a minute apart, and what the
// judge says of each: u unchanged, h held, p published, r rebased.
func TestJudgeTimelines(t *testing.T) {
	edited := func(n int, text string) []byte {
		it := documents.Story(n)
		it.Text = text
		return documents.RSS("", it, documents.Story(1))
	}
	page := func(lines ...string) []byte { return []byte("<html><p>" + strings.Join(lines, "<p>")) }
	errorPage := []byte("<html><title>503 Service Unavailable</title><p>Please come back later.")
	variantA, variantB := page("a", "b", "one"), page("a", "b", "two")
	ten := []int{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	tests := []struct {
		name  string
		polls [][]byte
		want  string
	}{
		{"new entries", [][]byte{documents.Stories(1), documents.Stories(1), documents.Stories(2, 1), documents.Stories(3, 2)}, "pupp"},
		{"edited entry", [][]byte{edited(2, "x"), edited(2, "y"), edited(2, "y")}, "ppu"},
		{"row 29: reordered", [][]byte{documents.Stories(2, 1), documents.Stories(1, 2)}, "pu"},
		{"left the window", [][]byte{documents.Stories(3, 2, 1), documents.Stories(3, 2), documents.Stories(3, 2)}, "pru"},
		{"entry came back", [][]byte{documents.Stories(2, 1), documents.Stories(3, 2), documents.Stories(3, 2, 1)}, "ppr"},
		{"withdrawn", [][]byte{documents.Stories(3, 2, 1), documents.Stories(3, 1), documents.Stories(3, 1), documents.Stories(3, 1)}, "phpu"},
		{"withdrawn for a moment", [][]byte{documents.Stories(3, 2, 1), documents.Stories(3, 1), documents.Stories(3, 2, 1), documents.Stories(3, 1), documents.Stories(3, 2, 1)}, "phuhu"},
		{"withdrawn, then news", [][]byte{documents.Stories(3, 2, 1), documents.Stories(3, 1), documents.Stories(4, 3, 1)}, "php"},
		{"row 32: empty feed", [][]byte{documents.Stories(2, 1), documents.Stories(), documents.Stories(2, 1)}, "phu"},
		{"row 32: empty for long", [][]byte{documents.Stories(2, 1), documents.Stories(), documents.Stories(), documents.Stories(), documents.Stories(2, 1), documents.Stories(3, 2, 1)}, "phpurp"},
		{"row 32: error page", [][]byte{documents.Stories(2, 1), errorPage, documents.Stories(2, 1), documents.Stories(3, 2, 1)}, "phup"},
		{"row 32: error page for long", [][]byte{documents.Stories(2, 1), errorPage, errorPage, documents.Stories(2, 1), documents.Stories(2, 1)}, "phphr"},
		{"row 32: page becomes an error page", [][]byte{page("a", "b"), errorPage, page("a", "b")}, "phu"},
		{"row 32: page becomes blank", [][]byte{page("a", "b"), page(), page("a", "b")}, "phu"},
		{"mass removal", [][]byte{documents.Stories(ten...), documents.Stories(10, 9, 8), documents.Stories(ten...)}, "phu"},
		{"mass removal that stays", [][]byte{documents.Stories(ten...), documents.Stories(10, 2, 1), documents.Stories(10, 2, 1)}, "php"},
		{"lines taken away", [][]byte{page("a", "b", "c"), page("a", "c"), page("a", "c")}, "php"},
		{"lines replaced", [][]byte{page("a", "b", "c"), page("a", "x", "c")}, "pp"},
		{"row 25: a cut page", [][]byte{page("a", "b", "c", "d", "e", "f"), page("a", "b x"), page("a", "b", "c", "d", "e", "f")}, "phu"},
		{"row 35: two variants in turn", [][]byte{variantA, variantB, variantA, variantB, variantA, variantB, variantA, variantB}, "pphuuuuu"},
		{"row 35: two variants in pairs", [][]byte{variantA, variantB, variantA, variantA, variantB, variantB, variantA, variantA, variantB}, "pphpupuph"},
		{"a revert", [][]byte{variantA, variantB, variantA, variantA, variantA}, "pphpu"},
		{"first content is empty", [][]byte{documents.Stories(), documents.Stories(1)}, "pp"},
	}
	for _, test := range tests {
		var o owner
		got := ""
		for n, body := range test.polls {
			d := o.report(t, epoch.Add(time.Duration(n)*time.Minute), extracted.Of(t, body))
			got += d.Verdict.String()[:1]
			if (d.Reason != "") != (d.Verdict == VerdictHeld) && d.Reason != reasonSettling {
				t.Errorf("%s: poll %d is %v for reason %q", test.name, n, d.Verdict, d.Reason)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// A content that was current before other things were masked is known again.
func TestJudgeReturnUnderOtherMasks(t *testing.T) {
	a, b := extracted.Of(t, []byte("a\nb\none\nTip 1")), extracted.Of(t, []byte("a\nb\ntwo\nTip 1"))
	var o owner
	o.report(t, epoch, a)
	o.report(t, epoch.Add(time.Minute), b)
	tips := Noise{Epoch: 1, slots: []slot{{key: newKey(slotNumber, "Tip \x00"), rhythm: rhythm{score: 12, masked: true}}}}
	o.state = o.state.learned(tips, b)
	if d := o.report(t, epoch.Add(2*time.Minute), a); d.Verdict != VerdictHeld || d.Reason != reasonReturned {
		t.Errorf("%v for reason %q", d.Verdict, d.Reason)
	}
}

// What a poll begun earlier showed neither confirms nor contradicts.
func TestJudgeOrderOfPolls(t *testing.T) {
	full, less, more := extracted.Of(t, documents.Stories(3, 2, 1)), extracted.Of(t, documents.Stories(3, 1)), extracted.Of(t, documents.Stories(4, 3, 2, 1))
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	type report struct {
		begun int
		core  *content.Core
	}
	tests := []struct {
		name    string
		reports []report
		want    string
	}{
		{"confirmed by a later poll", []report{{0, full}, {300, less}, {600, less}}, "php"},
		{"not by the same poll", []report{{0, full}, {300, less}, {300, less}}, "phh"},
		{"not by an earlier poll", []report{{0, full}, {300, less}, {299, less}}, "phh"},
		{"contradicted by a later poll", []report{{0, full}, {300, less}, {400, nil}, {600, less}}, "phuh"},
		{"not by an earlier poll", []report{{0, full}, {300, less}, {200, nil}, {600, less}}, "phup"},
		{"a late report of old content", []report{{0, full}, {300, more}, {299, full}, {600, full}}, "ppuh"},
		{"an old report of news", []report{{0, full}, {300, less}, {299, more}}, "php"},
		{"a clock that is wrong by an hour", []report{{3600, full}, {300, less}, {600, less}}, "php"},
	}
	for _, test := range tests {
		var o owner
		got := ""
		for _, r := range test.reports {
			got += o.report(t, at(r.begun), r.core).Verdict.String()[:1]
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Another extractor's content is taken over silently, unless it has news.
func TestJudgeExtractorChanged(t *testing.T) {
	for _, test := range []struct {
		next []byte
		want Verdict
	}{
		{documents.RSS("", documents.Item{GUID: "id-1", Title: "Otherwise"}), VerdictRebase},
		{documents.Stories(2, 1), VerdictPublish},
		{documents.Stories(), VerdictHeld},
		{documents.Stories(1), VerdictUnchanged},
	} {
		var o owner
		o.report(t, epoch, extracted.Of(t, documents.Stories(1)))
		o.state.Extractor++
		if d := o.report(t, epoch.Add(time.Hour), extracted.Of(t, test.next)); d.Verdict != test.want {
			t.Errorf("%s: %v, want %v", test.next, d.Verdict, test.want)
		} else if o.state.Extractor == content.ExtractorVersion != (test.want != VerdictHeld) {
			t.Errorf("extractor %d after %v", o.state.Extractor, d.Verdict)
		}
	}
}

// Of more entries than are remembered, the first of the document are: the newest.
func TestJudgeRemembersNewest(t *testing.T) {
	numbers := make([]int, MaxSeen)
	for i := range numbers {
		numbers[i] = MaxSeen - i
	}
	core := extracted.Of(t, documents.Stories(numbers...))
	var o owner
	o.report(t, epoch, core)
	if len(o.seen) != MaxSeen || !slices.Contains(o.seen, core.Identities()[0]) || slices.Contains(o.seen, core.Identities()[MaxSeen-1]) {
		t.Errorf("%d remembered; the newest must be, the oldest cannot", len(o.seen))
	}
}

// Row 28: a feed that makes up new IDs at each build has nothing new, and a
// recurring entry with another date has.
func TestJudgeChangedGUIDs(t *testing.T) {
	build := func(guid string, numbers ...int) *content.Core {
		items := make([]documents.Item, len(numbers))
		for i, n := range numbers {
			items[i] = documents.Story(n)
			items[i].GUID = guid + items[i].GUID
		}
		return extracted.Of(t, documents.RSS("", items...))
	}
	again := documents.Story(1)
	again.GUID, again.Date = "recurring", documents.Story(9).Date
	var o owner
	got := ""
	for n, core := range []*content.Core{
		build("a", 2, 1), build("b", 2, 1), build("c", 3, 2, 1), build("d", 3, 2, 1),
		extracted.Of(t, documents.RSS("", again, documents.Story(3), documents.Story(2))),
	} {
		got += o.report(t, epoch.Add(time.Duration(n)*time.Hour), core).Verdict.String()[:1]
	}
	if want := "prprp"; got != want || strings.Join(o.reported, " ") != "cid-3 recurring" {
		t.Errorf("%s, want %s; reported %v", got, want, o.reported)
	}
}

// Without the current content, what is remembered still tells what is new.
func TestJudgeWithoutBase(t *testing.T) {
	var o owner
	o.report(t, epoch, extracted.Of(t, documents.Stories(2, 1)))
	o.base = nil
	if d := o.report(t, epoch.Add(time.Minute), extracted.Of(t, documents.Stories())); d.Verdict != VerdictHeld {
		t.Errorf("empty: %v", d.Verdict)
	}
	next := extracted.Of(t, documents.Stories(3, 2, 1))
	if d := o.report(t, epoch.Add(2*time.Minute), next); d.Verdict != VerdictPublish || !slices.Contains(d.NewSeen, next.Identities()[0]) || slices.Contains(d.NewSeen, next.Identities()[1]) {
		t.Errorf("one new entry: %v, new %v", d.Verdict, d.NewSeen)
	}
}

// Over any history and any number of pollers: every entry that a poll showed is
// reported once, those of the first content not at all, and a document without
// entries removes none.
func TestJudgeReportsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o owner
		shown := make(map[string]bool)
		for n, body := range documents.AnyHistory(t) {
			core := extracted.Of(t, body)
			for poll := range rapid.IntRange(1, 3).Draw(t, "polls") {
				removed := len(o.removed)
				first := len(o.versions) == 0
				o.report(t, epoch.Add(time.Duration(n)*time.Hour+time.Duration(poll)*time.Minute), core)
				if len(core.Entries) == 0 && len(o.removed) > removed {
					t.Fatalf("an empty document removed %v", o.removed[removed:])
				}
				for _, e := range core.Entries {
					if !first && !shown[e.ID] && !slices.Contains(o.reported, e.ID) {
						t.Fatalf("%s was shown and not reported", e.ID)
					}
					shown[e.ID] = true
				}
			}
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(o.reported))); len(unique) != len(o.reported) {
			t.Fatalf("reported twice among %v", o.reported)
		}
	})
}

// Row 35: variants given out at random settle: the polls that a return needs double.
func TestJudgeRandomVariants(t *testing.T) {
	variants := [...]*content.Core{extracted.Of(t, []byte("a\nb\none")), extracted.Of(t, []byte("a\nb\ntwo"))}
	var o owner
	seed := uint32(1)
	for n := range 3000 {
		seed = seed*1664525 + 1013904223
		o.report(t, epoch.Add(time.Duration(n)*time.Minute), variants[seed>>31])
	}
	if len(o.versions) > 8 {
		t.Errorf("%d versions of two variants in 3,000 polls", len(o.versions))
	}
}
