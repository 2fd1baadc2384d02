package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
)

// tiny are flags of a simulation that takes a blink.
var tiny = []string{"--channels", "200", "--nodes", "40", "--subscriptions", "4000"}

// What scripts rely on of table2: eleven rows, and these fields in each.
func TestSimTable2JSON(t *testing.T) {
	args := append([]string{"sim", "table2", "--json"}, tiny...)
	got := runCorona(t.Context(), "", args...)
	var result struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(got.Out), &result); err != nil || got.Code != cli.ExitDone || got.Errs != "" {
		t.Fatalf("exit %d, %v: %s%s", got.Code, err, got.Out, got.Errs)
	}
	if len(result.Rows) != 11 {
		t.Fatalf("%d rows", len(result.Rows))
	}
	for _, row := range result.Rows {
		for _, field := range []string{"scheme", "ladder", "phases", "decentralised", "detection_s", "detection_model_s",
			"detection_per_update_s", "load", "bound_s", "paper_detection_s", "paper_load"} {
			if _, ok := row[field]; !ok {
				t.Errorf("%v: no %s", row["scheme"], field)
			}
		}
	}
	again := runCorona(t.Context(), "", args...)
	if again.Out != got.Out {
		t.Error("the same seed printed something else")
	}
}

// What scripts rely on of beyond: its four events up to two million channels, and what each
// node holds, sends and computes, with the costs and the commands that measured them.
func TestSimBeyondJSON(t *testing.T) {
	for _, test := range []struct {
		args   []string
		events bool
	}{
		{tiny, true},
		{[]string{"--channels", "2000001", "--nodes", "4"}, false},
	} {
		args := append([]string{"sim", "beyond", "--json"}, test.args...)
		got := runCorona(t.Context(), "", args...)
		var result struct {
			Churn []any
			Scale struct {
				Sizes   []struct{ Nodes, Channels int }
				Figures []struct {
					Name, Unit string
					PerNode    []float64 `json:"per_node"`
					Goes       string    `json:"goes_with"`
				}
				Costs struct {
					Figures map[string]struct{ Command string }
				}
			}
		}
		if err := json.Unmarshal([]byte(got.Out), &result); err != nil || got.Code != cli.ExitDone || got.Errs != "" {
			t.Fatalf("exit %d, %v: %.2000s%s", got.Code, err, got.Out, got.Errs)
		}
		if s := result.Scale; (len(result.Churn) > 0) != test.events || len(s.Sizes) == 0 || len(s.Figures) < 20 || len(s.Costs.Figures) == 0 {
			t.Errorf("%v: %d courses, %+v", test.args, len(result.Churn), s)
		}
		for name, cost := range result.Scale.Costs.Figures {
			if !strings.HasPrefix(cost.Command, "go ") {
				t.Errorf("%s was measured by %q", name, cost.Command)
			}
		}
		if test.events {
			if again := runCorona(t.Context(), "", args...); again.Out != got.Out {
				t.Error("the same seed printed something else")
			}
		}
	}
}

func TestSimBeyondCosts(t *testing.T) {
	folder := t.TempDir()
	for name, test := range map[string]struct{ text, reason string }{
		"empty":   {`{}`, "is missing"},
		"no JSON": {`[`, "bad costs"},
		"unknown": {`{"figure":1}`, "bad costs"},
		"zero":    {`{"figures":{"content_on_disk":{"value":0,"unit":"bytes","command":"x","measured":"2026-11-24"}}}`, "content_on_disk is 0, want more than 0"},
	} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := runCorona(t.Context(), "", append([]string{"sim", "beyond", "--costs", file}, tiny...)...)
		if got.Code != cli.ExitUsage || got.Out != "" || !strings.Contains(got.Errs, test.reason) || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q %q; want %q", name, got.Code, got.Out, got.Errs, test.reason)
		}
	}
}

func TestSimReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "d.html")
	args := append([]string{"sim", "deployment", "--report", page}, tiny...)
	got := runCorona(t.Context(), "", args...)
	if got.Code != cli.ExitDone || !strings.Contains(got.Out, "polls per minute") {
		t.Fatalf("exit %d: %s%s", got.Code, got.Out, got.Errs)
	}
	for name, want := range map[string]string{".html": "</svg>", ".csv": "Figure 10", ".json": `"schemes"`} {
		text, err := os.ReadFile(strings.TrimSuffix(page, ".html") + name)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %q is missing", name, err, want)
		}
	}
}

func TestSimRefuses(t *testing.T) {
	for _, test := range []struct {
		args   string
		reason string
	}{
		{"sim", "EXPERIMENT is missing"},
		{"sim table3", `unknown experiment "table3"`},
		{"sim table2 --channels 0", "0 channels"},
		{"sim table2 --nodes 99999999", "nodes, want 1 to"},
		{"sim table2 --subscriptions 5", "subscriptions, want"},
		{"sim table2 --hours 1", "1 hours, want 2.5 (two maintenance intervals and an interval) to 168"},
		{"sim table2 --hours NaN", "NaN hours"},
		{"sim deployment --hours 2", "2 hours"},
		{"sim beyond --hours 4", "4 hours"},
		{"sim beyond --costs no/such/file", "no such file"},
		{"sim beyond --channels 2000000000", "2000000000 channels, want 1 to 1000000000"},
		{"sim beyond --channels 50000000 --nodes 2000", "2000 nodes, want 1 to 1024"},
		{"sim table2 --report x.pdf", "ends in .html"},
		{"sim table2 --report no/such/x.html", "no such folder"},
		{"sim table2 extra", `unexpected argument "extra"`},
		{"sim table3 extra", `unknown experiment "table3"`},
	} {
		got := runCorona(t.Context(), "", strings.Fields(test.args)...)
		if got.Code != cli.ExitUsage || got.Out != "" || !strings.Contains(got.Errs, test.reason) || strings.Count(got.Errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %q %q; want %q", test.args, got.Code, got.Out, got.Errs, test.reason)
		}
	}
}
