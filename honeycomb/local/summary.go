package local

import (
	"math"
	"slices"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// Bins is how many clusters one range tells the others about.
const Bins = 16

// A Summary is what the owner of a range tells the others, instead of its
// channels: enough to know how its load and wait follow the multiplier.
type Summary struct {
	Clusters []Cluster // by rising key, at most Bins; not empty ones
	// Fixed channels do not follow the multiplier: they are at a bound of their
	// own, of their host, or of the overlay (the paper's orphans). Their load
	// and wait go off the limit.
	FixedLoad, FixedWait float64
	// Subscribers and Auto are exact: Σ q and Σ q·cost.
	Subscribers, Auto float64
	// Planned and Wait are Σ cost·rate and Σ weight/rate of the range's plan,
	// made at Lambda, weight/rate per unit of cost. All of them go with the
	// clusters, so that a reader can tell how far the clusters are off.
	Planned, Wait, Lambda float64
	// Wanted is what the range would plan had its owner's plan been free to grow: Planned
	// or more.
	Wanted float64
	// Limit is what the plans of all ranges together were to come to, as the
	// range saw it: the budget, for Fast the wait.
	Limit float64
}

// A Cluster stands for channels with similar keys, weight/cost, at least one.
type Cluster struct {
	Cost        float64 // Σ cost
	Root        float64 // Σ √(weight·cost): load and wait of rates that nothing holds
	Least, Most float64 // keys
}

// Summarise describes a problem's own channels, as last solved. Its clusters
// are equal parts of the logarithm of keys.
func Summarise(p *honeycomb.Problem) Summary {
	return SummariseParts(p, 1, func(int) int { return 0 })[0]
}

// SummariseParts is [Summarise] for parts of a problem's channels: a channel is of the
// part that its row has, 0 to parts−1, or of none for −1.
func SummariseParts(p *honeycomb.Problem, parts int, part func(row int) int) []Summary {
	totals := p.Totals()
	all := make([]Summary, parts)
	spans := make([]span, parts)
	for i := range all {
		all[i].Lambda, all[i].Limit = totals.Lambda, totals.Limit
		spans[i].least = math.Inf(1)
	}
	for c := range p.Planned() {
		i := part(c.Row)
		if i < 0 {
			continue
		}
		all[i].count(c)
		if !c.Fixed {
			spans[i].least, spans[i].most = min(spans[i].least, c.Key), max(spans[i].most, c.Key)
		}
	}
	for i := range spans {
		spans[i].divide()
	}
	cells := make([][Bins]Cluster, parts)
	for c := range p.Planned() {
		if i := part(c.Row); i >= 0 && !c.Fixed {
			cells[i][spans[i].cell(c.Key)].join(clusterOf(c))
		}
	}
	for i := range all {
		all[i].Wanted = all[i].Planned
		all[i].Clusters = notEmpty(cells[i][:])
	}
	return all
}

// count adds a channel to the sums.
func (s *Summary) count(c honeycomb.Planned) {
	s.Subscribers += c.Subscribers
	s.Auto += c.Subscribers * c.Cost
	s.Planned += c.Load
	s.Wait += c.Wait
	if c.Fixed {
		s.FixedLoad += c.Load
		s.FixedWait += c.Wait
	}
}

// clusterOf returns the cluster of one channel.
func clusterOf(c honeycomb.Planned) Cluster {
	return Cluster{Cost: c.Cost, Root: math.Sqrt(c.Weight * c.Cost), Least: c.Key, Most: c.Key}
}

// A span is the least and the most of keys.
type span struct {
	least, most float64
	parts       float64 // cells for each unit of the logarithm
}

func (s *span) divide() { s.parts = Bins / max(math.Log(s.most/s.least), alike) }

// cell returns in which of equal parts of a span's logarithm a key lies, 0 to Bins−1.
func (s *span) cell(key float64) int {
	return min(max(int(math.Log(key/s.least)*s.parts), 0), Bins-1)
}

// alike is the logarithm of a quotient of keys below which all keys count as one.
const alike = 1e-12

func notEmpty(clusters []Cluster) []Cluster {
	return slices.DeleteFunc(clusters, func(c Cluster) bool { return c.Cost == 0 })
}

// StandIns is how many stand-ins a cluster is solved as.
const StandIns = 32

// standIns appends channels that follow a multiplier as the cluster's do: their keys
// are evenly spaced in logarithm between its least and its most, and their shares
// follow a power of the key, as popularity does: the power at which load and wait of
// unbounded rates are exact. load and wait are factors on those of the cluster.
func (c Cluster) standIns(to *honeycomb.StandIns, load, wait float64) {
	step := math.Log(c.Most/c.Least) / StandIns
	roots := c.roots(step)
	power := c.power(step, &roots)
	mean, shares := weigh(&roots, power)
	scale := c.Root / c.Cost / mean // of what is left: the mean may lie at the range's very end
	share := c.Cost / shares
	for _, root := range roots {
		key := root * root * scale * scale
		to.Key = append(to.Key, key)
		to.Cost = append(to.Cost, share*load)
		to.Weight = append(to.Weight, key*share*wait)
		share *= power
	}
}

// roots are the square roots of the stand-ins' keys.
func (c Cluster) roots(step float64) (roots [StandIns]float64) {
	root, factor := math.Sqrt(c.Least*math.Exp(step/2)), math.Exp(step/2)
	for k := range roots {
		roots[k] = root
		root *= factor
	}
	return roots
}

// power returns by which factor the shares of neighbouring stand-ins differ.
func (c Cluster) power(step float64, roots *[StandIns]float64) float64 {
	if step < alike {
		return 1
	}
	low, high := 1.0/4, 4.0
	for range 30 {
		middle := math.Sqrt(low * high)
		if mean, _ := weigh(roots, middle); mean < c.Root/c.Cost {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}

// weigh returns the mean of roots, of which each counts power times as much as
// the one before, and what all count, the first counting 1.
func weigh(roots *[StandIns]float64, power float64) (mean, shares float64) {
	share, sum := 1.0, 0.0
	for _, root := range roots {
		sum += share * root
		shares += share
		share *= power
	}
	return sum / shares, shares
}

// standIns returns those of all clusters, uncalibrated.
func (s Summary) standIns() honeycomb.StandIns {
	var all honeycomb.StandIns
	for _, cluster := range s.Clusters {
		cluster.standIns(&all, 1, 1)
	}
	return all
}
