package sim

import (
	"math"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
)

// A line is a cost that rises with the replicas that a node has and with the number of other
// nodes: coefficients of at least 0.
type line struct{ base, replica, peer float64 }

func (l line) of(replicas, peers float64) float64 {
	return l.base + l.replica*replicas + l.peer*peers
}

// idleCosts are those of a node without channels.
type idleCosts struct{ processor, sent, resident line }

func fitIdle(measured []costs.Idle) idleCosts {
	fit := func(of func(costs.Idle) float64) line {
		rows, values := make([][3]float64, len(measured)), make([]float64, len(measured))
		for i, m := range measured {
			rows[i], values[i] = [3]float64{1, m.Replicas(), float64(m.Nodes - 1)}, of(m)
		}
		x := leastSquares(rows, values)
		return line{x[0], x[1], x[2]}
	}
	return idleCosts{
		processor: fit(func(i costs.Idle) float64 { return i.Processor }),
		sent:      fit(func(i costs.Idle) float64 { return i.Sent }),
		resident:  fit(func(i costs.Idle) float64 { return i.Resident }),
	}
}

// changeCosts are what a change takes of all nodes together, in seconds: at all, and for each
// message about it between nodes.
type changeCosts struct{ base, hop float64 }

func fitChange(measured []costs.Change) changeCosts {
	rows, values := make([][3]float64, len(measured)), make([]float64, len(measured))
	for i, m := range measured {
		rows[i], values[i] = [3]float64{1, m.Hops}, m.Processor
	}
	x := leastSquares(rows, values)
	return changeCosts{x[0], x[1]}
}

// leastSquares is non-negative least squares for at most three unknowns: of all sets of
// unknowns that are not 0, the one with the least error whose solution is not negative.
func leastSquares(rows [][3]float64, values []float64) (best [3]float64) {
	least := math.Inf(1)
	for set := range 8 {
		x, ok := normal(rows, values, set)
		if !ok || min(x[0], x[1], x[2]) < 0 {
			continue
		}
		off := 0.0
		for i, row := range rows {
			d := row[0]*x[0] + row[1]*x[1] + row[2]*x[2] - values[i]
			off += d * d
		}
		if off < least {
			least, best = off, x
		}
	}
	return best
}

// normal solves the normal equations for the unknowns of a set, by Gauss and Jordan; false:
// they do not determine them.
func normal(rows [][3]float64, values []float64, set int) (x [3]float64, ok bool) {
	var m [3][4]float64
	for a := range 3 {
		if set>>a&1 == 0 {
			m[a][a] = 1 // the unknown is 0
			continue
		}
		for i, row := range rows {
			for b := range 3 {
				if set>>b&1 == 1 {
					m[a][b] += row[a] * row[b]
				}
			}
			m[a][3] += row[a] * values[i]
		}
	}
	for a := range 3 {
		if math.Abs(m[a][a]) < 1e-12 {
			return x, false
		}
		for b := range 3 {
			if f := m[b][a] / m[a][a]; b != a {
				for k := range 4 {
					m[b][k] -= f * m[a][k]
				}
			}
		}
	}
	for a := range 3 {
		x[a] = m[a][3] / m[a][a]
	}
	return x, true
}
