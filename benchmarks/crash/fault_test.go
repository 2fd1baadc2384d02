package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/diskfault"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

func TestParseKinds(t *testing.T) {
	for text, want := range map[string][]string{
		"kill":                {witness.KindKill},
		"full,eio,kill":       {witness.KindKill, witness.KindEIO, witness.KindFull},
		"slow,slow":           {witness.KindSlow},
		"kill,enospc,eio,fsk": nil,
		"":                    nil,
	} {
		got, err := parseKinds(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestPossible(t *testing.T) {
	no := errors.New("no")
	for _, test := range []struct {
		canTrace, canMount error
		want               string
		leftOut            int
	}{
		{nil, nil, "kill enospc eio slow stall full", 0},
		{no, nil, "kill full", 4},
		{nil, no, "kill enospc eio slow stall", 1},
		{no, no, "kill", 5},
	} {
		got, leftOut := possible(witness.Kinds, test.canTrace, test.canMount)
		if strings.Join(got, " ") != test.want || len(leftOut) != test.leftOut {
			t.Errorf("%v, %v: %q, left out %q", test.canTrace, test.canMount, got, leftOut)
		}
	}
}

// Without strace a run by default kills, says what it does not do, and fails in CI
// alone.
func TestChooseOnBareMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for ci, fails := range map[string]bool{"": false, "true": true} {
		t.Setenv("CI", ci)
		var o options
		var out strings.Builder
		err := o.choose(context.Background(), "", &out)
		if !slices.Equal(o.kinds, []string{witness.KindKill}) || strings.Count(out.String(), "left out: ") != 2 {
			t.Errorf("CI=%q: %q, said %q", ci, o.kinds, out.String())
		}
		if (err != nil) != fails {
			t.Errorf("CI=%q: %v", ci, err)
		}
		if err := o.choose(context.Background(), "kill", io.Discard); err != nil {
			t.Errorf("CI=%q, kills alone: %v", ci, err)
		}
		if err := o.choose(context.Background(), "full", io.Discard); err == nil {
			t.Errorf("CI=%q: a run of nothing", ci)
		}
	}
	if err := diskfault.CanTrace(t.Context()); !errors.Is(err, diskfault.ErrUnavailable) {
		t.Errorf("CanTrace = %v", err)
	}
}

func TestDeck(t *testing.T) {
	for _, test := range []struct {
		kinds []string
		deals int
		want  map[string]int
	}{
		{[]string{witness.KindKill}, 5, map[string]int{witness.KindKill: 5}},
		{[]string{witness.KindEIO}, 5, map[string]int{witness.KindEIO: 5}},
		{[]string{witness.KindKill, witness.KindENOSPC, witness.KindEIO, witness.KindFull}, 24, map[string]int{witness.KindKill: 18, witness.KindENOSPC: 2, witness.KindEIO: 2, witness.KindFull: 2}},
	} {
		d := deck{random: rand.New(rand.NewPCG(1, 0)), kinds: test.kinds}
		for range test.deals {
			test.want[d.deal()]--
		}
		for kind, left := range test.want {
			if left != 0 {
				t.Errorf("%q: %d deals of %s too few", test.kinds, left, kind)
			}
		}
	}
}
