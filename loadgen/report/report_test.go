package report

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/seed-91e7e7c1/corona/loadgen/profiles"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/run"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// A page has what was found and what was not, says it safely, and asks for nothing from
// elsewhere.
func TestPage(t *testing.T) {
	folder := t.TempDir()
	work := &profile.Function{ID: 1, Name: "x.com/a/engine.work<script>"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{work},
		Location: []*profile.Location{{ID: 1, Line: []profile.Line{{Function: work}}}},
	}
	p.Sample = []*profile.Sample{{Value: []int64{2e9}, Location: p.Location, Label: map[string][]string{profiles.PartLabel: {"poll"}}}}
	file, err := os.Create(filepath.Join(folder, "cpu"))
	if err == nil {
		err = errors.Join(p.Write(file), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Result{Scenario: "smoke", Nodes: []result.Node{{Name: "n1"}}, Thresholds: []result.Verdict{{Name: "updates_missed <=", Value: 3}}}
	r.Events = []result.Event{{AtS: 1, What: "kill node 1", Err: "it runs"}}
	err = Write(folder, Run{
		Outcome: &run.Outcome{
			Result: r, Series: []track.Point{{S: 0, Polls: 5}, {S: 1, Polls: 7}}, Window: [2]float64{0, 1},
			Profiles: []*run.Profile{{Node: "n1", Kind: "cpu", File: "cpu"}, {Node: "n1", Kind: "heap", File: "none"}, {Node: "n2", Kind: "cpu", Err: errors.New("away")}},
		},
		Scenario: "name: smoke # <b>", Command: "corona loadgen run smoke",
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, result.Report))
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	for _, want := range []string{
		"updates_missed", "broken", "kill node 1", "it runs", "corona loadgen run smoke", "# &lt;b&gt;", "n1, cpu (2.00 s)",
		"engine.work&lt;script&gt;, 100.0 %", "<td>poll</td>", "n1, heap: ", "no such file", "n2, cpu: ", "away", "prefers-color-scheme: dark",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if found := regexp.MustCompile(`<script|(src|href)="[^d#]|https?://`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}
