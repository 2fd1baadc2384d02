package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
)

// told returns the update that the owner makes of a page after others.
func told(t rapid.TB, before []string, page string) *Update {
	t.Helper()
	var o owner
	looks(t, &o, 0, before...)
	core := extracted.Of(t, []byte(page))
	d := Decide(o.state, o.seen, o.base, Observation{Begun: epoch.Add(time.Duration(len(before)) * UsualGap), Core: core})
	if d.Verdict != VerdictPublish {
		t.Fatalf("%v, want an update", d.Verdict)
	}
	u, err := DecodeUpdate(d.Noise.Compare(o.base, core).Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// An update says what noise hid of its content, with the text that stands there, what
// was learned first; and nothing where nothing is hidden.
func TestUpdateMasks(t *testing.T) {
	const news = "Four people won the lottery."
	tips := []string{"Tip: drink water", "Tip: eat fruit", "Tip: go to bed"}
	page := func(n int, more ...string) string {
		return pageOf(append([]string{`<a href="#">Menu</a>`, `<a href="#">Search</a>`, fmt.Sprintf("Last updated: March %d, 2026", n%28+1),
			"Council of the town", fmt.Sprint("Visitors: ", 7000+13*n, " today, 3 of 5"), "Weather: fine", tips[n%3]}, more...)...)
	}
	tests := []struct {
		name   string
		before []string
		page   string
		want   []string
	}{
		{"nothing", []string{pageOf("a", "b 5")}, pageOf("a", "b 5", news), nil},
		{"counters, a block and controls", bodies(24, func(n int) string { return page(n) }), page(24, news), []string{
			"number updated: March 25, 2026", "number Visitors: 7312 today", "control Menu ⟨#⟩\nSearch ⟨#⟩"}},
		{"a region", bodies(24, func(n int) string { return pageOf("News.", "Weather: fine", tips[n%3]) }), pageOf("News.", news, "Weather: fine", tips[1]), []string{
			"region Tip: eat fruit"}},
	}
	for _, test := range tests {
		var got []string
		for _, m := range told(t, test.before, test.page).Masked {
			got = append(got, m.What+" "+m.Text)
			if m.Why == "" {
				t.Errorf("%s: %+v has no reason", test.name, m)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// However much a content hides, what an update says of it is bounded, and text.
func TestUpdateMasksBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("aö→ ")), 0, 150, -1)
		var lines []func(look int) string
		for n := range rapid.IntRange(1, 60).Draw(rt, "lines") {
			counter, control := word.Draw(rt, "word"), `<a href="#">Control `+word.Draw(rt, "word")+`</a>`
			lines = append(lines, rapid.SampledFrom([]func(int) string{
				func(look int) string { return fmt.Sprintf("Part %d%s seen %d times", n, counter, 100+7*look) }, func(int) string { return control },
			}).Draw(rt, "line"))
		}
		page := func(look int, more ...string) string {
			for _, line := range lines {
				more = append(more, line(look))
			}
			return pageOf(more...)
		}
		masks := told(t, bodies(12, func(look int) string { return page(look) }), page(12, "Four people won the lottery.")).Masked
		total := 0
		for _, m := range masks {
			total += len(m.Text) + len(m.Why)
			if len(m.Text) > maxMaskText || !utf8.ValidString(m.Text) || strings.TrimSpace(m.Text) == "" {
				rt.Fatalf("%d bytes of text: %q", len(m.Text), m.Text)
			}
		}
		if len(masks) == 0 || len(masks) > maxMasks || total > maxMaskBytes {
			rt.Fatalf("%d masks of %d bytes", len(masks), total)
		}
	})
}

// Updates that were stored before they said what is masked read as such.
func TestUpdateBeforeMasks(t *testing.T) {
	u, err := DecodeUpdate(updateFrames.Append([]byte{updateVersion}, []byte(`{"kind":"html","delta_bytes":7,"truncated":false,"entries":{},"diff":"+a\n"}`)))
	if err != nil || u.Masked != nil || u.Diff != "+a\n" {
		t.Errorf("%+v, %v", u, err)
	}
}
