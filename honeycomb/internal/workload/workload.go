// Package workload makes the channels that tests of the solvers solve for. They follow
// from their number alone.
package workload

import (
	"math"
	"math/rand/v2"
)

// Zipf returns subscribers of n channels by rank, with a sum.
func Zipf(n int, exponent, total float64) []float64 {
	q := make([]float64, n)
	var all float64
	for i := range q {
		q[i] = math.Pow(float64(i+1), -exponent)
		all += q[i]
	}
	for i := range q {
		q[i] *= total / all
	}
	return q
}

// Subscribers returns the paper's, of n channels in random order: 50 each on average,
// whole numbers, Zipf 0.5.
func Subscribers(n int) []float64 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	q := Zipf(n, 0.5, 50*float64(n))
	for i := range q {
		q[i] = max(math.Round(q[i]), 1)
	}
	r.Shuffle(n, func(i, j int) { q[i], q[j] = q[j], q[i] })
	return q
}

// Mixed returns sizes (bytes), update intervals (seconds) and hosts of n channels: a
// third of them on ten large hosts, the rest on hosts of their own.
func Mixed(n int) (sizes, intervals []float64, hosts []int32) {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	sizes, intervals, hosts = make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range n {
		sizes[i] = math.Round(math.Exp(r.NormFloat64() + 9.5))
		intervals[i] = math.Exp(r.Float64()*9 + 4)
		hosts[i] = int32(10 + i*9/10)
		if i%3 == 0 {
			hosts[i] = int32(r.IntN(10))
		}
	}
	return sizes, intervals, hosts
}
