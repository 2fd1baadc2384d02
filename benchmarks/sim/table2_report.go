package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
)

// Report shows the table for people.
func (t *Table2) Report() report.Report {
	r := report.Report{
		Title:   "Table 2: update detection and load",
		Command: t.Command,
		Sections: []report.Section{
			{Heading: "Table 2", Paragraphs: t.howToRead(), Table: rowsTable(t.Rows)},
		},
	}
	for _, figure := range t.overTime() {
		r.Sections[0].Plots = append(r.Sections[0].Plots, figure.Plot)
	}
	return r
}

// howToRead explains the columns.
func (t *Table2) howToRead() []string {
	return []string{
		fmt.Sprintf("%d nodes, %d channels, %d subscriptions by Zipf with exponent %g, %g hours, an interval of %s, maintenance each %s, target of fast %s, seed %d.",
			t.options.Nodes, t.options.Channels, t.options.Subscriptions, zipfExponent, t.options.Hours, span(t.options.Interval), span(t.options.Maintenance), span(t.options.Target), t.options.Seed),
		"Measured: how long simulated updates wait for the first poll that comes after them, from two maintenance intervals on. " +
			"Model: what the paper's formula, τ/2n for n pollers, says of the levels or rates at the end. Loads are polls per interval and channel.",
		fmt.Sprintf("20 seeds: the model solved centrally and averaged over %d draws of node and channel IDs. At the paper's levels IDs decide which channels are orphans, polled by their owner alone: each of 256 wedges that happens to be empty adds 3.5 s to the mean.", seedsOfModel),
		"At prefix:16 the measured wait is longer than the model's, and that is no error of either: n pollers that begin at random times, as the paper has them, " +
			"leave a change waiting τ/(n+1) on average, not τ/2n (which only evenly spaced ones reach), and a wedge that is meant to hold N/16^l nodes holds more or fewer. " +
			"Pollers that take turns (staggered) are evenly spaced, so at ladder any model and measurement agree.",
		"Bound: no whole rates of the same load detect sooner, per subscription; and no rates that detect as soon cost less.",
	}
}

func rowsTable(rows []Row) report.Table {
	table := report.Table{Header: []string{"scheme", "ladder", "phases", "measured s", "model s", "20 seeds s", "paper s", "per update s", "bound s", "load", "load, 20 seeds", "load, paper", "least load"}}
	for _, r := range rows {
		table.Rows = append(table.Rows, []string{r.Scheme, r.Ladder, r.Phases,
			decimal(r.Detection), decimal(r.DetectionModel), paperCell(r.ModelMean, 2), paperCell(r.PaperDetection, 0), decimal(r.DetectionPerUpdate), decimal(r.Bound),
			decimal(r.Load), paperCell(r.LoadMean, 2), paperCell(r.PaperLoad, 2), decimal(r.BoundLoad)})
	}
	return table
}

// span writes a time without units of which there are none.
func span(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "m0s")
	if text == d.String() {
		return text
	}
	text = strings.TrimSuffix(text+"m", "h0m")
	if !strings.HasSuffix(text, "m") {
		text += "h"
	}
	return text
}

func decimal(v float64) string { return fmt.Sprintf("%.2f", v) }

// paperCell is a figure of the paper's, where it gives one.
func paperCell(v float64, digits int) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, v)
}
