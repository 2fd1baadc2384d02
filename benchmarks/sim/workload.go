package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// A workload is the channels of a simulation, the most popular first, and its
// nodes.
type workload struct {
	chance
	ids            []channel.ID
	nodes          []channel.ID
	subscribers    []float64 // when all have arrived
	updateInterval []float64 // seconds
}

// Workload returns the channels of a simulation, the most popular first: their subscribers, when all
// have arrived, and the mean seconds between their updates.
func (o Options) Workload() (subscribers, updateInterval []float64) {
	w := newWorkload(o)
	return w.subscribers, w.updateInterval
}

// Arrivals are when subscribers come to each channel of a deployment, in order, over
// [Arriving].
func (o Options) Arrivals() [][]time.Duration { return newWorkload(o).ramp(Arriving) }

// zipfExponent is that of the channels' popularity (paper, section 5).
const zipfExponent = 0.5

func newWorkload(o Options) *workload {
	w := &workload{chance: chance{o.Seed}, subscribers: zipf(o.Channels, o.Subscriptions),
		ids: make([]channel.ID, o.Channels), updateInterval: make([]float64, o.Channels)}
	for c := range w.ids {
		w.ids[c] = channel.IDOf(fmt.Sprintf("http://s%d.example/%d", o.Seed, c))
		w.updateInterval[c] = surveyInterval(w.unit(forInterval, uint64(c), 0))
	}
	for n := range o.Nodes {
		w.nodes = append(w.nodes, overlay.NodeID(fmt.Sprintf("s%d-n%d", o.Seed, n)))
	}
	return w
}

// zipf divides subscriptions among channels in proportion to 1/√i, in whole
// numbers: what rounding leaves goes to the largest remainders.
func zipf(channels, subscriptions int) []float64 {
	share := make([]float64, channels)
	var all float64
	for i := range share {
		share[i] = math.Pow(float64(i+1), -zipfExponent)
		all += share[i]
	}
	order := make([]int, channels)
	left := subscriptions
	rest := make([]float64, channels)
	for i := range share {
		exact := share[i] / all * float64(subscriptions)
		share[i] = math.Floor(exact)
		rest[i] = exact - share[i]
		order[i] = i
		left -= int(share[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order[:left] {
		share[i]++
	}
	return share
}

const (
	hour = 3600.0
	week = 7 * 24 * hour
)

// surveyInterval turns a number in [0, 1) into seconds between updates, as far as
// the paper tells its survey (section 5): 10 % of channels changed within an
// hour, half did not in five days and count as a week. Within its share an
// interval is log-uniform, from ten minutes up, which was the survey's own
// polling interval.
func surveyInterval(x float64) float64 {
	switch {
	case x < 0.1:
		return logUniform(600, hour, x/0.1)
	case x < 0.5:
		return logUniform(hour, 5*24*hour, (x-0.1)/0.4)
	}
	return week
}

func logUniform(from, to, x float64) float64 { return from * math.Pow(to/from, x) }
