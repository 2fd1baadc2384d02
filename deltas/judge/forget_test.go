package judge

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/deltas/internal/documents"
)

// What was silent is told once it is forgotten, until it is learned again; what is
// current stays current.
func TestForget(t *testing.T) {
	counter := func(n int) string { return pageOf("News.", fmt.Sprint("Visitors: ", 7000+13*n, " today")) }
	variant := func(n int) string {
		return pageOf("The council met on Monday.", fmt.Sprint("Number ", "abc"[n%2:n%2+1], " of the paper."))
	}
	tests := []struct {
		name          string
		body          func(n int) string
		learned, told string // verdicts of the last looks before, and of those behind
	}{
		{"a counter", counter, "uuuu", "pppuuuuu"},
		{"a line that comes and goes", func(n int) string {
			return pageOf("News.", "Weather: fine", []string{"Tip: drink water", "Tip: eat fruit", "Tip: go to bed"}[n%3])
		}, "uuuu", "pph"}, // the third is a return
		{"a counter of entries", func(n int) string {
			return feedOf(5, func(i int) string { return fmt.Sprint("Pulls: ", 100*i+n, " so far") })
		}, "uuuu", "ppuuuuuu"},
		{"variants", variant, "huhuhu", "p"},
	}
	for _, test := range tests {
		var o owner
		before := looks(t, &o, 0, bodies(24, test.body)...)
		if !strings.HasSuffix(before, test.learned) {
			t.Errorf("%s: %s before, want %s at the end", test.name, before, test.learned)
		}
		state := o.state.Forget()
		if state.Current != o.state.Current || !state.Shown.Equal(o.state.Shown) || state.Extractor != o.state.Extractor {
			t.Errorf("%s: forgot what is current", test.name)
		}
		o.state = state
		after := looks(t, &o, 24, bodies(9, func(n int) string { return test.body(n + 24) })...)
		if !strings.HasPrefix(after, test.told) {
			t.Errorf("%s: %s behind, want %s", test.name, after, test.told)
		}
	}
}

// A forgotten state masks what a channel without a history does, whatever was learned;
// forgetting again changes nothing; and an entry that was told is not told again.
func TestForgetProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o owner
		history := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 20).Draw(t, "history")
		for i, n := range history {
			looks(t, &o, i, string(documents.Stories(n+9, n+8, n+1, n, 2, 1)))
		}
		bare := o.state.Forget()
		if !bare.Noise.sameMasks(Noise{}) || bare.Candidate != nil || bare.Flaps != 0 || bare.Recent != nil {
			t.Fatalf("not forgotten: %+v", bare)
		}
		if again := bare.Forget(); !reflect.DeepEqual(again, bare) {
			t.Fatalf("forgetting again: %+v, want %+v", again, bare)
		}
		o.state, o.reported = bare, nil
		told := map[string]bool{}
		for i, n := range history {
			looks(t, &o, len(history)+i, string(documents.Stories(n+9, n+8, n+1, n, 2, 1)))
		}
		for _, id := range o.reported {
			told[id] = true
		}
		if len(told) > 0 {
			t.Fatalf("told again as new: %v", o.reported)
		}
	})
}

// Without content there is nothing to forget.
func TestForgetNothing(t *testing.T) {
	if got := (State{}).Forget(); !reflect.DeepEqual(got, State{}) {
		t.Errorf("%+v", got)
	}
}
