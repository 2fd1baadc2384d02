// Package report writes what a run found as one page of HTML that opens without a network:
// no script, no font, no picture from elsewhere. It is readable on a phone, in light and
// dark.
package report

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
	"github.com/seed-91e7e7c1/corona/loadgen/run"
)

//go:embed report.tmpl
var files embed.FS

var page = template.Must(template.New("report.tmpl").Funcs(template.FuncMap{
	"number": number, "ms": ms, "percent": func(v float64) string { return number(100*v) + " %" },
	"mib": func(v int64) string { return number(float64(v)/(1<<20)) + " MiB" },
}).ParseFS(files, "report.tmpl"))

// Run is what a page is of.
type Run struct {
	*run.Outcome
	Scenario string // its YAML
	Command  string // that repeats it
}

// view is what the page shows.
type view struct {
	Run
	R           *result.Result
	OK          bool
	Charts      []chart
	Profiles    []profileView
	Environment string
}

// Write writes report.html into a folder.
func Write(folder string, r Run) error {
	shown := view{
		Run: r, R: r.Result, OK: r.Result.OK(), Charts: charts(r.Outcome), Profiles: readProfiles(folder, r.Profiles),
		Environment: fmt.Sprintf("%s, %d cores, %s/%s", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
	}
	file, err := os.Create(filepath.Join(folder, result.Report))
	if err != nil {
		return err
	}
	if err := page.Execute(file, shown); err != nil {
		file.Close()
		return fmt.Errorf("report: %w", err)
	}
	return file.Close()
}

// number writes a figure with four digits, and whole ones without an exponent.
func number(v float64) string {
	if math.Abs(v) >= 1000 && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// ms writes milliseconds.
func ms(v float64) string {
	if v >= 10_000 {
		return strconv.FormatFloat(v/1000, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " ms"
}
