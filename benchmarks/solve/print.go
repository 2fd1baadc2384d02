//go:build unix

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// print writes the cells as a table: milliseconds, and what they are compared
// with.
func (r *result) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d processors, load %s\n\n", r.Date, r.Processors, r.Load)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "channels\tpolicy\tladder\tcost\tcaps\tread\tprepare\tsolve\twrite\tsort\tof sort\tgrowth\tgap\tMB\t")
	for i, c := range r.Cells {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%.0f\t%.1f\t%.1f\t%.0f\t%.1f\t%.2f\t%s\t%.1e\t%.0f\t\n",
			c.Channels, c.Policy, c.Ladder, c.Cost, c.caps(), c.Time.Read, c.Time.Prepare, c.Time.Solve, c.Time.Write,
			c.Sort, c.work()/c.Sort, r.growth(i), c.Gap, float64(c.MaxRSS)/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, b := range r.BadRows {
		fmt.Fprintf(w, "%d channels, then %s\n  code %d: %s\n", b.Channels, b.Row, b.Code, b.Said)
	}
	return nil
}

func (c cell) caps() string {
	switch {
	case !c.Feasible:
		return "unmet"
	case c.HostCap > 0:
		return "hosts"
	}
	return ""
}

// work is what preparing and solving take together.
func (c cell) work() float64 { return c.Time.Prepare + c.Time.Solve }

// growth is how many times as long a problem takes as the same with fewer
// channels, the next smaller file's.
func (r *result) growth(i int) string {
	for _, before := range r.Cells[:i] {
		like := before.problem
		like.Channels, like.HostCap = r.Cells[i].Channels, 0
		this := r.Cells[i].problem
		this.HostCap = 0
		capped := (before.HostCap > 0) == (r.Cells[i].HostCap > 0)
		if like == this && capped && before.Channels*10 == r.Cells[i].Channels {
			return fmt.Sprintf("%.1f", r.Cells[i].work()/before.work())
		}
	}
	return ""
}
