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
