package sim

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// A Skew is what clocks that are off do to pollers that take turns: policy lite
// at its optimal rates, each node's clock wrong by a time drawn evenly from
// within ±Seconds.
type Skew struct {
	Seconds   float64 `json:"skew_s"`
	Detection float64 `json:"detection_s"`
	// Above is how much longer the wait is than with exact clocks, relative.
	Above float64 `json:"above_exact"`
}

var skews = []time.Duration{0, 100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

func runSkew(o Options, w *workload) []Skew {
	p, err := honeycomb.Prepare(o.config(honeycomb.Lite, honeycomb.Any()), honeycomb.Channels{Subscribers: w.subscribers})
	if err != nil {
		panic(err) // the workload is ours, and checked
	}
	p.Solve()
	results := make([]Skew, len(skews))
	for i, most := range skews {
		m := measure(o, w, steady{w, o.Interval}, func(c int) polling {
			polls, intervals := honeycomb.Fraction(p.Rate(c))
			s := skewed{most: most, workload: w, channel: uint64(c)}
			s.floor = o.Interval
			s.set(0, o.Interval, overlay.Rate{Polls: polls, Intervals: intervals}, overlay.PhaseOf(w.ids[c]))
			return &s
		})
		results[i] = Skew{Seconds: most.Seconds(), Detection: m.Detection, Above: m.Detection/results[0].Detection - 1}
		if i == 0 {
			results[i].Above = 0
		}
	}
	return results
}

// skewed is a timeline of one segment whose ranks each come sooner or later than
// they should, always by the same.
type skewed struct {
	timeline
	most     time.Duration
	workload *workload
	channel  uint64
}

// wait looks at every slot that could come first after a change, given how far
// clocks are off.
func (s *skewed) wait(at time.Duration) time.Duration {
	only := &s.segments[0]
	soonest := never
	for k := only.after(at - s.most - 1); ; k++ {
		due := only.due(k)
		if soonest != never && due-s.most > soonest {
			return soonest - at
		}
		if poll := due + s.off(k%int64(only.slots.Width)); poll >= at {
			soonest = min(soonest, poll)
		}
	}
}

// off is how far the clock of a rank's node is off.
func (s *skewed) off(rank int64) time.Duration {
	if s.most == 0 {
		return 0
	}
	return s.workload.within(2*s.most, forClock, s.channel, uint64(rank)) - s.most
}

func (b *Beyond) skewReport() []report.Section {
	t := report.Table{Header: []string{"clocks off by up to, s", "measured s", "longer, %"}}
	longer := report.Series{Name: "lite, ours"}
	for _, s := range b.Skew {
		longer.X, longer.Y = append(longer.X, s.Seconds), append(longer.Y, 100*s.Above)
		t.Rows = append(t.Rows, []string{fmt.Sprint(s.Seconds), decimal(s.Detection), fmt.Sprintf("%.2f", 100*s.Above)})
	}
	return []report.Section{{
		Heading: "Clock skew",
		Paragraphs: []string{"Pollers take turns by their own clocks. Policy lite at its optimal rates; each node's clock is off by a time drawn evenly from within the bound, to either side. " +
			"Skew matters where it is as long as a slot, for the most popular channels: at worst phases are random, which doubles the wait of these."},
		Table: t,
		Plots: []report.Plot{{Title: "What clocks that are off cost", X: "off by up to, seconds", Y: "wait longer, %", Series: []report.Series{longer}}},
	}}
}
