package witness

import (
	"strings"
	"testing"
)

// wantLines holds that each text is there, in this order.
func wantLines(t *testing.T, said string, texts ...string) {
	t.Helper()
	rest := said
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("no %q, or not in its place, in\n%s", text, said)
			return
		}
		rest = after
	}
}

func TestTellShowsEvents(t *testing.T) {
	s := newStory()
	s.Listing = s.Listing[1:] // the anchor is lost
	var out strings.Builder
	r := NewRecorder()
	r.mu.history = *s.History
	if told := r.Tell(&out, Check(s.History, s.Snapshot)); told == 0 {
		t.Error("nothing is told")
	}
	wantLines(t, out.String(), "violated: "+string(RuleLost), "subscription A ",
		"1s key-a: subscribe, answered 201 at 1.1s",
		"3.3s key-a: webhook a2 of A, version 2, answered 500",
		"4.2s key-a: subscribe to another channel, answered 409 at 4.3s",
		urlKept+": ")
	if strings.Contains(out.String(), "key-b") {
		t.Errorf("what was seen of another subscription:\n%s", out.String())
	}
}
