package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/codec"
	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/cost"
	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// looks runs polls half an hour apart, of which only those are reported that
// show another body than the poll before, as a poller does. It returns the
// verdicts: u unchanged, h held, p published, r rebased, and '.' for no report.
func looks(t rapid.TB, o *owner, from int, bodies ...string) string {
	verdicts, last := "", ""
	for n, body := range bodies {
		if body == last {
			verdicts += "."
			continue
		}
		last = body
		begun := epoch.Add(time.Duration(from+n) * UsualGap)
		verdicts += o.report(t, begun, extracted.Of(t, []byte(body))).Verdict.String()[:1]
	}
	return verdicts
}

// times returns n bodies, made of their number.
func bodies(n int, body func(n int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = body(i)
	}
	return all
}

func pageOf(lines ...string) string { return "<html><p>" + strings.Join(lines, "<p>") }

// feedOf returns a feed of n entries, each with a text.
func feedOf(n int, text func(n int) string) string {
	items := make([]documents.Item, n)
	for i := range items {
		items[i] = documents.Story(n - i)
		items[i].Text = text(n - i)
	}
	return string(documents.RSS("", items...))
}

func TestNoiseLearned(t *testing.T) {
	const news = "Four people won the lottery."
	tests := []struct {
		name   string
		bodies []string
		want   string
	}{
		{"a counter of a page", bodies(8, func(n int) string { return pageOf(news, fmt.Sprint("Visitors: ", 7000+13*n)) }), "pppuuuuu"},
		{"news beside a counter", bodies(8, func(n int) string {
			return pageOf(fmt.Sprint("News ", strings.Repeat("x", n/6)), fmt.Sprint("Visitors: ", n))
		}), "pppuuupu"},
		{"words of a line with a counter", bodies(8, func(n int) string { return pageOf(fmt.Sprint("Visitors: ", n, strings.Repeat(" well", n/7))) }), "pppuuuup"},
		{"two numbers of a line, one of them a counter", bodies(8, func(n int) string { return pageOf(fmt.Sprint("Cases ", n/6, " views ", n)) }), "pppuuupu"},
		{"a counter in all entries", bodies(6, func(n int) string { return feedOf(5, func(i int) string { return fmt.Sprint("Pulls: ", 100*i+n) }) }), "pppuuu"},
		{"new entries among them", bodies(6, func(n int) string { return feedOf(5+n, func(i int) string { return fmt.Sprint("Pulls: ", 100*i+n) }) }), "pppppp"},
		{"a counter in one entry", bodies(8, func(n int) string {
			return feedOf(5, func(i int) string { return fmt.Sprint("Text. Comments: ", 9*i+n*(i/5)) })
		}), "pppppppp"},
		{"a counter of JSON that begins with none", bodies(6, func(n int) string {
			return strings.ReplaceAll(fmt.Sprintf(`{"items":[{"id":1,"votes":%d},{"id":2,"votes":%d},{"id":3,"votes":%d},{"id":4,"votes":0}]}`, n, n+1, 2*n), `"votes":0}`, `"votes":null}`)
		}), "pppuuu"},
		{"a token", bodies(8, func(n int) string {
			return pageOf(news, fmt.Sprintf("Ray ID: %x · Your request is %x-cafe", 0x7a3f9c2b1d4e*(n+1), 0xabcdef12*(n+1)))
		}), "pppuuuuu"},
		{"an order", bodies(8, func(n int) string {
			names := []string{"Anna", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gina", "Hans"}
			return pageOf(append(names[n:], names[:n]...)...)
		}), "puuuuuuu"},
		{"a stamp", bodies(4, func(n int) string { return pageOf(news, fmt.Sprintf("Last updated: March %d, 2026", n+1)) }), "pppu"},
		{"a control", bodies(4, func(n int) string {
			return pageOf(strings.Repeat(`<a href="#" onclick="off()">Turn off animations</a>`, n%2), news)
		}), "puuu"},
		{"a line that comes and goes", bodies(12, func(n int) string {
			return pageOf(append([]string{news, "Weather: fine"}, []string{"Tip: drink water"}[:n%2]...)...)
		}), "pphuhuhuhuhu"},
		{"a line of two in turn", bodies(12, func(n int) string { return pageOf(news, []string{"Tip: drink water", "Tip: eat fruit"}[n%2]) }), "pphuhuhuhuhu"},
	}
	for _, test := range tests {
		var o owner
		if got := looks(t, &o, 0, test.bodies...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Lines that are shown at random, as tips and offers are, are learned: what else
// changes is news as before.
func TestNoiseRandomLines(t *testing.T) {
	seed := uint32(1)
	random := func(n int) string {
		lines := []string{"The news of today.", "Some more of it.", fmt.Sprint("Story ", strings.Repeat("x", n/100))}
		for _, tip := range []string{"Drink water.", "Eat fruit.", "Take the stairs.", "Sleep well."} {
			seed = seed*1664525 + 1013904223
			if seed>>31 == 0 {
				lines = append(lines, "Tip: "+tip)
			}
		}
		return pageOf(lines...)
	}
	var o owner
	got := looks(t, &o, 0, bodies(200, random)...)
	if first, settled := strings.Count(got[:30], "p"), strings.Count(got[30:], "p"); first > 6 || settled > 5 {
		t.Errorf("%d versions of the first 30 looks, %d of the others; want six and five at most:\n%s", first, settled, got)
	}
}

// What has ticked for long and is calm for as long is news again.
func TestNoiseUnlearned(t *testing.T) {
	visitors := func(n int) string { return pageOf("The news.", fmt.Sprint("Visitors: ", n)) }
	var o owner
	if got := looks(t, &o, 0, bodies(10, visitors)...); got != "pppuuuuuuu" {
		t.Fatalf("learning: %s", got)
	}
	masked := o.state.Noise.Epoch
	if got := looks(t, &o, 12, visitors(100)); got != "u" || o.state.Noise.Epoch != masked {
		t.Errorf("after two calm looks: %s in epoch %d, want %d", got, o.state.Noise.Epoch, masked)
	}
	if got := looks(t, &o, 40, visitors(200)); got != "p" || o.state.Noise.Epoch != masked+1 {
		t.Errorf("after many calm looks: %s in epoch %d, want %d", got, o.state.Noise.Epoch, masked+1)
	}
	if got := looks(t, &o, 90, visitors(300)); got != "p" {
		t.Errorf("a day later: %s", got)
	}
}

// Digits that are the news stay news: those that change now and then, and those
// that only entries bring that come.
func TestNoiseDigitsAreNews(t *testing.T) {
	cases := func(n int) string {
		return pageOf("Cases so far", fmt.Sprintf("There are %d confirmed cases.", 1000+n*n))
	}
	var o owner
	for day := range 40 {
		if got := looks(t, &o, 48*day, cases(day)); got != "p" {
			t.Fatalf("day %d: %s", day, got)
		}
	}
	o = owner{}
	flats := func(n int) string { return feedOf(5+n, func(i int) string { return fmt.Sprint("Price: ", 500+7*i) }) }
	looks(t, &o, 0, bodies(20, flats)...)
	cheaper := feedOf(25, func(i int) string { return fmt.Sprint("Price: ", 500+7*i-i/25) })
	if got := looks(t, &o, 20, flats(20), cheaper); got != "pp" {
		t.Errorf("a price that fell: %s", got)
	}
}

// A poller without the current content may see noise too.
func TestNoiseWithoutBase(t *testing.T) {
	visitors := func(n int) string { return pageOf("The news.", fmt.Sprint("Visitors: ", n)) }
	var o owner
	looks(t, &o, 0, bodies(8, visitors)...)
	o.base = nil
	if got := looks(t, &o, 8, visitors(50), visitors(51)); got != "uu" {
		t.Errorf("noise: %s", got)
	}
	if got := looks(t, &o, 10, pageOf("Other news.", "Visitors: 52")); got != "p" {
		t.Errorf("news: %s", got)
	}
}

// Noise that stays becomes the current content in silence, so that pollers need
// not fetch it again and again.
func TestNoiseThatStays(t *testing.T) {
	counted := func(n int) []byte { return []byte(pageOf("The news.", fmt.Sprint("Visitors: ", n))) }
	var o owner
	for n := range 2 * matureFrom {
		o.report(t, epoch.Add(time.Duration(n)*UsualGap), extracted.Of(t, counted(n)))
	}
	for n, want := range []Verdict{VerdictUnchanged, VerdictRebase, VerdictUnchanged} {
		if d := o.report(t, epoch.Add(time.Duration(2*matureFrom+n)*UsualGap), extracted.Of(t, counted(999))); d.Verdict != want {
			t.Errorf("poll %d: %v, want %v", n, d.Verdict, want)
		}
	}
	if o.base.Hash != extracted.Of(t, counted(999)).Hash {
		t.Errorf("%+v", o.state)
	}
}

// On a front page, where entries leave from anywhere, none is withdrawn; on a
// list in the order of time one may be.
func TestNoiseChosenEntries(t *testing.T) {
	var front, list owner
	looks(t, &front, 0, string(documents.Stories(5, 4, 3, 2, 1)), string(documents.Stories(6, 5, 3, 2, 1)), string(documents.Stories(7, 6, 5, 3, 1)), string(documents.Stories(8, 7, 6, 3, 1)), string(documents.Stories(9, 8, 7, 6, 1)))
	looks(t, &list, 0, string(documents.Stories(5, 4, 3, 2, 1)), string(documents.Stories(6, 5, 4, 3, 2)), string(documents.Stories(7, 6, 5, 4, 3)), string(documents.Stories(8, 7, 6, 5, 4)), string(documents.Stories(9, 8, 7, 6, 5)))
	front.removed = nil
	if got := looks(t, &front, 5, string(documents.Stories(9, 8, 6, 1)), string(documents.Stories(10, 9, 6, 1))); got != "rp" || len(front.removed) != 0 {
		t.Errorf("front page: %s, withdrawn %v", got, front.removed)
	}
	if got := looks(t, &list, 5, string(documents.Stories(9, 8, 6, 5)), string(documents.Stories(10, 9, 8, 5))); got != "hp" || fmt.Sprint(list.removed) != "[id-7 id-6]" {
		t.Errorf("list: %s, withdrawn %v", got, list.removed)
	}
}

// What subscribers see of an update has no noise; what patches contents has all.
func TestNoiseCompare(t *testing.T) {
	pulls := func(add int) func(int) string {
		return func(i int) string { return fmt.Sprint("Pulls: ", 100*i+add) }
	}
	var o owner
	looks(t, &o, 0, bodies(6, func(n int) string { return feedOf(5, pulls(n)) })...)
	next := extracted.Of(t, []byte(feedOf(6, pulls(9))))
	u := o.state.Noise.Compare(o.base, next)
	if len(u.Entries.Added) != 1 || u.Entries.Added[0].Summary != "Pulls: 609" || len(u.Entries.Changed) != 0 || strings.Count(u.Diff, "Pulls: …") != 1 || strings.Contains(u.Diff, "Pulls: 1") {
		t.Errorf("%+v\n%s", u.Entries, u.Diff)
	}
	if patched, err := codec.Apply(o.base, u.Delta); err != nil || patched.Hash != next.Hash {
		t.Errorf("%v, %v", patched, err)
	}
	if u := Compare(o.base, next); len(u.Entries.Changed) != 5 {
		t.Errorf("without what was learned: %d changed", len(u.Entries.Changed))
	}
}

// Row 33's kin: however much ticks, what is remembered is bounded and reads back.
func TestNoiseBounded(t *testing.T) {
	var o owner
	looks(t, &o, 0, bodies(20, func(n int) string {
		var lines []string
		for i := range 200 {
			lines = append(lines, fmt.Sprintf("%s: %d", strings.Repeat("x", i+1), n*i))
		}
		return pageOf(append(lines, strings.Repeat("<p>Tip", n%2), strings.Repeat("<p>Offer", n%3%2))...)
	})...)
	if stored, err := o.state.MarshalBinary(); err != nil || len(stored) > maxState || len(o.state.Noise.slots) < 32 {
		t.Errorf("%d bytes, %d slots, %v", len(stored), len(o.state.Noise.slots), err)
	}
}

// Row 33: pages that change at very many places are judged in time that grows with their
// length.
func TestChangesAreNotQuadratic(t *testing.T) {
	// word returns a word of letters, another for each number.
	word := func(n int) string {
		var b []byte
		for ; n > 0; n /= 26 {
			b = append(b, 'a'+byte(n%26))
		}
		return string(b)
	}
	page := func(n int, line func(n int) string) *content.Core {
		return extracted.Of(t, []byte(strings.Join(bodies(n, line), "\n")))
	}
	for _, tc := range []struct {
		name       string
		base, next *content.Core
	}{
		{"lines", page(20_000, func(n int) string { return "is " + word(n) }), page(20_000, func(n int) string { return strings.Repeat("not ", n%9/8) + "is " + word(n) })},
		{"lines of one shape", page(20_000, func(n int) string { return fmt.Sprint("is ", n) }), page(20_000, func(n int) string { return strings.Repeat("not ", n%9/8) + fmt.Sprint("is ", n) })},
	} {
		cost.CheckBounds(t, tc.name, func() {
			if d := Decide(settled(tc.base), nil, tc.base, Observation{Begun: epoch.Add(UsualGap), Core: tc.next}); d.Verdict == VerdictUnchanged {
				t.Errorf("%s: %v", tc.name, d.Verdict)
			}
		})
	}
}

// Row 33: very many numbers that change at once are watched in time that grows with their
// number.
func TestWatchIsNotQuadratic(t *testing.T) {
	keys := make(map[slotKey]int)
	for n := range 200_000 {
		keys[newKey(slotNumber, fmt.Sprint(n))]++
	}
	cost.CheckBounds(t, "numbers", func() {
		var n Noise
		n.watch(keys, 0)
		n.watch(keys, 1)
		if len(n.slots) != len(keys) || !slices.IsSortedFunc(n.slots, func(a, b slot) int { return cmp.Compare(a.key, b.key) }) {
			t.Errorf("%d slots, or not in order", len(n.slots))
		}
	})
}
