package primary

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// life is a channel as its one poller and its owner live it, in memory.
type life struct {
	ch        channel.Channel
	state     deltas.State
	seen      []uint64
	base      *deltas.Core
	known     time.Time // beginning of the latest poll that showed the current version
	published []time.Time
}

// poll records what a poll shows, and returns what is decided.
func (l *life) poll(at time.Time, core *deltas.Core) deltas.Verdict {
	if l.state.Candidate == nil && core.Hash == l.state.Current {
		l.known = at
		return deltas.VerdictUnchanged // by the poller, which does not report it
	}
	d := deltas.Judge(l.state, l.seen, l.base, deltas.Observation{Begun: at, Core: core})
	learned := learn(l.ch, l.state, engine.Report{Begun: at, Known: l.known, Base: l.base, Core: core}, d)
	if learned != nil {
		l.ch.Learned = learned
	}
	l.state, l.seen = d.State, deltas.Remember(l.seen, d.NewSeen)
	if l.state.Current == core.Hash {
		l.base = core
	}
	if d.Verdict != deltas.VerdictHeld {
		l.known = at
	}
	if d.Verdict == deltas.VerdictPublish {
		l.version(at)
	}
	return d.Verdict
}

func (l *life) version(at time.Time) {
	l.ch.Version++
	if l.published = append(l.published, at); l.ch.Version == 1 {
		l.ch.FirstContent = at
	} else {
		l.ch.LastChange = at
	}
}

func (l *life) interval(now time.Time) time.Duration { return UpdateInterval(l.ch, now) }

func (l *life) least(now time.Time) float64 { return evidenceOf(l.ch).least(now, 30*time.Minute) }

// blog is a feed of entries, the newest first, of which a document shows so many.
type blog struct {
	window  int
	dated   bool
	entries []time.Time
}

func (b *blog) core(t *testing.T) *deltas.Core {
	t.Helper()
	var body strings.Builder
	body.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>Example</title><link>https://example.com/</link>`)
	for i := len(b.entries) - 1; i >= max(len(b.entries)-b.window, 0); i-- {
		date := ""
		if b.dated {
			date = "<pubDate>" + b.entries[i].Format(time.RFC1123Z) + "</pubDate>"
		}
		fmt.Fprintf(&body, "<item><guid>%d</guid><title>number %d</title>%s</item>", i, i, date)
	}
	body.WriteString("</channel></rss>")
	return core(t, body.String())
}

// write adds entries an interval apart, until an instant.
func (b *blog) write(from, until time.Time, interval time.Duration) {
	for at := from.Add(interval); !at.After(until); at = at.Add(interval) {
		b.entries = append(b.entries, at)
	}
}

// live polls a blog for some time while it is written.
func (l *life) live(t *testing.T, b *blog, from time.Time, span, interval, polls time.Duration) time.Time {
	t.Helper()
	at, written := from, from
	for until := from.Add(span); at.Before(until); {
		at = at.Add(polls)
		for next := written.Add(interval); !next.After(at); next = next.Add(interval) {
			b.entries, written = append(b.entries, next), next
		}
		l.poll(at, b.core(t))
	}
	return at
}

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if math.Abs(math.Log(got.Seconds()/want.Seconds())) > math.Log(1.25) {
		t.Errorf("%s: estimated interval %s, want about %s", what, got, want)
	}
}

func TestLearnFromPolls(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	l.poll(begin, b.core(t))
	if got := l.interval(begin.Add(time.Hour)); got != 7*day {
		t.Errorf("%s when nothing has changed", got)
	}
	now := l.live(t, b, begin, 10*day, 5*time.Hour, 30*time.Minute)
	near(t, "a change each 5 hours", l.interval(now), 5*time.Hour)
	near(t, "quiet for a day", l.interval(now.Add(day)), 5*time.Hour+30*time.Minute)
	near(t, "quiet for five days", l.interval(now.Add(5*day)), 3*day+8*time.Hour)
	if n := len(l.ch.Learned); n > 64 {
		t.Errorf("%d bytes learned", n)
	}
}

const day = 24 * time.Hour

func TestLearnFromTimesOfEntries(t *testing.T) {
	l, b := &life{}, &blog{window: 20, dated: true}
	b.write(begin.Add(-10*day), begin, 3*time.Hour)
	l.poll(begin, b.core(t))
	near(t, "a first document", l.interval(begin), 3*time.Hour)
	now := l.live(t, b, begin, 28*day, time.Hour, 6*time.Hour)
	near(t, "six changes between two polls", l.interval(now), time.Hour)
}

// An outage says that something changed in it, and little else.
func TestLearnAfterAnOutage(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	l.poll(begin, b.core(t))
	now := l.live(t, b, begin, 10*day, 2*time.Hour, 30*time.Minute)
	now = l.live(t, b, now, 3*day, 2*time.Hour, 3*day)
	now = l.live(t, b, now, day, 2*time.Hour, 30*time.Minute)
	near(t, "an outage of three days", l.interval(now), 2*time.Hour)
}

// After a start it is not known when a poll last saw the version before.
func TestLearnWithoutTheLatestPoll(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	l.poll(begin, b.core(t))
	now := begin
	for range 40 {
		now = l.live(t, b, now, 4*time.Hour, 5*time.Hour, 30*time.Minute)
		l.known = time.Time{}
		b.entries = append(b.entries, now)
		now = now.Add(30 * time.Minute)
		l.poll(now, b.core(t))
	}
	near(t, "a change each four and a half hours", l.interval(now), 4*time.Hour+30*time.Minute)
}

// What is taken back, rebased, or there once is no change; many entries at once are
// one change, or few.
func TestLearnOnlyFromChanges(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	b.write(begin.Add(-100*time.Hour), begin, 10*time.Hour)
	full, empty := b.core(t), feed(t)
	now := begin
	for i := range 200 {
		shown := full
		if i%10 == 5 {
			shown = empty
		}
		now = now.Add(30 * time.Minute)
		if got := l.poll(now, shown); i > 0 && got == deltas.VerdictPublish {
			t.Fatalf("poll %d: %v", i, got)
		}
	}
	if got := l.interval(now); got != 7*day {
		t.Errorf("%s between documents that were empty for a poll", got)
	}
	b.write(now, now.Add(30*time.Minute), time.Second)
	b.window = 5000
	now = now.Add(30 * time.Minute)
	if got := l.poll(now, b.core(t)); got != deltas.VerdictPublish {
		t.Fatal(got)
	}
	if got := l.interval(now.Add(3 * day)); got < 4*day {
		t.Errorf("%s after many entries at once", got)
	}
}

// What another version has learned is not understood: learning starts over.
func TestLearnStartsOver(t *testing.T) {
	l, b := &life{}, &blog{window: 10, entries: []time.Time{begin}}
	l.poll(begin, b.core(t))
	now := l.live(t, b, begin, 3*day, time.Hour, 30*time.Minute)
	l.ch.Learned = append([]byte{learnedVersion + 1}, make([]byte, 40)...)
	if got := l.interval(now); got != 7*day {
		t.Errorf("%s of what is not understood", got)
	}
	now = l.live(t, b, now, 3*day, 5*time.Hour, 30*time.Minute)
	near(t, "from the start", l.interval(now), 5*time.Hour)
}

// At the least rate half of the window turns over between two polls.
func TestLeastRate(t *testing.T) {
	for _, tc := range []struct {
		name            string
		window          int
		interval, polls time.Duration
		want            float64 // polls per 30 minutes
	}{
		{"20 entries of 5 minutes each", 20, 5 * time.Minute, 10 * time.Minute, 0.6},
		{"10 entries of a minute each", 10, time.Minute, 4 * time.Minute, 6},
		{"all gone between two polls", 10, time.Minute, 30 * time.Minute, 2},
		{"50 entries of a day each", 50, day, 6 * time.Hour, 1. / 1200},
		{"everything", 1e9, 5 * time.Minute, 30 * time.Minute, 0},
		{"the newest alone", 1, 5 * time.Minute, 30 * time.Minute, 0},
	} {
		l, b := &life{}, &blog{window: tc.window}
		b.write(begin.Add(-100*tc.interval), begin, tc.interval)
		l.poll(begin, b.core(t))
		now := l.live(t, b, begin, 100*tc.polls, tc.interval, tc.polls)
		if got := l.least(now); math.Abs(got-tc.want) > 0.15*tc.want {
			t.Errorf("%s: %.4f polls per 30 minutes, want %.4f", tc.name, got, tc.want)
		}
	}
}

func TestReportCommitsWhatItLearns(t *testing.T) {
	store, owner := world(t)
	one, two := feed(t, "a", "b"), feed(t, "c", "a", "b")
	seen(t, owner, 0, nil, one, 0)
	report := engine.Report{
		Channel: feedID, Incarnation: 7, Begun: begin.Add(90 * time.Minute), Known: begin.Add(time.Hour),
		BaseVersion: 1, Base: one, Core: two,
	}
	if _, err := owner.Report(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	if n := len(store.commits); n != 2 || store.commits[0].Learned == nil || store.commits[1].Learned == nil {
		t.Fatalf("%d commits: %+v", n, store.commits)
	}
	l, ok := readLearned(store.commits[1].Learned)
	want := honeycomb.History{Before: honeycomb.Stretch{Changes: 1, Gap: 30 * 60, Quiet: l.history.Before.Quiet}}
	if !ok || l.history != want || l.shown != 3 {
		t.Errorf("learned %+v, %v; want %+v", l, ok, want)
	}
	seen(t, owner, 120, two, feed(t), 2) // held
	if n := len(store.commits); n != 3 || store.commits[2].Learned != nil {
		t.Errorf("a hold has learned %v", store.commits[2].Learned)
	}
}

func TestEvidenceIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(evidence{}); size > 36 {
		t.Errorf("evidence takes %d bytes", size)
	}
}

// FuzzReadLearned: what is read at all is written again byte for byte (of version
// 1: with the same meaning), and no estimate from it is beyond its clamps.
func FuzzReadLearned(f *testing.F) {
	f.Add(learned{honeycomb.History{Before: honeycomb.Stretch{Changes: 3, Gap: 1800, Quiet: 86400}}, 0.5, 20}.append(nil), int64(3600))
	f.Add(make([]byte, learnedLen), int64(0))
	f.Add([]byte{learnedVersion}, int64(-5))
	f.Add([]byte("\x01"+strings.Repeat("0", learnedLen1-1)), int64(7))
	f.Fuzz(func(t *testing.T, b []byte, passed int64) {
		l, ok := readLearned(b)
		if !ok {
			if l != (learned{}) {
				t.Fatalf("%+v of what cannot be read", l)
			}
			return
		}
		again := l.append(nil)
		if same, ok := readLearned(again); !ok || same != l || b[0] == learnedVersion && string(again) != string(b) {
			t.Fatalf("%x reads as %+v, which is %x", b, l, again)
		}
		ch := channel.Channel{FirstContent: begin, Learned: b}
		now := begin.Add(time.Duration(passed))
		if got := evidenceOf(ch).interval(now); !(got > 0.99*honeycomb.ShortestInterval && got < 1.01*honeycomb.LongestInterval) {
			t.Fatalf("%+v: interval %v s", l, got)
		}
		if least := evidenceOf(ch).least(now, 30*time.Minute); !(least >= 0) {
			t.Fatalf("%+v: least rate %v", l, least)
		}
	})
}

// A document turns over where it is a window before and after, of four entries at
// least; what is shorter holds its place by other rules.
func TestTurnNeedsAWindow(t *testing.T) {
	for _, tc := range []struct {
		name                 string
		before, fresh, shown int
		want                 float32
	}{
		{"short before and after", 3, 3, 3, 0},
		{"short before", 3, 4, 4, 0},
		{"short after", 4, 3, 3, 0},
		{"one entry after many", 20, 1, 1, 0},
		{"a window before and after", 4, 1, 4, 0.25},
		{"all replaced", 4, 4, 4, 1},
		{"a longer window", 4, 5, 8, 0.125},
		{"a shorter window, of which only the new ones count", 8, 2, 4, 0.5},
		{"nothing left", 4, 2, 6, 0},
	} {
		l := learned{shown: uint16(tc.before)}
		if l.turn(0, tc.fresh, tc.shown); l.turned != tc.want {
			t.Errorf("%s: %v of the document turned over, want %v", tc.name, l.turned, tc.want)
		}
	}
}
