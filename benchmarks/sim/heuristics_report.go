package sim

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
)

// Report shows the comparison for people.
func (h *Heuristics) Report() report.Report {
	r := report.Report{Title: "Heuristics and the optimum", Command: h.Command,
		Sections: []report.Section{{Heading: "What is compared", Paragraphs: h.words(), Plots: []report.Plot{h.plot(paperLadder), h.plot(ownLadder)}}}}
	for _, rows := range h.settings() {
		r.Sections = append(r.Sections, settingSection(rows))
	}
	return r
}

// settings returns the rows of each setting.
func (h *Heuristics) settings() (all [][]HeuristicRow) {
	for from := 0; from < len(h.Rows); {
		to := from + 1
		for to < len(h.Rows) && h.Rows[to].setting() == h.Rows[from].setting() {
			to++
		}
		all = append(all, h.Rows[from:to])
		from = to
	}
	return all
}

// plot is Figure 2 of the article for one ladder: settings side by side.
func (h *Heuristics) plot(ladder string) report.Plot {
	p := report.Plot{Title: "Update detection time at ladder " + ladder, Y: "seconds, planned", LogY: true}
	for _, rows := range h.settings() {
		if rows[0].Ladder == ladder {
			p.Series = append(p.Series, settingSeries(rows, len(p.Series)))
		}
	}
	paper := report.Series{Name: "the paper's, equal sizes", Dots: true, Reference: true}
	for place, r := range h.settings()[0] {
		p.Names = append(p.Names, r.Scheme)
		if wait := paperWait(r.Scheme); ladder == paperLadder && wait > 0 {
			paper.X, paper.Y = append(paper.X, beside(place, len(p.Series))), append(paper.Y, wait)
		}
	}
	p.Series = append(p.Series, paper)
	return p
}

// beside is where a series has its dot, so that dots do not hide each other.
func beside(place, series int) float64 { return float64(place) + 0.12*float64(series-2) }

func settingSeries(rows []HeuristicRow, number int) report.Series {
	s := report.Series{Name: rows[0].Sizes + " sizes", Dots: true}
	if rows[0].HostCaps {
		s.Name += ", host caps"
	}
	for place, r := range rows {
		s.X, s.Y = append(s.X, beside(place, number)), append(s.Y, r.Detection)
	}
	return s
}

// paperWait is what the paper has of a scheme, in seconds, or 0. Of its rules of
// thumb it says that they are almost three times better than legacy.
func paperWait(scheme string) float64 {
	if scheme == "proportional" || scheme == "square-root" {
		return 300
	}
	return paperFigures[scheme][0]
}

// setting names what a row was tried on.
func (r HeuristicRow) setting() string {
	caps := "no caps of hosts"
	if r.HostCaps {
		caps = fmt.Sprintf("at most a poll each %s for a host", span(hostGap))
	}
	return fmt.Sprintf("Ladder %s, %s sizes, %s", r.Ladder, r.Sizes, caps)
}

func settingSection(rows []HeuristicRow) report.Section {
	s := report.Section{Heading: rows[0].setting(), Table: report.Table{Header: []string{"scheme", "planned s", "above optimum %", "load", "of the budget %"}}}
	for _, r := range rows {
		s.Table.Rows = append(s.Table.Rows, []string{r.Scheme, decimal(r.Detection), fmt.Sprintf("%.1f", 100*r.AboveOptimum), decimal(r.Load), fmt.Sprintf("%.1f", 100*r.Spent)})
	}
	return s
}

func (h *Heuristics) words() []string {
	return []string{
		fmt.Sprintf("%d nodes, %d channels, %d subscriptions, seed %d. Every scheme may spend what readers would alone; fast a third more. Rules of thumb poll in proportion to subscribers, to their square root, or all alike, "+
			"rounded down to what the ladder has and scaled until the budget is spent; they see neither sizes nor hosts, and where a host's channels pass its cap all of them are slowed by the same factor.",
			h.options.Nodes, h.options.Channels, h.options.Subscriptions, h.options.Seed),
		"Equal costs, any rate, no caps: polling in proportion to the square root of the subscribers is the optimum, by Lagrange's rule, and optimising gains nothing but what rounding leaves. " +
			"At the paper's levels, with the whole budget spent, a threshold on the subscribers decides the level, which any rising rule also gives: what a rule loses there it loses at its ends.",
		"Optimising pays where costs differ, where hosts have caps, for fast, and for the fair metrics (see table2). The paper's heuristics wait about three times less than legacy; it does not say how they were rounded or whether they spent the budget.",
		"Sizes are log-normal around a median of 39 KB, as of 80 feeds; with caps, 16 % of the channels sit on ten hosts, as of 36,515 small-web feeds.",
	}
}
