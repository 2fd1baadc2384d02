package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// settled returns the state of a channel whose current content was published at epoch,
// and taught the noise last then.
func settled(base *content.Core) State {
	return State{Extractor: content.ExtractorVersion, Current: base.Hash, Face: faceOf(base), Shown: epoch, Looked: epoch}
}

// faceOf returns a content's face on a channel of which nothing was learned.
func faceOf(c *content.Core) content.Hash { return Noise{}.face(Noise{}.view(c)) }

// A poll begun a little before the current content's shows what was before; one that
// is older comes from a wrong clock, and counts as any.
func TestJudgeLateReports(t *testing.T) {
	base, other := extracted.Of(t, []byte("a\nb\nc")), extracted.Of(t, []byte("a\nx\nc"))
	for _, tc := range []struct {
		begun time.Duration
		want  Verdict
	}{
		{time.Minute, VerdictPublish}, {0, VerdictPublish}, {-1, VerdictUnchanged}, {-time.Minute, VerdictUnchanged},
		{-staleAfter, VerdictUnchanged}, {-staleAfter - 1, VerdictPublish}, {-time.Hour, VerdictPublish},
	} {
		d := Decide(settled(base), nil, base, Observation{Begun: epoch.Add(tc.begun), Core: other})
		if d.Verdict != tc.want {
			t.Errorf("begun %v after the current content: %v, want %v", tc.begun, d.Verdict, tc.want)
		}
		if d.State.Shown.Before(epoch) || d.State.Looked.Before(epoch) {
			t.Errorf("begun %v after: shown %v, looked %v", tc.begun, d.State.Shown, d.State.Looked)
		}
	}
}

// A poll that began before its poller knew the current content may show what was before,
// whatever clocks say: only entries that are new are told. With and without the base.
func TestJudgePollOfBefore(t *testing.T) {
	feed := func(entries string) *content.Core {
		return extracted.Of(t, []byte("<rss version='2.0'><channel><title>t</title>"+entries+"</channel></rss>"))
	}
	const a, b, c = "<item><guid>a</guid><title>A</title></item>", "<item><guid>b</guid><title>B</title></item>", "<item><guid>c</guid><title>C</title></item>"
	current := feed(a + b)
	for _, tc := range []struct {
		name  string
		shows *content.Core
		want  Verdict
	}{
		{"what was before", feed(a), VerdictUnchanged},
		{"an entry as it was", feed(a + "<item><guid>b</guid><title>Older</title></item>"), VerdictUnchanged},
		{"a new entry", feed(a + b + c), VerdictPublish},
	} {
		for _, base := range []*content.Core{current, nil} {
			state := settled(current)
			seen := Decide(State{}, nil, nil, Observation{Begun: epoch, Core: current}).NewSeen
			obs := Observation{Begun: epoch.Add(time.Minute), Late: true, Core: tc.shows}
			if d := Decide(state, seen, base, obs); d.Verdict != tc.want {
				t.Errorf("%s, base %v: %v, want %v", tc.name, base != nil, d.Verdict, tc.want)
			}
			if obs.Late = false; tc.want == VerdictUnchanged && Decide(state, seen, base, obs).Verdict == VerdictUnchanged {
				t.Errorf("%s, base %v: unchanged for a poll that is not late", tc.name, base != nil)
			}
		}
	}
}

// A late report of what is held neither confirms nor replaces the candidate.
func TestJudgeLateReportLeavesCandidate(t *testing.T) {
	full, less := extracted.Of(t, documents.Stories(3, 2, 1)), extracted.Of(t, documents.Stories(3, 1))
	var o owner
	got := ""
	for _, seconds := range []int{0, 300, 290, 295, 300, 301} {
		begun := epoch.Add(time.Duration(seconds) * time.Second)
		core := less
		if seconds == 0 {
			core = full
		}
		got += o.report(t, begun, core).Verdict.String()[:1]
		if c := o.state.Candidate; c != nil && !c.Begun.Equal(epoch.Add(300*time.Second)) {
			t.Errorf("after the report of second %d the candidate is that of %v", seconds, c.Begun.Sub(epoch))
		}
	}
	if want := "phhhhp"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Only the current content serves for comparisons.
func TestJudgeOtherBase(t *testing.T) {
	current, other, next := extracted.Of(t, documents.Stories(2, 1)), extracted.Of(t, documents.Stories(9, 8, 7)), extracted.Of(t, documents.Stories(2))
	obs := Observation{Begun: epoch.Add(time.Hour), Core: next}
	state := settled(current)
	with, without := Decide(state, current.Identities(), other, obs), Decide(state, current.Identities(), nil, obs)
	if fmt.Sprintf("%+v", with) != fmt.Sprintf("%+v", without) {
		t.Errorf("with another base %+v\nwithout %+v", with, without)
	}
	if right := Decide(state, current.Identities(), current, obs); right.Verdict != VerdictRebase {
		t.Errorf("with the current content: %v", right.Verdict)
	}
}

// A state that an older version stored has no face: the judge finds it out.
func TestJudgeStateWithoutFace(t *testing.T) {
	page := func(control int) *content.Core {
		return extracted.Of(t, []byte(pageOf("The news.", fmt.Sprintf(`<a href="#">Show %d</a>`, control))))
	}
	base := page(1)
	state := settled(base)
	state.Face = content.Hash{}
	if d := Decide(state, nil, base, Observation{Begun: epoch.Add(time.Hour), Core: page(2)}); d.Verdict != VerdictUnchanged {
		t.Errorf("another control: %v", d.Verdict)
	}
	if d := Decide(state, nil, base, Observation{Begun: epoch.Add(time.Hour), Core: extracted.Of(t, []byte(pageOf("Other news.")))}); d.Verdict != VerdictPublish {
		t.Errorf("other news: %v", d.Verdict)
	}
}

// Observations teach the noise but those of what is likely another document.
func TestJudgeLearnsFrom(t *testing.T) {
	base := extracted.Of(t, []byte(pageOf("a", "b", "c", "d")))
	for _, tc := range []struct {
		name   string
		begun  time.Duration
		body   string
		reason string
		learns bool
	}{
		{"news", UsualGap, pageOf("a", "b", "x", "d"), "", true},
		{"a removal", UsualGap, pageOf("a", "b", "d"), reasonRemoval, true},
		{"nothing left", UsualGap, "<html>", reasonEmpty, false},
		{"another kind", UsualGap, string(documents.Stories()), reasonEmpty, false},
		{"another document", UsualGap, "<html><title>503 Service Unavailable</title><p>Later", reasonOther, false},
		{"news of before the last look", -UsualGap, pageOf("a", "b", "x", "d"), "", false},
		{"news of the last look", 0, pageOf("a", "b", "x", "d"), "", false},
	} {
		begun := epoch.Add(tc.begun)
		d := Decide(settled(base), nil, base, Observation{Begun: begun, Core: extracted.Of(t, []byte(tc.body))})
		if d.Reason != tc.reason {
			t.Errorf("%s: held for %q, want %q", tc.name, d.Reason, tc.reason)
		}
		if learned := d.State.Noise.looks > 0; learned != tc.learns {
			t.Errorf("%s: learned %v, want %v", tc.name, learned, tc.learns)
		}
	}
	feed, list := extracted.Of(t, documents.Stories(2, 1)), extracted.Of(t, []byte(`{"items":[{"id":1,"title":"a"},{"id":2,"title":"b"}]}`))
	d := Decide(settled(feed), append(feed.Identities(), list.Identities()...), feed, Observation{Begun: epoch.Add(UsualGap), Core: list})
	if d.Verdict != VerdictHeld || d.Reason != reasonKind || d.State.Noise.looks != 0 {
		t.Errorf("another kind with known entries: %v for %q", d.Verdict, d.Reason)
	}
}

// What makes an observation suspicious.
func TestJudgeSuspicions(t *testing.T) {
	html := func(title string, lines ...string) *content.Core {
		return extracted.Of(t, []byte("<html><title>"+title+"</title><p>"+strings.Join(lines, "<p>")))
	}
	feed := func(numbers ...int) *content.Core { return extracted.Of(t, documents.Stories(numbers...)) }
	edited := documents.Story(3)
	edited.Text = "Otherwise."
	eight := strings.Split("abcdefgh", "")
	for _, tc := range []struct {
		name       string
		base, next *content.Core
		want       string
	}{
		{"neither its title nor a line", html("News", "a", "b"), html("404 Not Found", "x", "y"), reasonOther},
		{"a line stays", html("News", "a", "b"), html("404 Not Found", "a", "c"), ""},
		{"a line stays, elsewhere", html("News", "a", "b"), html("404 Not Found", "x", "a"), ""},
		{"its title stays", html("News", "a", "b"), html("News", "x", "y"), ""},
		{"of two equal lines one stays", html("News", "a", "a"), html("404 Not Found", "a", "x"), ""},
		{"a text of which no line stays", extracted.Of(t, []byte("a\nb")), extracted.Of(t, []byte("x\ny")), ""},
		{"JSON of which no line stays", extracted.Of(t, []byte(`{"a":1}`)), extracted.Of(t, []byte(`{"b":2}`)), ""},
		{"content behind an empty page", html("Loading"), html("News", "a"), ""},
		{"another title of an empty page", html("a"), html("b"), ""},
		{"of two equal lines one", html("", "a", "b", "a"), html("", "a", "b"), reasonRemoval},
		{"one line less", html("", eight...), html("", eight[1:]...), reasonRemoval},
		{"one line less, one changed", html("", eight...), html("", append([]string{"x"}, eight[2:]...)...), ""},
		{"half of the lines", html("", eight...), html("", append([]string{"x"}, eight[4:]...)...), ""},
		{"more than half of the lines, few instead", html("", eight...), html("", append([]string{"x", "y"}, eight[5:]...)...), reasonRemoval},
		{"more than half of the lines, half as many instead", html("", eight...), html("", append([]string{"x", "y", "z"}, eight[6:]...)...), ""},
		{"one line more", html("", eight[1:]...), html("", eight...), ""},
		{"one entry less", feed(3, 2, 1), feed(3, 1), reasonRemoval},
		{"one entry less, one edited", feed(3, 2, 1), extracted.Of(t, documents.RSS("", edited, documents.Story(1))), ""},
		{"half of the entries, the oldest", feed(4, 3, 2, 1), feed(4, 3), ""},
		{"more than half of the entries, the oldest", feed(4, 3, 2, 1), feed(4), reasonRemoval},
		{"no entry", feed(2, 1), feed(), reasonEmpty},
	} {
		seen := slices.Concat(tc.base.Identities(), tc.next.Identities())
		d := Decide(settled(tc.base), seen, tc.base, Observation{Begun: epoch.Add(time.Hour), Core: tc.next})
		if d.Reason != tc.want || (d.Verdict == VerdictHeld) != (tc.want != "") {
			t.Errorf("%s: %v for %q, want %q", tc.name, d.Verdict, d.Reason, tc.want)
		}
		if gone := d.State.Candidate != nil && len(d.State.Candidate.Gone) > 0; gone != (tc.want != "") {
			t.Errorf("%s: the candidate says what is gone: %v", tc.name, gone)
		}
	}
}

// A removal is confirmed by half of what was gone; what is gone are the smallest digests.
func TestStillGone(t *testing.T) {
	lines := func(text ...string) *content.Core { return extracted.Of(t, []byte(strings.Join(text, "\n"))) }
	base := lines("a", "b", "c", "d", "e", "f")
	gone := lacks(base, lines("a", "b"))
	if len(gone) != 4 || !slices.IsSorted(gone) {
		t.Fatalf("%v is gone", gone)
	}
	for text, want := range map[string]bool{"a b": true, "a b c": true, "a b c d": true, "a b c d e": false, "a b c d e f": false, "x y z": true, "c d x y": true} {
		if got := stillGone(gone, lines(strings.Fields(text)...)); got != want {
			t.Errorf("%q: still gone %v", text, got)
		}
	}
	if stillGone(nil, base) {
		t.Error("nothing is still gone")
	}
	if gone := lacks(base, base); gone != nil {
		t.Errorf("%v is gone of the same", gone)
	}
	feed := extracted.Of(t, documents.Stories(3, 2, 1))
	if gone := lacks(feed, extracted.Of(t, documents.Stories(3, 1))); len(gone) != 1 || gone[0] != uint32(feed.Identities()[1]) {
		t.Errorf("%v is gone, want the digest of the second entry", gone)
	}
	many := lines(strings.Split(strings.Repeat("x ", 40), " ")...)
	var numbered []string
	for n := range 40 {
		numbered = append(numbered, fmt.Sprint("line ", n))
	}
	if gone := lacks(lines(numbered...), many); len(gone) != maxGone || !slices.IsSorted(gone) {
		t.Errorf("%d digests of what is gone: %v", len(gone), gone)
	}
}

// Each entry never seen is reported by its identity, and by what stands for it, the
// document's last first.
func TestUnseen(t *testing.T) {
	feed := extracted.Of(t, documents.Stories(3, 2, 1))
	ids := feed.Identities()
	alias := func(i int) uint64 { return feed.AliasOrID(i) }
	for _, tc := range []struct {
		name string
		seen []uint64
		base *content.Core
		want []uint64
	}{
		{"all", nil, nil, []uint64{ids[2], alias(2), ids[1], alias(1), ids[0], alias(0)}},
		{"one is remembered", []uint64{ids[1]}, nil, []uint64{ids[2], alias(2), ids[0], alias(0)}},
		{"one is remembered by its alias", []uint64{alias(1)}, nil, []uint64{ids[2], alias(2), ids[0], alias(0)}},
		{"one stands in the current content", nil, extracted.Of(t, documents.Stories(2)), []uint64{ids[2], alias(2), ids[0], alias(0)}},
		{"none", ids, nil, nil},
		{"all stand in the current content", nil, feed, nil},
	} {
		c := compareEntries(tc.base, feed)
		if got := recall(tc.seen, tc.base, feed, &c).unseen(feed, c.added); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %x, want %x", tc.name, got, tc.want)
		}
	}
	bare := extracted.Of(t, []byte(`{"items":[{"id":1},{"id":2}]}`))
	c := compareEntries(nil, bare)
	if got := recall(nil, nil, bare, &c).unseen(bare, c.added); len(got) < 2 {
		t.Errorf("entries without an alias: %x", got)
	}
	d := Decide(settled(feed), ids, feed, Observation{Begun: epoch.Add(time.Hour), Core: extracted.Of(t, documents.RSS("", documents.Item{GUID: "only"}, documents.Story(3), documents.Story(2), documents.Story(1)))})
	if d.Verdict != VerdictPublish || len(d.NewSeen) == 0 {
		t.Errorf("an entry without a title: %v, new %x", d.Verdict, d.NewSeen)
	}
}

// How many looks a return needs: two, and more the more often contents came for a
// single look.
func TestJudgeFlaps(t *testing.T) {
	a, b := extracted.Of(t, []byte("a\nb\none")), extracted.Of(t, []byte("a\nb\ntwo"))
	begun := epoch.Add(UsualGap)
	state := settled(a)
	state.Recent = []content.Hash{b.Hash, faceOf(b)}
	for _, tc := range []struct {
		name    string
		change  func(s *State)
		core    *content.Core // nil: the current content
		verdict Verdict
		flaps   uint8
		polls   uint8 // of the candidate; 0: there is none
	}{
		{"a first return", func(*State) {}, b, VerdictHeld, 1, 1},
		{"a first return, after the current stood", func(s *State) { s.Stood = true }, b, VerdictHeld, 0, 1},
		{"a second look of two", func(s *State) { s.Candidate = &Candidate{Hash: faceOf(b), Begun: epoch, Polls: 1} }, b, VerdictPublish, 0, 0},
		{"a second look of six", func(s *State) { s.Flaps, s.Candidate = 3, &Candidate{Hash: faceOf(b), Begun: epoch, Polls: 1} }, b, VerdictHeld, 3, 2},
		{"a fifth look of six", func(s *State) { s.Flaps, s.Candidate = 3, &Candidate{Hash: faceOf(b), Begun: epoch, Polls: 4} }, b, VerdictHeld, 3, 5},
		{"a sixth look of six", func(s *State) { s.Flaps, s.Candidate = 3, &Candidate{Hash: faceOf(b), Begun: epoch, Polls: 5} }, b, VerdictPublish, 3, 0},
		{"another was waited for, which was here before", func(s *State) {
			s.Recent, s.Candidate = append(s.Recent, content.Hash{7}), &Candidate{Hash: content.Hash{7}, Begun: epoch, Polls: 1}
		}, b, VerdictHeld, 1, 1},
		{"another was waited for, which was not", func(s *State) { s.Candidate = &Candidate{Hash: content.Hash{7}, Begun: epoch, Polls: 1} }, b, VerdictHeld, 0, 1},
		{"contradicted after a look", func(s *State) { s.Candidate = &Candidate{Hash: b.Hash, Begun: epoch, Polls: 1} }, nil, VerdictUnchanged, 1, 0},
		{"contradicted after two looks", func(s *State) { s.Candidate = &Candidate{Hash: b.Hash, Begun: epoch, Polls: 2} }, nil, VerdictUnchanged, 0, 0},
		{"what was never here is contradicted", func(s *State) { s.Candidate = &Candidate{Hash: content.Hash{9}, Begun: epoch, Polls: 1} }, nil, VerdictUnchanged, 0, 0},
		{"contradicted by a poll of the same time", func(s *State) { s.Candidate = &Candidate{Hash: b.Hash, Begun: begun, Polls: 1} }, nil, VerdictUnchanged, 0, 1},
		{"flaps have a bound", func(s *State) {
			s.Flaps, s.Candidate = maxFlaps, &Candidate{Hash: b.Hash, Begun: epoch, Polls: 1}
		}, nil, VerdictUnchanged, maxFlaps, 0},
	} {
		s := state
		s.Recent = slices.Clone(state.Recent)
		tc.change(&s)
		d := Decide(s, nil, a, Observation{Begun: begun, Core: tc.core})
		polls := uint8(0)
		if d.State.Candidate != nil {
			polls = d.State.Candidate.Polls
		}
		if d.Verdict != tc.verdict || d.State.Flaps != tc.flaps || polls != tc.polls {
			t.Errorf("%s: %v, %d flaps, %d polls; want %v, %d, %d", tc.name, d.Verdict, d.State.Flaps, polls, tc.verdict, tc.flaps, tc.polls)
		}
		if polls == 0 && tc.core == nil && !d.State.Shown.Equal(begun) {
			t.Errorf("%s: the current content was shown last at %v", tc.name, d.State.Shown)
		}
	}
	full := state
	full.Flaps, full.Candidate = maxFlaps, &Candidate{Hash: faceOf(b), Begun: epoch, Polls: 255}
	if d := Decide(full, nil, a, Observation{Begun: begun, Core: b}); d.Verdict != VerdictPublish {
		t.Errorf("after 255 looks: %v", d.Verdict)
	}
}

// What is published stands only when two polls showed it, and calms what flapped.
func TestJudgePublishes(t *testing.T) {
	base := extracted.Of(t, []byte(pageOf("a", "b", "c")))
	news, less := extracted.Of(t, []byte(pageOf("a", "b", "x"))), extracted.Of(t, []byte(pageOf("a", "b")))
	back := settled(base)
	back.Recent, back.Flaps = []content.Hash{news.Hash, faceOf(news)}, 1
	back.Candidate = &Candidate{Hash: faceOf(news), Begun: epoch, Polls: 1}
	gone := settled(base)
	gone.Flaps, gone.Candidate = 4, &Candidate{Hash: faceOf(less), Begun: epoch, Polls: 1, Gone: lacks(base, less)}
	first := settled(base)
	first.Flaps = 4
	none := settled(base)
	for _, tc := range []struct {
		name  string
		state State
		core  *content.Core
		stood bool
		flaps uint8
	}{
		{"news", first, news, false, 3},
		{"news where nothing flapped", none, news, false, 0},
		{"a confirmed removal", gone, less, true, 3},
		{"a confirmed return", back, news, true, 1},
	} {
		d := Decide(tc.state, nil, base, Observation{Begun: epoch.Add(UsualGap), Core: tc.core})
		if d.Verdict != VerdictPublish || d.State.Stood != tc.stood || d.State.Flaps != tc.flaps {
			t.Errorf("%s: %v, stood %v, %d flaps; want stood %v, %d flaps", tc.name, d.Verdict, d.State.Stood, d.State.Flaps, tc.stood, tc.flaps)
		}
		if d.State.Current != tc.core.Hash || d.State.Candidate != nil || slices.Contains(d.State.Recent, tc.core.Hash) || !slices.Contains(d.State.Recent, base.Hash) {
			t.Errorf("%s: %+v", tc.name, d.State)
		}
	}
}

// A content that differs in noise alone takes the place of the current one at its
// second look.
func TestJudgeOnlyNoise(t *testing.T) {
	page := func(control int) *content.Core {
		return extracted.Of(t, []byte(pageOf("The news.", fmt.Sprintf(`<a href="#">Show %d</a>`, control))))
	}
	base, next, third := page(1), page(2), page(3)
	begun := epoch.Add(UsualGap)
	waits := func(h content.Hash, at time.Time, polls uint8) *Candidate {
		return &Candidate{Hash: h, Begun: at, Polls: polls}
	}
	for _, tc := range []struct {
		name      string
		candidate *Candidate
		extractor uint16
		want      Verdict
		polls     uint8
	}{
		{"the first look", nil, 0, VerdictUnchanged, 1},
		{"the second look", waits(next.Hash, epoch, 1), 0, VerdictRebase, 0},
		{"a look after many", waits(next.Hash, epoch, 255), 0, VerdictRebase, 0},
		{"a look at another", waits(third.Hash, epoch, 1), 0, VerdictUnchanged, 1},
		{"a look of the same time", waits(next.Hash, begun, 1), 0, VerdictUnchanged, 1},
		{"a look of before", waits(next.Hash, begun.Add(1), 1), 0, VerdictUnchanged, 1},
		{"another extractor's", nil, content.ExtractorVersion + 1, VerdictRebase, 0},
	} {
		s := settled(base)
		s.Candidate = tc.candidate
		if tc.extractor > 0 {
			s.Extractor = tc.extractor
		}
		d := Decide(s, nil, base, Observation{Begun: begun, Core: next})
		polls := uint8(0)
		if d.State.Candidate != nil {
			polls = d.State.Candidate.Polls
		}
		if d.Verdict != tc.want || polls != tc.polls || d.Reason != "" {
			t.Errorf("%s: %v, %d polls; want %v, %d", tc.name, d.Verdict, polls, tc.want, tc.polls)
		}
		if tc.want == VerdictUnchanged && tc.polls == 1 && tc.candidate == nil && (d.State.Candidate.Hash != next.Hash || !d.State.Candidate.Begun.Equal(begun) || !d.State.Stood) {
			t.Errorf("%s: %+v", tc.name, d.State)
		}
	}
	late := settled(base)
	if d := Decide(late, nil, base, Observation{Begun: epoch, Core: next}); d.State.Stood {
		t.Error("one poll makes a content stand")
	}
}

func TestVerdictsAndTimes(t *testing.T) {
	if got := (Verdict(200)).String(); got != "rebase" || VerdictHeld.String() != "held" || VerdictUnchanged.String() != "unchanged" || VerdictPublish.String() != "publish" {
		t.Errorf("verdict %q", got)
	}
	if a, b := epoch, epoch.Add(1); !later(a, b).Equal(b) || !later(b, a).Equal(b) {
		t.Error("later of two times")
	}
}
