package sim

import (
	"slices"
	"time"
)

// polling is how one channel is polled over a whole simulation.
type polling interface {
	// wait returns how long a change at a time waits until it is detected, or
	// never.
	wait(at time.Duration) time.Duration
	// count adds all polls to buckets of a width, from time 0.
	count(width time.Duration, buckets []int)
}

// Measured is what a simulation found. Times are seconds, loads polls per
// interval and channel.
type Measured struct {
	// Detection is the mean wait of an update, of a channel's updates first, then
	// weighted by subscribers; PerUpdate is weighted by subscribers over update
	// interval. Both after two maintenance intervals, as Load is.
	Detection, PerUpdate, Load float64
	Series                     []Point
	// Waits and Polls, by channel, are each one's part of Detection, in seconds,
	// and of Load, in polls per interval.
	Waits, Polls []float64
	// Missed is how many updates no poll would ever detect.
	Missed int
}

// A Point is one stratum of a simulation's time.
type Point struct {
	Hours     float64 `json:"hours"` // when it ends
	Detection float64 `json:"detection_s"`
	Load      float64 `json:"load"` // polls per interval and channel
}

// measure asks every channel's polling about every update.
func measure(o Options, w *workload, q demand, of func(c int) polling) *Measured {
	strata := int((o.horizon() + stratum - 1) / stratum)
	m := &Measured{Series: make([]Point, strata), Waits: make([]float64, o.Channels), Polls: make([]float64, o.Channels)}
	weights := make([]float64, strata)
	var updates []time.Duration
	buckets := make([]int, strata)
	var sums means
	for c := range o.Channels {
		p := of(c)
		updates = w.updates(updates[:0], c, o.horizon())
		m.waits(o, c, p, q, updates, weights)
		clear(buckets)
		p.count(stratum, buckets)
		m.polls(o, c, buckets)
		sums.add(q.at(c, o.horizon()), w.updateInterval[c], m.Waits[c], m.Polls[c])
	}
	m.Detection, m.PerUpdate, m.Load = sums.result()
	perPoint := float64(o.Interval) / float64(stratum) / float64(o.Channels)
	for i := range m.Series {
		m.Series[i].Hours = (time.Duration(i+1) * stratum).Hours()
		m.Series[i].Load *= perPoint
		m.Series[i].Detection /= max(weights[i], 1)
	}
	return m
}

// waits adds the waits of a channel's updates since its first subscriber: to
// each stratum their mean, by the subscribers of its middle.
func (m *Measured) waits(o Options, c int, p polling, q demand, updates []time.Duration, weights []float64) {
	var settled, count float64
	before, _ := slices.BinarySearch(updates, q.first(c))
	for i := before; i < len(updates); {
		bucket := int(updates[i] / stratum)
		crowd := q.at(c, time.Duration(bucket)*stratum+stratum/2)
		var sum, n float64
		for ; i < len(updates) && int(updates[i]/stratum) == bucket; i++ {
			wait := p.wait(updates[i])
			if wait == never {
				m.Missed++
				continue
			}
			sum += wait.Seconds()
			n++
			if updates[i] >= o.settled() {
				settled += wait.Seconds()
				count++
			}
		}
		if n > 0 && crowd > 0 {
			m.Series[bucket].Detection += crowd * sum / n
			weights[bucket] += crowd
		}
	}
	m.Waits[c] = settled / max(count, 1)
}

// polls adds a channel's polls to the series, and their mean when settled.
func (m *Measured) polls(o Options, c int, buckets []int) {
	from := int(o.settled() / stratum)
	var settled int
	for i, n := range buckets {
		m.Series[i].Load += float64(n)
		if i >= from {
			settled += n
		}
	}
	spent := time.Duration(len(buckets)-from) * stratum
	m.Polls[c] = float64(settled) * float64(o.Interval) / float64(spent)
}

// means are the weighted means of waits, and the mean of loads.
type means struct{ wait, weight, byUpdate, updates, load, channels float64 }

func (s *means) add(q, u, wait, load float64) {
	s.wait += q * wait
	s.weight += q
	s.byUpdate += q / u * wait
	s.updates += q / u
	s.load += load
	s.channels++
}

func (s *means) result() (detection, perUpdate, load float64) {
	return s.wait / s.weight, s.byUpdate / s.updates, s.load / s.channels
}
