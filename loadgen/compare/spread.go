package compare

import (
	"slices"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Range is a figure over several runs of one build.
type Range struct {
	Name              string
	Mean, Least, Most float64
}

// Spread returns how the figures that can be compared vary over runs.
func Spread(of []*result.Result) (ranges []Range) {
	all := read(of)
	for _, figure := range compared {
		x := all.values(figure.name)
		ranges = append(ranges, Range{figure.name, mean(x), slices.Min(x), slices.Max(x)})
	}
	return ranges
}
