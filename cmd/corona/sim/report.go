package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// checkReport refuses a report that cannot be written before a simulation of a
// minute is done.
func (f *simFlags) checkReport() error {
	switch {
	case f.report == "":
		return nil
	case filepath.Ext(f.report) != ".html":
		return fmt.Errorf("--report %s: want a name that ends in .html; .csv and .json are written beside it", f.report)
	}
	if info, err := os.Stat(filepath.Dir(f.report)); err != nil || !info.IsDir() {
		return fmt.Errorf("--report %s: there is no such folder", f.report)
	}
	return nil
}

// write writes page, CSV and JSON when asked to.
func (f *simFlags) write(result simResult, page report.Report) error {
	if f.report == "" {
		return nil
	}
	stem := strings.TrimSuffix(f.report, ".html")
	return errors.Join(
		writeFile(f.report, page.WriteHTML),
		writeFile(stem+".csv", page.WriteCSV),
		writeFile(stem+".json", func(w io.Writer) error { return cli.PrintJSON(w, result) }),
	)
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// simBar shows on a terminal how much of a simulation is done. Elsewhere it shows
// nothing.
type simBar struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

func newSimBar(w io.Writer, name string) *simBar {
	if !cli.IsTerminal(w) {
		return &simBar{}
	}
	container, begun := mpb.New(mpb.WithOutput(w)), time.Now()
	elapsed := decor.Any(func(decor.Statistics) string { return timespan.Text(time.Since(begun).Round(time.Second)) }, decor.WCSyncSpace)
	return &simBar{container, container.AddBar(0, mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(decor.Percentage(), elapsed))}
}

// at says how much is done.
func (b *simBar) at(done, total int) {
	if b.bar != nil {
		b.bar.SetTotal(int64(total)+1, false) // the figures are not yet the end
		b.bar.SetCurrent(int64(done))
	}
}

// close takes the bar away: the figures follow.
func (b *simBar) close() {
	if b.bar != nil {
		b.bar.Abort(true)
		b.container.Wait()
	}
}
