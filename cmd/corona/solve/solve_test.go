package solve

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/clitest"
)

const (
	solveHeader = "channel,subscribers,size_bytes,update_interval_s\n"

	// With ten polls of a channel at most and a budget of five, by hand: 3 and 2
	// polls make 4/3 + 1/2, less than 4/4 + 1/1.
	twoChannels = solveHeader + "a,4,100,3600\nb,1,100,3600\n"
)

// solved runs corona solve with --json and --out, and returns what came of it.
func solved(t *testing.T, stdin string, args ...string) (solveResult, [][]string, clitest.Outcome) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "rates.csv")
	got := runCorona(t.Context(), stdin, append([]string{"solve", "--in", "-", "--json", "--out", out}, args...)...)
	var result solveResult
	if err := json.Unmarshal([]byte(got.Out), &result); err != nil {
		t.Fatalf("%v: exit %d, %v: %s%s", args, got.Code, err, got.Out, got.Errs)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return result, rows, got
}

func TestSolveCommand(t *testing.T) {
	result, rows, got := solved(t, twoChannels, "--nodes", "10", "--budget", "5", "--repeat", "3")
	if want := "[[channel rate width] [a 3 3] [b 2 2]]"; got.Code != cli.ExitDone || fmt.Sprint(rows) != want {
		t.Errorf("exit %d, rates %v, want %s", got.Code, rows, want)
	}
	if fmt.Sprintf("%.4f %.4f", result.DetectionS, result.Objective) != "330.0000 330.0000" || *result.Gap != 0 {
		t.Errorf("%+v: detection is not 900 s × (4/3 + 1/2) / 5", result)
	}
	if result.Load != 5 || result.Budget != 5 || !result.Feasible || result.BoundaryChannel == nil || result.SortMS < 0 || result.TimeMS.Read <= 0 {
		t.Errorf("%+v", result)
	}
}

// The fields are the contract's, no more and no less, in its order.
func TestSolveCommandFields(t *testing.T) {
	got := runCorona(t.Context(), twoChannels, "solve", "--in", "-", "--json")
	var fields []string
	for line := range strings.Lines(got.Out) {
		if name, _, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			fields = append(fields, strings.Trim(name, `"`))
		}
	}
	const want = "channels policy ladder objective bound gap detection_s detection_per_update_s load budget multiplier boundary_channel feasible time_ms read prepare solve write sort_ms"
	if strings.Join(fields, " ") != want {
		t.Errorf("fields %v\nwant   %s", fields, want)
	}
	if !strings.Contains(got.Out, `"boundary_channel": null`) { // one node: nothing is left to decide
		t.Errorf("printed %s", got.Out)
	}
}

var solveKinds = []string{
	"--policy=lite", "--policy=fast --target=3m", "--policy=fair", "--policy=fair-sqrt", "--policy=fair-log",
}

// skewed returns channels with Zipf-like subscribers, mixed sizes, intervals,
// hosts and bounds.
func skewed(rows int) string {
	r := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	b.WriteString("channel,subscribers,size_bytes,update_interval_s,host,min_rate,max_rate\n")
	for i := range rows {
		most := []string{"", "0", "9"}[i%3]
		fmt.Fprintf(&b, "c%d,%d,%d,%d,h%d,,%s\n", i, 900/(i+1), 500+r.IntN(90_000), 60+r.IntN(500_000), i%4, most)
	}
	return b.String()
}

func TestSolveGolden(t *testing.T) {
	var b strings.Builder
	for _, kind := range solveKinds {
		for _, more := range []string{"--budget=80", "--budget=80 --ladder=prefix:4", "--budget=80 --ladder=geometric:2", "--budget=5e6 --cost=bytes", "--budget=80 --host-cap=25"} {
			args := append(strings.Fields(kind+" "+more), "--nodes=64")
			result, rows, got := solved(t, skewed(12), args...)
			fmt.Fprintf(&b, "%s %s: exit %d\n  objective %.6g, bound %.6g, detection %.6g and %.6g, load %.6g of %.6g\n ",
				kind, more, got.Code, result.Objective, result.Bound, result.DetectionS, result.DetectionPerUpdate, result.Load, result.Budget)
			for _, row := range rows[1:] {
				rate, err := strconv.ParseFloat(row[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, " %.6g/%s", rate, row[2])
			}
			b.WriteString("\n")
		}
	}
	clitest.CheckGolden(t, "solve.txt", b.String())
}

func TestSolveForPeople(t *testing.T) {
	tests := []struct {
		name, stdin string
		code        int
		args        string
	}{
		{"two", twoChannels, cli.ExitDone, "--nodes 10 --budget 5"},
		{"hosts", skewed(40), cli.ExitDone, "--nodes 64 --host-cap 100 --cost bytes"},
		{"fast", skewed(40), cli.ExitDone, "--nodes 64 --policy fast --target 2m"},
		{"unmet", skewed(40), cli.ExitNo, "--nodes 8 --policy fast --target 1s"},
		{"budget", skewed(40), cli.ExitNo, "--budget 0.1"},
		{"idle", solveHeader + "a,0,1,1\n", cli.ExitDone, ""},
	}
	var b strings.Builder
	for _, test := range tests {
		got := runCorona(t.Context(), test.stdin, append([]string{"solve", "--in", "-"}, strings.Fields(test.args)...)...)
		if got.Code != test.code || got.Errs != "" {
			t.Errorf("%s: exit %d, want %d: %s", test.name, got.Code, test.code, got.Errs)
		}
		text, _, timed := strings.Cut(got.Out, "time  ")
		if !timed {
			t.Errorf("%s: no times in %s", test.name, got.Out)
		}
		fmt.Fprintf(&b, "%s: %s\n%s\n", test.name, test.args, text)
	}
	clitest.CheckGolden(t, "solve-people.txt", b.String())
}

// Whatever is solved: a row for each row, in order, no load over the budget, no
// objective under its bound, and the load is that of the rates.
func TestSolveProperties(t *testing.T) {
	input := skewed(500)
	in, err := csv.NewReader(strings.NewReader(input)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range solveKinds {
		for _, cost := range []string{"polls", "bytes"} {
			result, rows, got := solved(t, input, append(strings.Fields(kind), "--nodes=64", "--floor=10m", "--cost="+cost)...)
			if got.Code != cli.ExitDone || len(rows) != len(in) || result.Load > result.Budget || result.Bound > result.Objective {
				t.Errorf("%s %s: exit %d, %d rows of %d, %+v", kind, cost, got.Code, len(rows), len(in), result)
			}
			var load float64
			for i := range rows[1:] {
				rate, size := parsed(t, rows[i+1][1]), parsed(t, in[i+1][2])
				if cost == "polls" {
					size = 1
				}
				load += rate * size
				if rows[i+1][0] != in[i+1][0] || (rate > 0) != (in[i+1][1] != "0") || in[i+1][6] == "9" && rate > 9 {
					t.Fatalf("%s %s: row %v of %v", kind, cost, rows[i+1], in[i+1])
				}
			}
			if diff := load/result.Load - 1; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("%s %s: the rates cost %v, said are %v", kind, cost, load, result.Load)
			}
		}
	}
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The same channels in other clothes have the same rates.
func TestSolveForms(t *testing.T) {
	forms := map[string]string{
		"quoted":        strings.ReplaceAll(twoChannels, "a,4", `"a","4"`),
		"CRLF":          strings.ReplaceAll(twoChannels, "\n", "\r\n"),
		"BOM":           "\ufeff" + twoChannels,
		"no last end":   strings.TrimSuffix(twoChannels, "\n"),
		"blank lines":   strings.ReplaceAll(twoChannels, "\n", "\n\n"),
		"spaces":        strings.ReplaceAll(twoChannels, ",4,", ", 4 ,"),
		"decimals":      strings.ReplaceAll(twoChannels, ",4,", ",+4.0e0,"),
		"another order": "update_interval_s,size_bytes,channel,subscribers\n3600,100,a,4\n3600,100,b,1\n",
		"with host":     "channel,host,subscribers,size_bytes,update_interval_s\na,,4,100,3600\nb,h,1,100,3600\n",
	}
	for name, text := range forms {
		_, rows, got := solved(t, text, "--nodes", "10", "--budget", "5")
		if want := "[[channel rate width] [a 3 3] [b 2 2]]"; fmt.Sprint(rows) != want || got.Errs != "" {
			t.Errorf("%s: rates %v, want %s; %s", name, rows, want, got.Errs)
		}
	}
}

// Names that CSV must quote come out as they went in.
func TestSolveQuotesNames(t *testing.T) {
	names := []string{`say "x", y`, "two\nlines", "https://a.example/?q=1,2", " plain ", "ünï"}
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, name := range names {
		if err := w.Write([]string{name, "1", "1", "60"}); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	_, rows, _ := solved(t, solveHeader+b.String())
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[0])
	}
	if !slices.Equal(got, names) {
		t.Errorf("names %q, want %q", got, names)
	}
}

func TestSolveFile(t *testing.T) {
	in := clitest.TextFile(t, "channels.csv", strings.Replace(twoChannels, "_s\n", "_s,colour\n", 1))
	got := runCorona(t.Context(), "", "solve", "--in", in, "--repeat", "2")
	if got.Code != cli.ExitUsage || !strings.Contains(got.Errs, in+": line 2, column colour: is missing") {
		t.Errorf("exit %d, %q", got.Code, got.Errs)
	}
	in = clitest.TextFile(t, "channels.csv", "colour,"+solveHeader+"red,a,1,1,60\n")
	got = runCorona(t.Context(), "", "solve", "--in", in, "--repeat", "2")
	if got.Code != cli.ExitDone || !strings.Contains(got.Errs, `column "colour" means nothing`) || !strings.Contains(got.Out, "1 channel") {
		t.Errorf("exit %d, %q\n%s", got.Code, got.Errs, got.Out)
	}
	if got = runCorona(t.Context(), "", "solve", "--in", in, "--out", in); got.Code != cli.ExitUsage || !strings.Contains(got.Errs, "is the file that --in reads") {
		t.Errorf("over its input: exit %d, %q", got.Code, got.Errs)
	}
}
