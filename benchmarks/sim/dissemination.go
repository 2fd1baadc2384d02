package sim

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// A Spread is how an update that one poller has found gets to all others of a
// level, along routing tables (paper, section 3.4): means over channels, but for
// the most hops of any.
type Spread struct {
	Level    int     `json:"level"`
	Pollers  float64 `json:"pollers"`
	Messages float64 `json:"messages"`
	Hops     float64 `json:"hops"` // until one of the others has it
	MostHops int     `json:"most_hops"`
}

// spreadChannels is how many channels have their updates followed.
const spreadChannels = 100

// dissemination follows an update at every level at which channels share their
// pollers.
func (w *workload) dissemination() []Spread {
	all := ring.New(w.nodes)
	spreads := make([]Spread, all.Top())
	for level := range spreads {
		spreads[level] = w.spread(all, level)
	}
	return spreads
}

func (w *workload) spread(all *ring.Ring, level int) Spread {
	s := Spread{Level: level}
	var channels, hops float64
	for _, c := range evenly(len(w.ids), spreadChannels) {
		from, to := all.Wedge(w.ids[c], level)
		if from == to {
			continue // an orphan: it has no pollers to tell
		}
		channels++
		s.Pollers += float64(to - from)
		finder := from + int(w.at(forFate, uint64(c), 2)%uint64(to-from))
		for hop := range all.Tree(finder, level) {
			s.Messages++
			hops += float64(hop.Depth)
			s.MostHops = max(s.MostHops, hop.Depth)
		}
	}
	s.Hops = hops / max(s.Messages, 1)
	s.Pollers /= max(channels, 1)
	s.Messages /= max(channels, 1)
	return s
}

func spreadSection(spreads []Spread) report.Section {
	t := report.Table{Header: []string{"level", "pollers", "messages", "mean hops", "most hops"}}
	for _, s := range spreads {
		t.Rows = append(t.Rows, []string{fmt.Sprint(s.Level), decimal(s.Pollers), decimal(s.Messages), decimal(s.Hops), fmt.Sprint(s.MostHops)})
	}
	return report.Section{
		Heading:    "Dissemination along routing tables",
		Paragraphs: []string{fmt.Sprintf("How an update that one poller has found gets to the others of its level (section 3.4), followed for %d channels: every poller is told once, and in as many hops as the level's part of the ring has rows.", spreadChannels)},
		Table:      t,
	}
}
