package judge

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever looks a place has seen, the reasons say no more of it than happened: it has
// changed at two looks in a row at least as often as they say, and it counts again
// after as much calm as they say, and not before.
func TestReasonsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"number", "region", "field"}).Draw(t, "kind")
		p := map[string]policy{"number": policies[slotNumber], "region": regionPolicy, "field": policies[slotField]}[kind]
		var r rhythm
		pairs, last := 0, false
		at := minutes(epoch)
		for _, changes := range rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "changes") {
			at += uint32(rapid.IntRange(1, 60).Draw(t, "gap"))
			if changes {
				r.tick(p, at)
			} else {
				r.rest(p, 1)
			}
			if changes && last {
				pairs++
			}
			last = changes
			r.settle(p, at, false)
		}
		if !r.masked {
			return
		}
		if r.again() > pairs {
			t.Fatalf("at least %d times, where it was %d: %+v", r.again(), pairs, r)
		}
		if p.byTime {
			checkCalm(t, r, p, at)
			return
		}
		for n := range int(r.score) {
			if r.settle(p, at, false); !r.masked {
				t.Fatalf("counts again after %d looks of %d", n, r.score)
			}
			r.rest(p, 1)
		}
		if r.settle(p, at, false); r.masked {
			t.Fatal("still masked after as many looks as are said")
		}
	})
}

// checkCalm has a masked place looked at each minute, which shows no change.
func checkCalm(t *rapid.T, r rhythm, p policy, at uint32) {
	said := r.calmAfter(p)
	for r.masked {
		at++
		r.rest(p, 1)
		r.settle(p, at, false)
		calm := time.Duration(at-r.changed) * time.Minute
		if !r.masked && calm < said && said > UsualGap && calm > mostStill*time.Minute {
			t.Fatalf("counts again after %v, said are %v", calm, said)
		}
		if r.masked && calm >= said && r.still == mostStill {
			t.Fatalf("masked after %v of calm, said are %v: %+v", calm, said, r)
		}
	}
}

// A region says of the lines that stand there what it knows of them.
func TestWhyRegion(t *testing.T) {
	var m masker
	lines := func(text string) paged { return m.pagedOf(text) }
	l := region{rhythm: rhythm{score: longChanging, masked: true}}
	l.learn(lines("Tip: drink water\nTip: eat fruit\n"), run{0, 2})
	for text, want := range map[string]string{
		"Tip: eat fruit\nTip: drink water\n":                "; all of it has stood here before",
		"Tip: eat fruit\nRain\n":                            "; its lines have stood here before, or are labels of three words at most",
		"Tip: eat fruit\nThe mayor has resigned tonight.\n": "; half of its lines or more have stood here before, numbers aside",
	} {
		if got, want := whyRegion(&l, lines(text)), "what stands here changed at two looks in a row, at least 12 times"+want; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	l.score = matureFrom - 1
	if got := whyRegion(&l, lines("Rain\n")); !strings.HasSuffix(got, whyYoung) {
		t.Errorf("a young region: %s", got)
	}
}

// Each reason for a hold has a text, and what is no reason comes back.
func TestHoldText(t *testing.T) {
	for _, reason := range []string{reasonEmpty, reasonKind, reasonOther, reasonRemoval, reasonReturned, reasonSettling} {
		if got := HoldText(reason); !strings.Contains(got, "; told when ") || len(reason) > 64 {
			t.Errorf("%s: %q", reason, got)
		}
	}
	if got := HoldText("a newer word"); got != "a newer word" {
		t.Errorf("%q", got)
	}
}
