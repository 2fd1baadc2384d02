package local

import (
	"math"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

// A grid divides the logarithm of keys into cells whose edges are the same for all
// ranges. Each cell of a coarser grid is two of a finer one, so that merging clusters
// repeatedly adds no error.
type grid struct {
	step  float64
	first int
}

// finest is the smallest step of a grid, in natural logarithms.
const finest = 1.0 / 1024

// gridOver returns the finest grid that has keys from least to most within
// [Bins] cells.
func gridOver(least, most float64) grid {
	for step := finest; ; step *= 2 {
		g := grid{step: step}
		g.first = g.index(least)
		if g.index(most)-g.first < Bins {
			return g
		}
	}
}

func (g grid) index(key float64) int { return int(math.Floor(math.Log(key) / g.step)) }

// cell returns the number of a key's cell, from 0 to Bins−1.
func (g grid) cell(key float64) int { return g.index(key) - g.first }

// edges are the least and the most key of a cell.
func (g grid) edges(cell int) (least, most float64) {
	return math.Exp(float64(g.first+cell) * g.step), math.Exp(float64(g.first+cell+1) * g.step)
}

// Merge puts summaries of parts together into one of the same size: clusters with
// similar keys become one, all else adds up. The multiplier and the limit of a plan
// are left out: they are of one range.
func Merge(parts ...Summary) Summary {
	var all Summary
	least, most := math.Inf(1), 0.0
	for _, part := range parts {
		all.FixedLoad += part.FixedLoad
		all.FixedWait += part.FixedWait
		all.Subscribers += part.Subscribers
		all.Auto += part.Auto
		for _, c := range part.Clusters {
			least, most = min(least, c.Least), max(most, c.Most)
		}
	}
	if most == 0 {
		return all
	}
	var cells [Bins]Cluster
	g := gridOver(least, most)
	for _, part := range parts {
		for _, c := range part.Clusters {
			g.put(&cells, c)
		}
	}
	all.Clusters = notEmpty(cells[:])
	return all
}

// put adds a cluster to the cells that it lies in: to several by its stand-ins.
func (g grid) put(cells *[Bins]Cluster, c Cluster) {
	if from := g.cell(c.Least); from == g.cell(c.Most) {
		cells[from].join(c)
		return
	}
	var standIns honeycomb.StandIns
	c.standIns(&standIns, 1, 1)
	half := math.Exp(math.Log(c.Most/c.Least) / StandIns / 2)
	for k, key := range standIns.Key {
		cell := min(max(g.cell(key), 0), Bins-1)
		least, most := g.edges(cell)
		cost := standIns.Cost[k]
		cells[cell].join(Cluster{Cost: cost, Root: cost * math.Sqrt(key), Least: max(key/half, least), Most: min(key*half, most)})
	}
}

// join adds another cluster.
func (c *Cluster) join(o Cluster) {
	if c.Cost == 0 {
		*c = o
		return
	}
	c.Cost += o.Cost
	c.Root += o.Root
	c.Least, c.Most = min(c.Least, o.Least), max(c.Most, o.Most)
}
