package main

import (
	"fmt"
	"slices"
	"strings"
)

// table is the results in Markdown: medians over the rounds, and the ratio to the
// first store of the same cell and round, with its smallest and largest. The CPU
// ratio is that of commits for the same processor time.
func (r *results) table() string {
	var b strings.Builder
	for i, round := range r.Rounds {
		fmt.Fprintf(&b, "round %d: an fsync takes %.3f ms, load %s\n", i+1, round.Fsync, round.Load)
	}
	b.WriteString("\n| groups | clients | store | commits/s | ratio | p50 ms | p99 ms | fsyncs/s | written × | CPU µs | CPU ratio | disk MiB | recovery ms | CPUs own, others |\n" +
		"|---:|---:|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, key := range r.keys() {
		r.row(&b, key)
	}
	for _, c := range r.Cells {
		if c.Elections > 0 || c.Installed > 0 {
			fmt.Fprintf(&b, "\nround %d, %s, %d groups, %s clients: %d elections, %d snapshots installed\n",
				c.Round, c.Store, c.Groups, c.who(), c.Elections, c.Installed)
		}
	}
	return b.String()
}

// keys are the specs without their rounds, in the order of the flags.
func (r *results) keys() (keys []spec) {
	for _, c := range r.Cells {
		if c.Round == 1 {
			key := c.spec
			key.Round = 0
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *results) row(b *strings.Builder, key spec) {
	of := func(figure func(figures) float64) float64 { return median(r.figures(key, figure)) }
	ratios := r.ratios(key, func(f figures) float64 { return f.PerSecond })
	costs := r.ratios(key, func(f figures) float64 { return 1 / f.Processor })
	fmt.Fprintf(b, "| %d | %s | %s | %.0f | %.2f (%.2f–%.2f) | %.2f | %.2f | %.0f | %.1f | %.0f | %.2f | %.0f | %.0f | %.1f, %.1f |\n",
		key.Groups, key.who(), key.Store, of(func(f figures) float64 { return f.PerSecond }),
		median(ratios), slices.Min(ratios), slices.Max(ratios),
		of(func(f figures) float64 { return f.P50 }), of(func(f figures) float64 { return f.P99 }),
		of(func(f figures) float64 { return f.Fsyncs }), of(func(f figures) float64 { return f.Amplification }),
		of(func(f figures) float64 { return f.Processor }), median(costs), of(func(f figures) float64 { return f.DiskMiB }),
		of(func(f figures) float64 { return f.RecoverMS }), of(func(f figures) float64 { return f.Own }), of(func(f figures) float64 { return f.Others }))
}

// figures returns a figure of every round, in their order.
func (r *results) figures(key spec, figure func(figures) float64) (values []float64) {
	for _, c := range r.Cells {
		if c.Store == key.Store && c.Groups == key.Groups && c.Clients == key.Clients && c.Front == key.Front {
			values = append(values, figure(c.figures))
		}
	}
	return values
}

func (r *results) ratios(key spec, figure func(figures) float64) (ratios []float64) {
	base := key
	base.Store = r.stores[0]
	bases := r.figures(base, figure)
	for i, value := range r.figures(key, figure) {
		ratios = append(ratios, value/bases[i])
	}
	return ratios
}

// median of at least one value; of an even number the higher of the two in the
// middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
