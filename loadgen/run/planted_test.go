package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/internal/child"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// outcome runs smoke in a few seconds.
func outcome(t *testing.T, o Options, set ...string) *result.Result {
	t.Helper()
	o.Scenario, o.Out = short(t, set...), filepath.Join(t.TempDir(), "out")
	found, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found.Result
}

// broken returns the names of the thresholds that are broken.
func broken(r *result.Result) (names []string) {
	for _, v := range r.Thresholds {
		if !v.OK {
			names = append(names, v.Name)
		}
	}
	return names
}

const noneMissing = "thresholds=[{metric: deliveries_missing, max: 0}]"

// A sink that loses one update in 50 is named by the figure, down to the number.
func TestLostDeliveries(t *testing.T) {
	var arrived, lost atomic.Int64
	lose := func() bool {
		if arrived.Add(1)%50 != 0 {
			return false
		}
		lost.Add(1)
		return true
	}
	r := outcome(t, Options{Binary: program(t), lose: lose}, noneMissing)
	if got := broken(r); len(got) != 1 || got[0] != "deliveries_missing <=" || r.OK() {
		t.Errorf("broken: %v", got)
	}
	if r.DeliveriesMissing == 0 || r.DeliveriesMissing > lost.Load() || r.UpdatesMissed == 0 {
		t.Errorf("%d missing, %d updates missed; %d were lost", r.DeliveriesMissing, r.UpdatesMissed, lost.Load())
	}
}

// Recorded documents are judged by their entries: one that a sink loses is named.
func TestLostEntries(t *testing.T) {
	var lines bytes.Buffer
	items := ""
	for n := range 40 {
		items = fmt.Sprintf("<item><title>Entry %d</title><guid>e%d</guid></item>", n, n) + items
		fmt.Fprintf(&lines, "{\"t\":%d,\"body\":%q}\n", n, `<rss version="2.0"><channel><title>t</title>`+items+`</channel></rss>`)
	}
	coder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "one.jsonl.zst")
	if err := os.WriteFile(file, coder.EncodeAll(lines.Bytes(), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Read("replay", []string{"duration=8s", "nodes.args=[--interval, 1s, --floor, 200ms]", "origins.traces=" + file, "origins.step=2s", "subscriptions.count=8"})
	if err != nil {
		t.Fatal(err)
	}
	var due atomic.Bool
	lose := func() bool { return due.CompareAndSwap(true, false) }
	told := func(p Progress) { // an update that arrives 2.5 s after the window's beginning is of an entry of the window
		if p.Phase == "window" && time.Since(p.Begun) > 2500*time.Millisecond && time.Since(p.Begun) < 3600*time.Millisecond {
			due.Store(true)
		}
	}
	found, err := Run(t.Context(), Options{Scenario: s, Out: filepath.Join(t.TempDir(), "out"), Binary: program(t), Progress: told, lose: lose})
	if err != nil {
		t.Fatal(err)
	}
	e := found.Result.Entries
	if e.Documents != 1 || e.Fresh < 3 || e.Missing != 1 || e.Twice != 0 || e.Silent != 0 || e.WaitMax < 5500 {
		t.Errorf("%+v", e)
	}
	if got := broken(found.Result); !slices.Contains(got, "entries.missing <=") {
		t.Errorf("broken: %v", got)
	}
}

// within returns a program that starts another with one more argument.
func within(t *testing.T, binary, more string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "corona")
	text := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\" %s\n", binary, more)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script
}

// A node that solves with a budget of its own is named: what it could do with the one that
// it was given is known.
func TestWrongBudget(t *testing.T) {
	r := outcome(t, Options{Binary: within(t, program(t), "--budget 400")}, "rates=true", "thresholds=[{metric: plan_over_bound, max: 1.05}, {metric: rates.planned_off, max: 0.01}]")
	if got := broken(r); len(got) != 2 || r.PlanOverBound < 1.2 || r.PlanOverBound > 10 {
		t.Errorf("plan over bound %g; broken: %v", r.PlanOverBound, got)
	}
	if f := r.Rates; f.Parts != 1 || f.Channels != 200 || f.PlannedOff < 0.2 || f.OverBudget > 0 {
		t.Errorf("%+v", f)
	}
}

// A node that asks hosts sooner than it was told to is found in the origins' log, and one that
// keeps to it is not.
func TestAudit(t *testing.T) {
	binary := program(t)
	set := []string{"audit=true", "nodes.args=[--interval, 2s, --floor, 500ms, --host-gap, 100ms, --contact, https://example.org/us]", "thresholds=[{metric: audit.violations, max: 0}, {metric: audit.requests, min: 50}]"}
	if r := outcome(t, Options{Binary: within(t, binary, "--contact https://example.org/other")}, set...); r.Audit.Kinds["user-agent"] != r.Audit.Requests || len(broken(r)) != 1 || len(r.Audit.First) == 0 {
		t.Errorf("another contact: %+v", r.Audit)
	}
	if r := outcome(t, Options{Binary: binary}, set...); r.Audit.Kinds["user-agent"] > 0 || len(broken(r)) > 0 && !r.Generator.Limited {
		t.Errorf("as told: %+v", r.Audit)
	}
}

// What is probed of a node is in the result.
func TestProbes(t *testing.T) {
	r := outcome(t, Options{Binary: program(t)}, "duration=2s", "probes=[memory, lists]", noneMissing)
	if m := r.Memory; m == nil || m.Live <= 0 || m.RSS < m.Live || m.Free < 0 || m.Outside <= 0 {
		t.Errorf("memory %+v", m)
	}
	if l := r.Lists; l == nil || l.Channels.Items != 200 || l.Channels.Wrong != 0 || l.Subscriptions.Items != 600 || l.Subscriptions.Wrong != 0 || l.Requests["/readyz"].P50 <= 0 {
		t.Errorf("lists %+v", l)
	}
	if f := r.Fill; f.SubscribeS <= 0 || f.PerS <= 0 || f.RSSMax <= 0 || r.Disk.Bytes <= 0 || r.Disk.Folders["cache"] <= 0 {
		t.Errorf("fill %+v, disk %+v", f, r.Disk)
	}
}

// Origins whose clocks lie are survived, and counted.
func TestLyingClocks(t *testing.T) {
	r := outcome(t, Options{Binary: program(t)}, "origins.lying_clock=50%", "thresholds=[{metric: updates_missed, max: 0}, {metric: deliveries_missing, max: 0}, {metric: lying_dates, min: 1}]")
	if got := broken(r); len(got) > 0 || r.LyingDates > r.Polls || !r.OK() && !r.Generator.Limited {
		t.Errorf("broken: %v; %d lies of %d polls", got, r.LyingDates, r.Polls)
	}
}

// plantedProgram builds the program with planted bugs, or takes LOADGEN_PLANTED_BINARY.
func plantedProgram(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("LOADGEN_PLANTED_BINARY"); binary != "" {
		return binary
	}
	binary, err := child.Build(t.Context(), t.TempDir(), "planted")
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// A node that leaves out one poll in 100 is told from one that polls as planned. Where the
// generator was the limit, polls may be late for want of a processor, and count too.
func TestPollsLeftOut(t *testing.T) {
	sound, planted := program(t), plantedProgram(t)
	t.Setenv("CORONA_PLANTED_BUG", "19")
	share := func(binary string) (left float64, limited bool) {
		// Gaps are judged from five seconds after the plan on. Equal channels have equal rates:
		// at rates between which the last polls are divided, one left out may be as planned.
		r := outcome(t, Options{Binary: binary}, "duration=14s", "origins.popularity=even")
		t.Logf("%d polls, %d left out", r.Polls, r.PollsSkipped)
		return float64(r.PollsSkipped) / float64(r.Polls), r.Generator.Limited
	}
	if left, limited := share(planted); left < 0.003 || left > 0.05 && !limited {
		t.Errorf("%.2f %% of polls are said to be left out, and 1 %% was", 100*left)
	}
	if err := os.Unsetenv("CORONA_PLANTED_BUG"); err != nil { // which the sound program refuses
		t.Fatal(err)
	}
	if left, limited := share(sound); left > 0.001 && !limited {
		t.Errorf("%.2f %% of polls are said to be left out, and none was", 100*left)
	}
}

// A generator that is suspended in the window says that it was the limit.
func TestSuspendedGenerator(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "out")
	generator, err := child.Begin(filepath.Join(folder, "log"), program(t), "loadgen", "run", "smoke", "--out", out,
		"--set", "duration=6s", "--set", "warmup=1s", "--set", "nodes.args=[--interval, 2s, --floor, 500ms]", "--set", noneMissing)
	if err != nil {
		t.Fatal(err)
	}
	defer generator.Close()
	inWindow := func() (bool, error) { return strings.Contains(generator.LogTail(), "smoke window"), nil }
	if err := child.Await(t.Context(), "the window", time.Minute, inWindow, generator); err != nil {
		t.Fatal(err)
	}
	err = generator.Pause()
	time.Sleep(2 * time.Second) // what is measured
	if err := errors.Join(err, generator.Resume()); err != nil {
		t.Fatal(err)
	}
	if code, ended := generator.AwaitEnd(t.Context(), 2*time.Minute); !ended || code != 1 {
		t.Errorf("exit code %d, ended %t:\n%s", code, ended, generator.LogTail())
	}
	all, err := result.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if g := all[0].Generator; !g.Limited || !strings.Contains(strings.Join(g.Reasons, " "), "stood still") {
		t.Errorf("%+v", g)
	}
}
