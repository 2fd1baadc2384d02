package channels

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

func TestPollsText(t *testing.T) {
	for rate, want := range map[float64]string{6: "6 polls", 1: "1 poll", 1.0 / 3: "1/3 polls"} {
		if got := pollsText(rate); got != want {
			t.Errorf("pollsText(%v) = %s, want %s", rate, got, want)
		}
	}
}

// TestExplainNew: a channel that no solve has seen has no weight to speak of.
func TestExplainNew(t *testing.T) {
	why := explanation{&api.Explanation{Policy: "lite", DecidedBy: api.DecidedByStart, Factors: api.Factors{Subscribers: 3, UpdateIntervalS: 60}}}
	if got, want := why.factors(), "3 subscribers; changes every 1 min"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
