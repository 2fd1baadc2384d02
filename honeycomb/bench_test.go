package honeycomb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb/internal/workload"
)

// channels is the paper's workload, of n channels in random order.
func channels(n int) Channels { return Channels{Subscribers: workload.Subscribers(n)} }

// mixed adds sizes, update intervals and hosts to it.
func mixed(n int) Channels {
	ch := channels(n)
	ch.SizeBytes, ch.UpdateInterval, ch.Host = workload.Mixed(n)
	return ch
}

// six divides channels among hosts of six, and a third of them among ten large ones.
func six(ch Channels) Channels {
	ch.Host = slices.Clone(ch.Host)
	for i, host := range ch.Host {
		if host >= 10 {
			ch.Host[i] = int32(10 + i/9)
		}
	}
	return ch
}

// bounded adds bounds to a tenth of the channels: a fifth of them are short feeds
// that overflow, the others' origins ask for fewer polls.
func bounded(ch Channels) Channels {
	r := rand.New(rand.NewPCG(3, uint64(ch.Len())))
	ch.MinRate, ch.MaxRate = make([]float64, ch.Len()), make([]float64, ch.Len())
	for i := range ch.Len() {
		switch x := r.Float64(); {
		case x < 0.02:
			ch.MinRate[i] = float64(2 + r.IntN(5))
		case x < 0.1:
			ch.MaxRate[i] = pick(r, 0.25, 0.5, 1, 4)
		}
	}
	return ch
}

func paperConfig() Config {
	return Config{Nodes: 1024, Interval: 30 * time.Minute}
}

// reportProcessor reports the processor time of an operation, from its call to
// the function that it returns: the ratios of it hold on a busy machine too.
func reportProcessor(b *testing.B) (end func()) {
	begun := processor(b)
	return func() {
		b.ReportMetric(float64((processor(b)-begun).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
	}
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
			ch := channels(n)
			b.ReportAllocs()
			defer reportProcessor(b)()
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
			defer reportProcessor(b)()
			for b.Loop() {
				copy(scratch, numbers)
				slices.Sort(scratch)
			}
		})
	}
}

// Question: what do other policies, costs, ladders, bounds and caps of hosts add
// to a solve of a million channels?
//
//	go test -run '^$' -bench 'SolveKinds|Sort/channels=1000000$' -count 6 ./honeycomb | benchstat -
//
// What counts: each kind over Sort/channels=1000000 of the same run.
func BenchmarkSolveKinds(b *testing.B) {
	free := mixed(1_000_000)
	held, small := bounded(free), six(free)
	for _, kind := range []struct {
		name  string
		ch    Channels
		adapt func(*Config)
	}{
		{"lite", free, func(*Config) {}},
		{"fast", free, func(c *Config) { c.Policy, c.Target = Fast, 30*time.Second }},
		{"fair", free, func(c *Config) { c.Policy = Fair }},
		{"lite-bytes", free, func(c *Config) { c.Cost = Bytes }},
		{"lite-prefix", free, func(c *Config) { c.Ladder = Prefix(16) }},
		{"lite-hosts", free, func(c *Config) { c.HostCap = 100_000 }},
		{"lite-bytes-hosts", free, func(c *Config) { c.Cost, c.HostCap = Bytes, 100_000 }},
		{"lite-bounds", held, func(*Config) {}},
		{"fast-bounds", held, func(c *Config) { c.Policy, c.Target = Fast, 5*time.Minute }},
		{"fair-bounds", held, func(c *Config) { c.Policy = Fair }},
		{"lite-bytes-bounds", held, func(c *Config) { c.Cost = Bytes }},
		{"lite-hosts-bounds", held, func(c *Config) { c.HostCap = 100_000 }},
		{"lite-bytes-hosts-bounds", held, func(c *Config) { c.Cost, c.HostCap = Bytes, 100_000 }},
		// A poll a second of each host: 111,000 could pass that, ten would.
		{"lite-small-hosts", small, func(c *Config) { c.HostCap = 1_800 }},
		{"lite-bytes-small-hosts", small, func(c *Config) { c.Cost, c.HostCap = Bytes, 1_800 }},
	} {
		config := paperConfig()
		kind.adapt(&config)
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			defer reportProcessor(b)()
			for b.Loop() {
				p, err := Prepare(config, kind.ch)
				if err != nil {
					b.Fatal(err)
				}
				p.Solve()
			}
		})
	}
}

// Question: how much less than a full solve does it cost to take over a few
// changed channels?
//
//	go test -run '^$' -bench 'Update|Solve/channels=1000000$' -count 6 ./honeycomb | benchstat -
//
// What counts: Solve at a million channels over Update.
func BenchmarkUpdate(b *testing.B) {
	for _, changes := range []int{1, 100} {
		b.Run(fmt.Sprintf("changes=%d", changes), func(b *testing.B) {
			ch := channels(1_000_000)
			p, err := Prepare(paperConfig(), ch)
			if err != nil {
				b.Fatal(err)
			}
			p.Solve()
			r := rand.New(rand.NewPCG(4, 4))
			rows := make([]int, changes)
			b.ReportAllocs()
			for b.Loop() {
				for k := range rows {
					rows[k] = r.IntN(ch.Len())
					ch.Subscribers[rows[k]] += float64(r.IntN(3) - 1)
					ch.Subscribers[rows[k]] = max(ch.Subscribers[rows[k]], 1)
				}
				if _, err := p.Update(rows...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
