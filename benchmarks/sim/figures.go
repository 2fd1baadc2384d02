package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
)

// Figures are the paper's Figures 3 to 8, from the same simulations as its Table
// 2.
type Figures struct {
	Command string   `json:"command"` // that makes them again
	Figures []Figure `json:"figures"`
	Spread  []Spread `json:"dissemination"`
	rows    []Row
}

// A Figure is one of the paper's, with what the paper says of it.
type Figure struct {
	Number int         `json:"figure"`
	Paper  string      `json:"paper"`
	Plot   report.Plot `json:"plot"`
}

// RunFigures simulates, and draws, unless the context ends before.
func RunFigures(ctx context.Context, o Options) (*Figures, error) {
	table, err := RunTable2(ctx, o)
	if err != nil {
		return nil, err
	}
	w := newWorkload(o)
	figures := append(table.overTime(), table.byChannel(w)...)
	return &Figures{o.command("figures"), figures, w.dissemination(), table.Rows}, nil
}

// row finds a row. A ladder of "prefix:16" is the paper's.
func (t *Table2) row(scheme, ladder string) *Row {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Scheme == scheme && r.Ladder == ladder })
	return &t.Rows[i]
}

const (
	paperLadder = "prefix:16"
	ownLadder   = "any"
	noLadder    = "none"
)

// label names a row in a legend.
func (r *Row) label() string {
	switch r.Ladder {
	case paperLadder:
		return r.Scheme + ", paper's way"
	case ownLadder:
		return r.Scheme + ", ours"
	}
	return r.Scheme
}

func (r *Row) over(value func(Point) float64) report.Series {
	s := report.Series{Name: r.label(), Dashed: r.Ladder == ownLadder}
	for _, p := range r.Measured.Series {
		s.X = append(s.X, p.Hours)
		s.Y = append(s.Y, value(p))
	}
	return s
}

// reported is a figure that the paper gives of a scheme, as a line.
func reported(scheme string, value float64, o Options) report.Series {
	return report.Series{Name: fmt.Sprintf("%s, the paper's %g", scheme, value),
		X: []float64{0, o.Hours}, Y: []float64{value, value}, Reference: true}
}

func loadOf(p Point) float64      { return p.Load }
func detectionOf(p Point) float64 { return p.Detection }

// overTime draws Figures 3 and 4.
func (t *Table2) overTime() []Figure {
	load := report.Plot{Title: "Figure 3: load on content servers", X: "hours", Y: "polls per interval and channel"}
	wait := report.Plot{Title: "Figure 4: update detection time", X: "hours", Y: "seconds", LogY: true}
	for _, r := range []*Row{t.row("legacy", noLadder), t.row("lite", paperLadder), t.row("fast", paperLadder), t.row("lite", ownLadder), t.row("fast", ownLadder)} {
		load.Series = append(load.Series, r.over(loadOf))
		wait.Series = append(wait.Series, r.over(detectionOf))
	}
	for _, r := range []*Row{t.row("lite", paperLadder), t.row("fast", paperLadder)} {
		load.Series = append(load.Series, reported(r.Scheme, r.PaperLoad, t.options))
		wait.Series = append(wait.Series, reported(r.Scheme, r.PaperDetection, t.options))
	}
	return []Figure{
		{3, "Corona-Lite converges within two maintenance phases to the load of legacy clients, passing it for a short while; Corona-Fast ends above it.", load},
		{4, "Corona-Lite falls to about a minute, fifteen times less than legacy's 15 minutes; Corona-Fast comes close to its target of 30 seconds.", wait},
	}
}

// Points of a plot with a dot for a channel: more hide each other.
const (
	popularityDots = 1000
	intervalDots   = 200
)

// byChannel draws Figures 5 to 8.
func (t *Table2) byChannel(w *workload) []Figure {
	ranks := evenly(len(w.ids), popularityDots)
	chosen := w.byInterval(intervalDots)
	waits := func(r *Row) []float64 { return r.Measured.Waits }
	polls := func(r *Row) []float64 { return r.Measured.Polls }
	lite := []*Row{t.row("legacy", noLadder), t.row("lite", paperLadder), t.row("lite", ownLadder)}
	fair := []*Row{t.row("lite", paperLadder), t.row("fair", paperLadder), t.row("fair", ownLadder)}
	subtle := []*Row{t.row("fair-sqrt", paperLadder), t.row("fair-log", paperLadder), t.row("fair-sqrt", ownLadder), t.row("fair-log", ownLadder)}
	return []Figure{
		{5, "Corona-Lite polls popular channels with about 64 nodes, the less popular with about 4, orphans with one; the level changes after some 75,000 of 100,000 channels. Legacy polls in proportion to popularity.",
			dots("Figure 5: polls of each channel", "channels by popularity", "polls per interval", ranks, lite, polls, true)},
		{6, "Popular channels gain an order of magnitude more than unpopular ones.",
			dots("Figure 6: detection time of each channel", "channels by popularity", "seconds", ranks, lite, waits, true)},
		{7, "Corona-Lite ignores update intervals; with Corona-Fair, channels that change often are detected sooner than those that change rarely.",
			dots("Figure 7: detection time by update interval, fair", "channels by update interval", "seconds", chosen, fair, waits, false)},
		{8, "The square root and the logarithm take back Fair's bias against channels that change rarely; the logarithm leaves some that change often waiting long.",
			dots("Figure 8: detection time by update interval, fair-sqrt and fair-log", "channels by update interval", "seconds", chosen, subtle, waits, false)},
	}
}

// dots draws one value of each chosen channel: over its number, or over its place
// among the chosen.
func dots(title, x, y string, chosen []int, rows []*Row, value func(*Row) []float64, byNumber bool) report.Plot {
	p := report.Plot{Title: title, X: x, Y: y, LogY: true}
	for _, r := range rows {
		s := report.Series{Name: r.label(), Dots: true}
		for place, c := range chosen {
			if byNumber {
				place = c
			}
			s.X = append(s.X, float64(place+1))
			s.Y = append(s.Y, value(r)[c])
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// evenly returns at most n of the numbers from 0 to all−1, evenly spaced.
func evenly(all, n int) []int {
	n = min(n, all)
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = i * all / n
	}
	return chosen
}

// byInterval returns channels drawn evenly, by rising update interval and then
// falling popularity.
func (w *workload) byInterval(n int) []int {
	order := make([]int, len(w.ids))
	for c := range order {
		order[c] = c
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(w.unit(forSampling, uint64(a), 0), w.unit(forSampling, uint64(b), 0))
	})
	order = order[:min(n, len(order))]
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(w.updateInterval[a], w.updateInterval[b]), cmp.Compare(a, b))
	})
	return order
}

// Report shows the figures for people.
func (f *Figures) Report() report.Report {
	r := report.Report{Title: "Figures 3 to 8: Corona simulated", Command: f.Command}
	for _, figure := range f.Figures {
		r.Sections = append(r.Sections, report.Section{Heading: figure.Plot.Title,
			Paragraphs: []string{"The paper: " + figure.Paper}, Plots: []report.Plot{figure.Plot}})
	}
	r.Sections = append(r.Sections, spreadSection(f.Spread), report.Section{Heading: "The same runs in figures", Table: rowsTable(f.rows)})
	return r
}
