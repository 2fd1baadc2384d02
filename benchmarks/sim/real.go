package sim

import "math"

// Sizes of 80 feeds as published (those of over 8 KB among feed parsers' test
// documents) are log-normal, about: a median of 39 KB, a standard deviation of
// the logarithm of 0.86.
const (
	medianSize = 39_000.0
	sizeSpread = 0.86
)

// sizes are bytes per poll.
func (w *workload) sizes() []float64 {
	sizes := make([]float64, len(w.ids))
	for c := range sizes {
		sizes[c] = medianSize * math.Exp(sizeSpread*w.normal(forSize, uint64(c)))
	}
	return sizes
}

// Of 36,515 small-web feeds 16 % sit on ten hosts, and nearly all others on one
// of their own.
const (
	crowdedHosts = 10
	crowdedShare = 0.16
)

// hosts numbers each channel's host: the crowded ones first. Channels on a host
// of their own share its number with none.
func (w *workload) hosts() []int32 {
	hosts := make([]int32, len(w.ids))
	next := int32(crowdedHosts)
	for c := range hosts {
		if x := w.unit(forHost, uint64(c), 0); x < crowdedShare {
			hosts[c] = int32(x / crowdedShare * crowdedHosts)
			continue
		}
		hosts[c] = -1
		if int(next) < len(w.ids) {
			hosts[c] = next
			next++
		}
	}
	return hosts
}
