package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// delivered returns runs whose deliveries took some milliseconds.
func delivered(ms ...float64) (runs []*result.Result) {
	for _, v := range ms {
		r := &result.Result{Scenario: "x"}
		r.Delivery.P50, r.Delivery.Mean = v, v
		runs = append(runs, r)
	}
	return runs
}

// What several runs end with, and what they leave in their folder.
func TestFinish(t *testing.T) {
	limited, broken := delivered(20, 21, 20), delivered(20, 21, 20)
	limited[1].Generator.Limited = true
	broken[2].Thresholds = []result.Verdict{{Name: "x <=", OK: false}}
	tests := []struct {
		name string
		a, b []*result.Result
		code int
		says string
	}{
		{"alike", delivered(20, 21, 20), delivered(21, 20, 20), cli.ExitDone, "no regression beyond chance"},
		{"worse", delivered(20, 21, 20), delivered(41, 40, 42), cli.ExitNo, "REGRESSION"},
		{"better", delivered(40, 41, 40), delivered(21, 20, 20), cli.ExitDone, "no regression beyond chance"},
		{"one each", delivered(20), delivered(40), cli.ExitDone, "chance is unknown"},
		{"the other build limited", limited, delivered(20, 21, 20), cli.ExitNo, "no regression"},
		{"the other build broken", broken, delivered(20, 21, 20), cli.ExitDone, "no regression"},
		{"this build broken", delivered(20, 21, 20), broken, cli.ExitNo, "no regression"},
		{"alone", delivered(20, 30), nil, cli.ExitDone, "delivery_ms.p50"},
		{"alone and broken", broken, nil, cli.ExitNo, "least"},
	}
	for _, test := range tests {
		flags, out := runFlags{out: t.TempDir(), tolerated: 0.05}, new(bytes.Buffer)
		err := flags.finish(t.Context(), out, &series{A: test.a, B: test.b})
		if cli.ExitCode(err) != test.code || !strings.Contains(out.String(), test.says) {
			t.Errorf("%s: %v, want exit code %d and %q:\n%s", test.name, err, test.code, test.says, out)
		}
		_, err = os.Stat(filepath.Join(flags.out, comparisonFile))
		if written := err == nil; written != (test.b != nil) {
			t.Errorf("%s: a comparison was written: %t", test.name, written)
		}
	}
}

// Both builds are started from copies.
func TestCopies(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, side := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(from, side), []byte("program "+side), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := copies(to, filepath.Join(from, "a"), filepath.Join(from, "b"))
	if err != nil || len(programs) != 2 {
		t.Fatalf("%v, %v", programs, err)
	}
	for side, program := range programs {
		content, err := os.ReadFile(program)
		if info, failed := os.Stat(program); err != nil || failed != nil || string(content) != "program "+string(side) || info.Mode().Perm() != 0o700 {
			t.Errorf("%c: %q, %v, %v", side, content, err, failed)
		}
	}
	if _, err := copies(t.TempDir(), filepath.Join(from, "a"), filepath.Join(from, "none")); err == nil {
		t.Error("a program that is not there was copied")
	}
}

func TestCheckRepeat(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes, target := &scenario.Scenario{}, &scenario.Scenario{Target: []string{"http://127.0.0.1:1"}}
	tests := []struct {
		flags runFlags
		of    *scenario.Scenario
		want  string
	}{
		{runFlags{runs: 0}, nodes, "--repeat 0"},
		{runFlags{runs: 2000}, nodes, "--repeat 2000"},
		{runFlags{runs: 1, against: text}, nodes, "no program"},
		{runFlags{runs: 1, against: text + "s"}, nodes, "no such file"},
		{runFlags{runs: 1, against: "/bin/true"}, target, "target"},
	}
	for _, test := range tests {
		if err := test.flags.checkRepeat(test.of); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.flags, err, test.want)
		}
	}
	good := runFlags{runs: 3, against: "/bin/true"}
	if err := good.checkRepeat(nodes); err != nil {
		t.Error(err)
	}
}
