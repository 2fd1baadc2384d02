package result

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	names := Names()
	for _, want := range []string{"polls", "detection_ms.p99", "detection_ms.planned.p99", "generator.lateness_ms.p99", "updates_missed", "rss_max_bytes"} {
		if !slices.Contains(names, want) {
			t.Errorf("no figure %s among %v", want, names)
		}
	}
	for _, not := range []string{"seed", "duration_s", "nodes", "scenario", "generator.limited"} {
		if slices.Contains(names, not) {
			t.Errorf("%s is a figure", not)
		}
	}
}

func TestJudge(t *testing.T) {
	r := &Result{PollsPerS: 95, PlannedPollsPerS: 100, UpdatesMissed: 1}
	r.Detection.P99, r.Detection.Planned.P99 = 1100, 1000
	bound := func(value float64, planned bool) *Bound { return &Bound{value, planned} }
	tests := []struct {
		limit Limit
		want  []Verdict
	}{
		{Limit{"updates_missed", bound(0, false), nil}, []Verdict{{"updates_missed <=", 0, 1, false}}},
		{Limit{"updates_missed", bound(1, false), nil}, []Verdict{{"updates_missed <=", 1, 1, true}}},
		{Limit{"detection_ms.p99", bound(1.15, true), nil}, []Verdict{{"detection_ms.p99 <=", 1150, 1100, true}}},
		{Limit{"detection_ms.p99", bound(1.05, true), nil}, []Verdict{{"detection_ms.p99 <=", 1050, 1100, false}}},
		{Limit{"polls_per_s", bound(1.01, true), bound(0.9, true)}, []Verdict{{"polls_per_s <=", 101, 95, true}, {"polls_per_s >=", 90, 95, true}}},
		{Limit{"polls_per_s", nil, bound(99, false)}, []Verdict{{"polls_per_s >=", 99, 95, false}}},
		{Limit{"backup.lost", bound(0, false), bound(0, false)}, []Verdict{{"backup.lost <=", 0, 0, false}, {"backup.lost >=", 0, 0, false}}},
	}
	for _, test := range tests {
		got := r.Judge([]Limit{test.limit})
		for i := range got {
			if diff := got[i].Limit - test.want[i].Limit; diff < 1e-9 && diff > -1e-9 {
				got[i].Limit = test.want[i].Limit
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %+v, want %+v", test.limit, got, test.want)
		}
	}
	for metric, want := range map[string][2]bool{"polls": {true, false}, "polls_per_s": {true, true}, "detection_ms.p99": {true, true}, "delivery_ms.p99": {true, false}, "x": {}} {
		if known, planned := Known(metric); known != want[0] || planned != want[1] {
			t.Errorf("Known(%s) = %t, %t", metric, known, planned)
		}
	}
}

func TestOK(t *testing.T) {
	r := &Result{Thresholds: []Verdict{{OK: true}}}
	if !r.OK() {
		t.Error("a good result")
	}
	limited, interrupted, broken, failed := *r, *r, *r, *r
	failed.Failed = []string{"probe"}
	limited.Generator.Limited, interrupted.Interrupted = true, true
	broken.Thresholds = []Verdict{{OK: true}, {OK: false}}
	if limited.OK() || interrupted.OK() || broken.OK() || failed.OK() {
		t.Error("a result that is none is OK")
	}
}

func TestFolder(t *testing.T) {
	folder := t.TempDir()
	for _, run := range []string{"2", "1", "a-1", "a-2", "b-1"} {
		r := &Result{Scenario: "x" + run}
		inside := filepath.Join(folder, run)
		if err := Make(inside); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(inside); err != nil {
			t.Fatal(err)
		}
		if err := Make(inside); !errors.Is(err, ErrTaken) {
			t.Errorf("a folder with a result: %v", err)
		}
	}
	if all, err := Read(folder); err != nil || len(all) != 5 || all[0].Scenario != "x1" {
		t.Errorf("%v, %v", all, err)
	}
	if side, err := Read(filepath.Join(folder, "a")); err != nil || len(side) != 2 || side[1].Scenario != "xa-2" {
		t.Errorf("%v, %v", side, err)
	}
	if _, err := Read(filepath.Join(folder, "c")); err == nil {
		t.Error("runs that are not there are read")
	}
	if one, err := Read(filepath.Join(folder, "2")); err != nil || len(one) != 1 || one[0].Scenario != "x2" {
		t.Errorf("%v, %v", one, err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("an empty folder is read")
	}
	if err := os.WriteFile(filepath.Join(folder, "1", File), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(folder); err == nil {
		t.Error("a result of nothing is read")
	}
}
