package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// short is smoke in a few seconds.
func short(t *testing.T, set ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Read("smoke", append([]string{"duration=5s", "warmup=1s", "nodes.args=[--interval, 2s, --floor, 500ms]"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program builds the program, or takes LOADGEN_BINARY.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	if binary := os.Getenv("LOADGEN_BINARY"); binary != "" {
		return binary
	}
	binary, err := child.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func TestSmoke(t *testing.T) {
	binary, out := program(t), filepath.Join(t.TempDir(), "out")
	told := 0
	outcome, err := Run(t.Context(), Options{Scenario: short(t), Out: out, Binary: binary, Progress: func(Progress) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	r := outcome.Result
	if r.UpdatesMissed != 0 || r.UpdatesFalse != 0 || r.Duplicates != 0 || r.OutOfOrder != 0 || r.FloorViolations != 0 {
		t.Errorf("%+v", r)
	}
	if r.UpdatesPublished < 10 || r.Deliveries < 10 || r.Polls < 10 || told < 5 || len(outcome.Series) < 6 {
		t.Errorf("%+v, told %d times, %d seconds", r, told, len(outcome.Series))
	}
	// On a machine that is busy elsewhere nothing is as planned, and the result says so.
	if !r.Generator.Limited && (r.PollsPerS < 0.9*r.PlannedPollsPerS || r.PlanOverBound > 1.05) {
		t.Errorf("not as planned: %+v", r)
	}
	if all, err := result.Read(out); err != nil || all[0].Polls != r.Polls {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := Run(t.Context(), Options{Scenario: short(t), Out: out, Binary: binary}); !errors.Is(err, result.ErrTaken) {
		t.Errorf("into a folder with a result: %v", err)
	}
}

// What ends the run early leaves a result, and no process.
func TestInterrupted(t *testing.T) {
	binary, out := program(t), filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	outcome, err := Run(ctx, Options{Scenario: short(t, "duration=10m"), Out: out, Binary: binary, Progress: func(p Progress) {
		if p.Phase == "window" && time.Since(p.Begun) > 2*time.Second {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r := outcome.Result; !r.Interrupted || r.OK() || r.Polls == 0 || r.Duration > 60 {
		t.Errorf("%+v", r)
	}
	if left, err := exec.Command("pgrep", "-f", "loadgen-[0-9]* --name n1.*--interval 2s").Output(); err == nil {
		t.Errorf("processes left: %s", left)
	}
}

// A node that ends by itself, and a target that is none, are errors of their own.
func TestNoNode(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for processes")
	}
	_, err := Run(t.Context(), Options{Scenario: short(t), Out: filepath.Join(t.TempDir(), "out"), Binary: "/bin/false"})
	if !errors.Is(err, ErrNode) {
		t.Errorf("a node that ends: %v", err)
	}
	_, err = Run(t.Context(), Options{Scenario: short(t, "target=['http://127.0.0.1:1']"), Out: filepath.Join(t.TempDir(), "out")})
	if !errors.Is(err, ErrNode) {
		t.Errorf("a target that is none: %v", err)
	}
}

func TestRefused(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for set, want := range map[string]string{
		"nodes.args=[--interval, soon]": "interval",
	} {
		_, err := Run(t.Context(), Options{Scenario: short(t, set), Out: out, Binary: "/bin/false"})
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it refused for %s", set, err, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a folder was made", set)
		}
	}
}

// A node of three loses its disk and ranges are split while single subscriptions are made; fresh
// nodes have what a backup held.
func TestReplace(t *testing.T) {
	r := outcome(t, Options{Binary: program(t)}, "duration=12s", "nodes.count=3", "subscriptions.singles=10", "probes=[backup]",
		"events=[{at: 1s, do: replace, node: 2}, {at: 9s, do: split, ranges: 20}]")
	if len(r.Events) != 2 || r.EventsFailed != 0 || r.EventsLongest < 0.2 {
		t.Errorf("events %+v, the longest %g s", r.Events, r.EventsLongest)
	}
	if s := r.Singles; s == nil || s.Failed != 0 || s.Count < 110 || s.Beside.Count == 0 || s.Calm.Count+s.Beside.Count != s.Count {
		t.Errorf("single subscriptions %+v", s)
	}
	if b := r.Backup; b == nil || b.Lost == nil || *b.Lost != 0 || b.Extra == nil || *b.Extra != 0 || b.Bytes < 1000 {
		t.Errorf("backup %+v", b)
	}
	if r.SubscriptionsLost != 0 || r.UpdatesMissed != 0 {
		t.Errorf("%d subscriptions lost, %d updates missed", r.SubscriptionsLost, r.UpdatesMissed)
	}
}

// A subscription is beside an event from its beginning until ten seconds after its end.
func TestBesideEvent(t *testing.T) {
	events := []result.Event{{AtS: 10, TookS: 5}}
	for at, want := range map[time.Duration]bool{9 * time.Second: false, 10 * time.Second: true, 24 * time.Second: true, 25 * time.Second: false} {
		if besideEvent(events, at) != want {
			t.Errorf("at %s: %t", at, !want)
		}
	}
}
