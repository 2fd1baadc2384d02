package solve

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// solveResult is what --json prints.
type solveResult struct {
	Channels           int        `json:"channels"`
	Policy             string     `json:"policy"`
	Ladder             string     `json:"ladder"`
	Objective          float64    `json:"objective"` // seconds; fast: the load
	Bound              float64    `json:"bound"`
	Gap                *float64   `json:"gap"` // null: the bound is 0, the objective is not
	DetectionS         float64    `json:"detection_s"`
	DetectionPerUpdate float64    `json:"detection_per_update_s"`
	Load               float64    `json:"load"`
	Budget             float64    `json:"budget"`
	Multiplier         float64    `json:"multiplier"`
	BoundaryChannel    *string    `json:"boundary_channel"` // null: no limit divides a step
	Feasible           bool       `json:"feasible"`
	TimeMS             phaseTimes `json:"time_ms"`
	SortMS             float64    `json:"sort_ms"`
}

func (s *solver) result() solveResult {
	r := solveResult{
		Channels: s.input.channels.Len(), Policy: s.config.Policy.String(), Ladder: s.config.Ladder.String(),
		Objective: s.solution.Objective, Bound: s.solution.Bound, Gap: gap(s.solution),
		Load: s.solution.Load, Budget: s.solution.Budget, Multiplier: s.solution.Lambda,
		Feasible: s.solution.Feasible,
		TimeMS: phaseTimes{
			Read:    medianOf(s.times, func(t phaseTimes) float64 { return t.Read }),
			Prepare: medianOf(s.times, func(t phaseTimes) float64 { return t.Prepare }),
			Solve:   medianOf(s.times, func(t phaseTimes) float64 { return t.Solve }),
			Write:   medianOf(s.times, func(t phaseTimes) float64 { return t.Write }),
		},
		SortMS: median(s.sorted),
	}
	r.DetectionS, r.DetectionPerUpdate = s.problem.Detection()
	if s.solution.Boundary >= 0 {
		name := string(s.input.names.at(s.solution.Boundary))
		r.BoundaryChannel = &name
	}
	return r
}

// gap returns how far an objective may be above the best.
func gap(s *honeycomb.Solution) *float64 {
	var gap float64
	switch {
	case s.Bound > 0:
		gap = s.Objective/s.Bound - 1
	case s.Objective > 0:
		return nil
	}
	return &gap
}

// printSolve explains a solution to people.
func printSolve(w io.Writer, s *solver, r solveResult) error {
	out := bufio.NewWriter(w)
	c := s.config
	cli.Fact(out, "solved", "%s, %d with subscribers: policy %s, ladder %s, %s, interval %s, floor %s",
		cli.Count(r.Channels, "channel"), s.solution.Polled, r.Policy, r.Ladder, cli.Count(c.Nodes, "node"), timespan.Text(c.Interval), timespan.Text(c.Floor))
	cli.Fact(out, "detection", "%s mean wait of a change, weighted by subscribers (at one poll an interval: %s)",
		timespan.Seconds(r.DetectionS), timespan.Text(c.Interval/2))
	cli.Fact(out, "", "%s weighted by how often channels change as well", timespan.Seconds(r.DetectionPerUpdate))
	cli.Fact(out, "load", "%s of %s %s per interval (%s)", amount(r.Load), amount(r.Budget), c.Cost, share(r.Load, r.Budget))
	printBound(out, c, r)
	printMultiplier(out, c, s.solution, r)
	if !r.Feasible {
		cli.Fact(out, "not feasible", "%s; these rates are the nearest", unmet(c, s.solution))
	}
	if s.files.out != "" {
		cli.Fact(out, "rates", "%d rows in %s", r.Channels, s.files.out)
	}
	cli.Fact(out, "time", "read %s, prepare %s, solve %s, write %s; sorting as many numbers %s",
		cli.TookText(r.TimeMS.Read), cli.TookText(r.TimeMS.Prepare), cli.TookText(r.TimeMS.Solve), cli.TookText(r.TimeMS.Write), cli.TookText(r.SortMS))
	return out.Flush()
}

func printBound(w io.Writer, c honeycomb.Config, r solveResult) {
	objective, bound := timespan.Seconds(r.Objective), timespan.Seconds(r.Bound)
	if c.Policy == honeycomb.Fast {
		objective, bound = amount(r.Objective)+" "+c.Cost.String(), amount(r.Bound)
	}
	if !r.Feasible {
		cli.Fact(w, "objective", "%s", objective)
		return
	}
	above := "unknown"
	if r.Gap != nil {
		above = fmt.Sprintf("%.2g %%", max(*r.Gap, 0)*100)
	}
	cli.Fact(w, "objective", "%s; no rates within the limits go below %s (gap %s)", objective, bound, above)
}

// printMultiplier says what another unit of cost would bring, and to whom.
func printMultiplier(w io.Writer, c honeycomb.Config, s *honeycomb.Solution, r solveResult) {
	unit := strings.TrimSuffix(c.Cost.String(), "s")
	switch {
	case r.Multiplier > 0:
		cli.Fact(w, "multiplier", "%.4g: seconds that one more %s per interval takes off all subscribers' weighted waits together", r.Multiplier, unit)
	case r.Feasible:
		cli.Fact(w, "multiplier", "0: more budget would change nothing, every channel has the highest rate that nodes, floor, its bounds and its host allow")
	}
	if r.BoundaryChannel != nil {
		cli.Fact(w, "boundary", "%s is next in line: the limit falls within its step", *r.BoundaryChannel)
	}
	if len(s.Hosts) > 0 {
		cli.Fact(w, "hosts", "%d are at their cap of %s polls per interval", len(s.Hosts), amount(c.HostCap))
	}
}

// unmet says which limits no rates keep.
func unmet(c honeycomb.Config, s *honeycomb.Solution) string {
	var why []string
	if s.Unmet.Budget {
		why = append(why, "even the lowest rates cost more than the budget")
	}
	if s.Unmet.Target {
		why = append(why, fmt.Sprintf("the target of %s is out of reach", timespan.Text(c.Target)))
	}
	if n := s.Unmet.Channels; n > 0 {
		why = append(why, fmt.Sprintf("channels outside their own bounds: %d", n))
	}
	if n := s.Unmet.Hosts; n > 0 {
		why = append(why, fmt.Sprintf("hosts whose lowest rates pass the cap: %d", n))
	}
	return strings.Join(why, ", ")
}

func amount(v float64) string {
	if v < 1e15 && v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}

func share(part, whole float64) string {
	if whole == 0 {
		return "nothing to share"
	}
	return fmt.Sprintf("%.2f %%", part/whole*100)
}
