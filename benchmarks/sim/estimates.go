package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// An Estimate is what policy fair, our way, makes of some knowledge of update
// intervals. Times are seconds, the load polls per interval and channel.
type Estimate struct {
	Knowledge string  `json:"knowledge"`
	Detection float64 `json:"detection_s"`
	PerUpdate float64 `json:"detection_per_update_s"`
	// Planned is what PerUpdate would be at the last rates: the rest is what
	// changing them costs.
	Planned float64 `json:"planned_per_update_s"`
	Load    float64 `json:"load"`
	// Error is the mean of |log(estimate/truth)| of channels at the end: 0.69 is
	// a factor of two.
	Error float64 `json:"error"`
}

// A knowledge is how owners come to know update intervals.
type knowledge struct {
	name string
	with func(o Options, w *workload, r *ranges)
}

var knowledges = []knowledge{
	{"known", func(Options, *workload, *ranges) {}},
	{"learned from polls", func(o Options, w *workload, r *ranges) {
		r.intervals = slices.Repeat([]float64{honeycomb.LongestInterval}, o.Channels)
		r.learn = newLearner(o, w, r).interval
	}},
	{"off by a random factor", func(_ Options, w *workload, r *ranges) {
		r.intervals = slices.Clone(w.updateInterval)
		for c := range r.intervals {
			r.intervals[c] *= math.Exp(w.normal(forTie, uint64(c)))
		}
	}},
	{"unknown", func(o Options, _ *workload, r *ranges) {
		r.intervals = slices.Repeat([]float64{honeycomb.LongestInterval}, o.Channels)
	}},
}

func runEstimate(j *job, o Options, w *workload, k knowledge) Estimate {
	q := steady{w, o.Interval}
	r := newRanges(o, w, q, scheme{policy: honeycomb.Fair, floor: shortFloor.floor}.config(o))
	k.with(o, w, r)
	r.run(j.step)
	m := measure(o, w, q, r.polling)
	e := Estimate{Knowledge: k.name, Detection: m.Detection, PerUpdate: m.PerUpdate, Load: m.Load}
	rates := make([]float64, o.Channels)
	fill(rates, r.width)
	_, e.Planned, _ = w.planned(o.Interval, rates)
	for c, u := range r.intervals {
		known := min(max(u, honeycomb.ShortestInterval), honeycomb.LongestInterval)
		e.Error += math.Abs(math.Log(known/w.updateInterval[c])) / float64(o.Channels)
	}
	return e
}

// A learner sees what polls see, and estimates.
type learner struct {
	ranges    *ranges
	updates   [][]time.Duration // of each channel, those yet to be seen
	last      []time.Duration   // poll of each channel
	changed   []time.Duration   // last poll of each channel that showed a change
	histories []honeycomb.History
}

func newLearner(o Options, w *workload, r *ranges) *learner {
	n := o.Channels
	l := &learner{r, make([][]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n), make([]honeycomb.History, n)}
	for c := range l.updates {
		l.updates[c] = w.ownUpdates(nil, c, o.horizon())
	}
	return l
}

// interval looks at the polls of a channel since the last time, and returns its
// estimated update interval in seconds.
func (l *learner) interval(c int, now time.Duration) float64 {
	line := &l.ranges.timelines[c]
	for {
		wait := line.wait(l.last[c] + 1)
		poll := l.last[c] + 1 + wait
		if wait == never || poll >= now {
			return l.histories[c].Interval((now - l.changed[c]).Seconds())
		}
		seen, _ := slices.BinarySearch(l.updates[c], poll+1)
		if seen > 0 {
			l.histories[c].Changed((l.last[c] - l.changed[c]).Seconds(), (poll - l.last[c]).Seconds())
			l.changed[c] = poll
		}
		l.updates[c], l.last[c] = l.updates[c][seen:], poll
	}
}

func (b *Beyond) estimateReport() []report.Section {
	t := report.Table{Header: []string{"update intervals are", "measured s", "per update s", "planned s", "load", "mean error, factor"}}
	measured := report.Series{Name: "measured", Dots: true}
	planned := report.Series{Name: "planned at the last rates", Dots: true}
	plot := report.Plot{Title: "Wait per update, policy fair", X: "update intervals are", Y: "seconds"}
	for i, e := range b.Estimates {
		plot.Names = append(plot.Names, e.Knowledge)
		measured.X, measured.Y = append(measured.X, float64(i)), append(measured.Y, e.PerUpdate)
		planned.X, planned.Y = append(planned.X, float64(i)), append(planned.Y, e.Planned)
		t.Rows = append(t.Rows, []string{e.Knowledge, decimal(e.Detection), decimal(e.PerUpdate), decimal(e.Planned), decimal(e.Load), decimal(math.Exp(e.Error))})
	}
	plot.Series = []report.Series{measured, planned}
	return []report.Section{{
		Heading: "Wrong estimates",
		Paragraphs: []string{fmt.Sprintf("Policy fair, our way, with a floor of %s, where update intervals are known; learned from what polls see, a week until ten polls or two changes; wrong by a log-normal factor (a standard deviation of e); not known at all, all taken for a week, which is lite. From two maintenance intervals on, in %g hours.", span(shortFloor.floor), b.options.Hours),
			"What counts is the wait per update. A short run favours what is learned early; channels that have not changed yet are rightly taken to change rarely. " +
				"Planned is the wait per update at the last rates, did they stand: what lies between is the cost of changing rates, and of having known less before."},
		Table: t, Plots: []report.Plot{plot},
	}}
}
