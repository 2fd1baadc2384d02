package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
	"github.com/seed-91e7e7c1/corona/benchmarks/sim/report"
)

func (b *Beyond) scaleReport() []report.Section {
	s := b.Scale
	figures := report.Table{Header: []string{"per node"}}
	for _, size := range s.Sizes {
		figures.Header = append(figures.Header, fmt.Sprintf("%d nodes, %s channels", size.Nodes, count(size.Channels)))
	}
	figures.Header = append(figures.Header, "unit", "growth", "goes with")
	for _, f := range s.Figures {
		row := []string{f.Name}
		for _, v := range f.PerNode {
			row = append(row, significant(v))
		}
		figures.Rows = append(figures.Rows, append(row, f.Unit, fmt.Sprintf("%.3f", f.Growth), f.Goes))
	}
	return []report.Section{
		{Heading: "Past these machines: clusters", Paragraphs: s.words(b.options), Table: s.sizes()},
		{Heading: "Past these machines: what each node holds, sends and computes", Paragraphs: s.why(), Table: figures},
		{Heading: s.verdict(), Table: s.costs()},
	}
}

func (s *Scale) verdict() string {
	switch {
	case len(s.Sizes) < 2:
		return "One size: whether anything grows takes 6 nodes and more. Costs, measured live:"
	case s.Level:
		return "Nothing grows with the number of all channels: what goes with a node's share stays level. Costs, measured live:"
	}
	return "NOT LEVEL: something that goes with a node's share grows. Costs, measured live:"
}

func (s *Scale) sizes() report.Table {
	t := report.Table{Header: []string{"nodes", "channels", "subscriptions", "ranges", "load", "budget", "planned wait, s", "pollers of a channel"}}
	for _, z := range s.Sizes {
		t.Rows = append(t.Rows, []string{strconv.Itoa(z.Nodes), strconv.Itoa(z.Channels), fmt.Sprintf("%.0f", z.Subscriptions), strconv.Itoa(z.Ranges),
			decimal(z.Load), decimal(z.Budget), decimal(z.Detection), decimal(z.Width)})
	}
	return t
}

func (s *Scale) costs() report.Table {
	t := report.Table{Header: []string{"cost", "value", "unit", "measured", "by"}}
	add := func(name string, value float64, unit string, run costs.Run) {
		t.Rows = append(t.Rows, []string{name, significant(value), unit, run.Measured, run.Command})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Costs.Figures)) {
		f := s.Costs.Figures[name]
		add(name, f.Value, f.Unit, f.Run)
	}
	for _, i := range s.Costs.Idle {
		what := fmt.Sprintf("idle node, %d nodes, %d ranges: ", i.Nodes, i.Ranges)
		add(what+"processor", i.Processor, "cores", i.Run)
		add(what+"sent", i.Sent, "B/s", i.Run)
		add(what+"memory", i.Resident/megabyte, "MB", i.Run)
	}
	for _, c := range s.Costs.Changes {
		add(fmt.Sprintf("change, %.2f messages: processor", c.Hops), c.Processor, "seconds", c.Run)
	}
	return t
}

func (s *Scale) words(o Options) []string {
	return []string{
		fmt.Sprintf("Nodes and channels grow alike; 16 ranges or some ten a node, at most %d, three replicas of each. Popularity is Zipf with exponent %g, policy lite, an automatic budget, a floor of %s at an interval of %s, maintenance each %s; seed %d.",
			mostRanges, zipfExponent, span(shortFloor.floor), span(o.Interval), span(nodesMaintenance), o.Seed),
		"All channels are looked at; those of one node's ranges are kept, and that node plans for them as nodes do: exactly, beside 16 tradeoff clusters of each other range, which are its own ranges' again, until plans have settled. Its channels give all nodes seats by the nodes' own rendezvous hashing, and orders are encoded as nodes encode them.",
		"Everything else is a cost measured live, times how often it occurs. Costs of another number of nodes than were run are a straight line through what was measured.",
	}
}

func (s *Scale) why() (words []string) {
	for _, f := range s.Figures {
		words = append(words, f.Name+": "+f.Why+".")
	}
	return words
}

// significant writes four digits.
func significant(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// count writes millions as such.
func count(n int) string {
	if n >= 1_000_000 {
		return strconv.FormatFloat(float64(n)/1e6, 'g', 4, 64) + "M"
	}
	return strconv.Itoa(n)
}
