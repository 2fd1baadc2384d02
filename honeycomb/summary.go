package honeycomb

import (
	"math"
	"slices"
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

// Summarise describes the problem's own channels, as last solved. Its clusters
// are equal parts of the logarithm of keys.
func (p *Problem) Summarise() Summary {
	s := Summary{Subscribers: p.subscribers.value(), Auto: p.auto.value(), Lambda: p.last.lambda, Limit: p.limit()}
	least, most := math.Inf(1), 0.0
	for i, key := range p.columns.key[:len(p.crowd)] {
		if p.columns.weight[i] == 0 {
			continue
		}
		n := p.path.rung[i]
		load, wait := p.columns.loadOf(i, n), p.columns.waitOf(i, n)
		s.Planned += load
		s.Wait += wait
		if p.fixed(i) {
			s.FixedLoad += load
			s.FixedWait += wait
			continue
		}
		least, most = min(least, key), max(most, key)
	}
	parts := Bins / max(math.Log(most/least), closed)
	s.Clusters = p.clusters(func(i int) int { return int(math.Log(p.columns.key[i]/least) * parts) })
	return s
}

// fixed says whether a channel is held by a bound that is not the ladder's.
func (p *Problem) fixed(i int) bool {
	lo, hi := p.columns.bounds(i)
	n := p.path.rung[i]
	return n == hi && hi < p.columns.rungs.top || n == lo && lo > 0
}

// clusters adds up the channels that follow the multiplier, by a number that is
// taken for the nearest from 0 to Bins−1 and rises with the key.
func (p *Problem) clusters(number func(i int) int) []Cluster {
	var all [Bins]Cluster
	for i, key := range p.columns.key[:len(p.crowd)] {
		if p.columns.weight[i] == 0 || p.fixed(i) {
			continue
		}
		cost := p.columns.costOf(i)
		all[min(max(number(i), 0), Bins-1)].join(Cluster{Cost: cost, Root: math.Sqrt(p.columns.weight[i] * cost), Least: key, Most: key})
	}
	return notEmpty(all[:])
}

func notEmpty(clusters []Cluster) []Cluster {
	return slices.DeleteFunc(clusters, func(c Cluster) bool { return c.Cost == 0 })
}

// spread is how many stand-ins a cluster is solved as.
const spread = 32

// standIns appends channels that follow a multiplier as the cluster's do: keys
// evenly spaced in logarithm between its least and its most, the shares that they
// stand for by a power of the key, as popularity is spread: the power at which
// load and wait of rates that nothing holds are exact. Loads and waits are
// factors times the cluster's.
func (c Cluster) standIns(to *columns, load, wait float64) {
	step := math.Log(c.Most/c.Least) / spread
	roots := c.roots(step)
	power := c.power(step, &roots)
	mean, shares := weigh(&roots, power)
	scale := c.Root / c.Cost / mean // of what is left: the mean may lie at the range's very end
	share := c.Cost / shares
	for _, root := range roots {
		key := root * root * scale * scale
		to.key = append(to.key, key)
		to.cost = append(to.cost, share*load)
		to.weight = append(to.weight, key*share*wait)
		share *= power
	}
}

// roots are the square roots of the stand-ins' keys.
func (c Cluster) roots(step float64) (roots [spread]float64) {
	root, factor := math.Sqrt(c.Least*math.Exp(step/2)), math.Exp(step/2)
	for k := range roots {
		roots[k] = root
		root *= factor
	}
	return roots
}

// power returns by which factor the shares of neighbouring stand-ins differ.
func (c Cluster) power(step float64, roots *[spread]float64) float64 {
	if step < closed {
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
func weigh(roots *[spread]float64, power float64) (mean, shares float64) {
	share, sum := 1.0, 0.0
	for _, root := range roots {
		sum += share * root
		shares += share
		share *= power
	}
	return sum / shares, shares
}

// at returns the load and wait that a summary's clusters stand for at a
// multiplier.
func (s Summary) at(r *rungs, lambda float64) (load, wait float64) {
	c := &columns{rungs: r, ceiling: r.top}
	for _, cluster := range s.Clusters {
		cluster.standIns(c, 1, 1)
	}
	load, _ = c.at(goal{}, lambda)
	wait, _ = c.at(goal{wait: true}, lambda)
	return load, wait
}
