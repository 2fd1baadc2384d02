package honeycomb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// zipf returns subscribers of n channels by rank, with a sum.
func zipf(n int, exponent, total float64) []float64 {
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

// workload is the paper's, of n channels in random order: 50 subscribers each,
// whole numbers, Zipf 0.5.
func workload(n int) Channels {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	ch := Channels{Subscribers: zipf(n, 0.5, 50*float64(n))}
	for i := range ch.Subscribers {
		ch.Subscribers[i] = max(math.Round(ch.Subscribers[i]), 1)
	}
	r.Shuffle(n, func(i, j int) {
		ch.Subscribers[i], ch.Subscribers[j] = ch.Subscribers[j], ch.Subscribers[i]
	})
	return ch
}

// mixed adds sizes, update intervals and hosts to a workload: a third of the
// channels on ten large hosts, the rest on hosts of their own.
func mixed(n int) Channels {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	ch := workload(n)
	ch.SizeBytes = make([]float64, n)
	ch.UpdateInterval = make([]float64, n)
	ch.Host = make([]int32, n)
	for i := range n {
		ch.SizeBytes[i] = math.Round(math.Exp(r.NormFloat64() + 9.5))
		ch.UpdateInterval[i] = math.Exp(r.Float64()*9 + 4)
		ch.Host[i] = int32(10 + i*9/10)
		if i%3 == 0 {
			ch.Host[i] = int32(r.IntN(10))
		}
	}
	return ch
}

func paperConfig() Config {
	return Config{Nodes: 1024, Interval: 30 * time.Minute}
}

// Question: does a solve of the special case take at most half of the time that
// sorting as many numbers does, and does it grow in proportion?
//
//	go test -run '^$' -bench 'Solve/|Sort/' -count 6 ./honeycomb | benchstat -
//
// What counts: Solve over Sort at a million channels (at most 0.5), and
// Solve at ten million over Solve at a million (at most 12).
func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			ch := workload(n)
			b.ReportAllocs()
			for b.Loop() {
				p, err := Prepare(paperConfig(), ch)
				if err != nil {
					b.Fatal(err)
				}
				p.Solve()
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			numbers, scratch := make([]float64, n), make([]float64, n)
			for i := range numbers {
				numbers[i] = rand.Float64()
			}
			for b.Loop() {
				copy(scratch, numbers)
				slices.Sort(scratch)
			}
		})
	}
}
