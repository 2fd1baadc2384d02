package sim

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
)

// meanWait is the mean wait of updates within [from, to) of some channels, each
// channel's mean first, then weighted by their subscribers before any crowd.
func meanWait(o Options, w *workload, of func(c int) polling, some []bool, from, to time.Duration) float64 {
	var sums means
	var updates []time.Duration
	for c := range some {
		if !some[c] {
			continue
		}
		p := of(c)
		var wait, n float64
		updates = w.updates(updates[:0], c, o.horizon())
		for _, at := range updates {
			if from <= at && at < to {
				wait += p.wait(at).Seconds()
				n++
			}
		}
		sums.add(w.subscribers[c], w.updateInterval[c], wait/max(n, 1), 0)
	}
	detection, _, _ := sums.result()
	return detection
}

// floorWords explain why ours is shown at two floors.
const floorWords = "Ours is shown with a floor of the whole interval, as in the paper, where a poller that has just polled may not again when rates rise, " +
	"and with the floor of five minutes that nodes have unless told otherwise."

func (b *Beyond) churnReport() []report.Section {
	return []report.Section{{
		Heading: "Nodes die and join",
		Paragraphs: []string{fmt.Sprintf("After %s %.0f %% of the nodes die at once; after %s as many join again. The paper's way: a dead poller is not replaced, since wedges are all nodes with a prefix; "+
			"new owners go on from the old ones' state, newcomers are brought in at their contacts' next maintenance, and begin within an interval. Ours: deaths are noticed after %s, and the next nodes of the rendezvous order have the free ranks from then on. "+floorWords,
			span(eventAt), 100*deadShare, span(rejoinAt), span(membershipDelay))},
		Table: coursesTable(b.Churn), Plots: coursesPlots(b.Churn),
	}}
}

func (b *Beyond) flashReport() []report.Section {
	return []report.Section{{
		Heading: "Flash crowd",
		Paragraphs: []string{fmt.Sprintf("After %s %.0f %% of the channels, drawn at random, have %d times as many subscribers. Readers alone bring all of it to the origins, and lite's budget, which is what readers would cause, follows; "+
			"fast, which keeps a target, asks for hardly more (paper, section 3.1). "+floorWords, span(eventAt), 100*hitShare, hitTimes)},
		Table: coursesTable(b.Flash), Plots: coursesPlots(b.Flash),
	}}
}

// floor is what a scheme keeps between two polls of a channel by one node, where
// that is not the interval.
func (c Course) floor() string {
	if c.Floor == 0 {
		return "–"
	}
	return span(time.Duration(c.Floor * float64(time.Second)))
}

func coursesTable(courses []Course) report.Table {
	t := report.Table{Header: []string{"scheme", "ladder", "floor", "before s", "worst s", "after s", "load before", "most", "after", "hit before s", "after s"}}
	for _, c := range courses {
		before, after := "–", "–"
		if c.Hit != nil {
			before, after = decimal(c.Hit.Before), decimal(c.Hit.After)
		}
		t.Rows = append(t.Rows, []string{c.Scheme, c.Ladder, c.floor(), decimal(c.Before.Detection), decimal(c.Worst.Detection), decimal(c.After.Detection),
			decimal(c.Before.Load), decimal(c.Worst.Load), decimal(c.After.Load), before, after})
	}
	return t
}

func coursesPlots(courses []Course) []report.Plot {
	wait := report.Plot{Title: "Update detection time", X: "hours", Y: "seconds", LogY: true}
	load := report.Plot{Title: "Load", X: "hours", Y: "polls per interval and channel"}
	for _, c := range courses {
		r := Row{Scheme: c.Scheme, Ladder: c.Ladder, Measured: &Measured{Series: c.Points}}
		waits, loads := r.over(detectionOf), r.over(loadOf)
		if c.Floor > 0 {
			waits.Name += ", floor " + c.floor()
			loads.Name = waits.Name
		}
		wait.Series = append(wait.Series, waits)
		load.Series = append(load.Series, loads)
	}
	return []report.Plot{wait, load}
}
