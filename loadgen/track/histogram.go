package track

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// Histogram is an HDR histogram of durations, in microseconds with three digits. It is
// safe for concurrent use. What is longer than its end counts as its end.
type Histogram struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

const (
	leastUs = 1
	mostUs  = int64(24 * time.Hour / time.Microsecond)
)

func NewHistogram() *Histogram { return &Histogram{h: hdrhistogram.New(leastUs, mostUs, 3)} }

func (h *Histogram) Record(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.h.RecordValue(min(max(d.Microseconds(), 0), mostUs)) // within its bounds
}

// Percentile is a point of a percentile plot.
type Percentile struct {
	Percent float64 `json:"p"`
	Ms      float64 `json:"ms"`
}

// percentiles returns the plot of a histogram, nil when it is empty.
func (h *Histogram) percentiles() (points []Percentile) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.h.TotalCount() == 0 {
		return nil
	}
	for _, b := range h.h.CumulativeDistribution() {
		points = append(points, Percentile{b.Quantile, float64(b.ValueAt) / 1000})
	}
	return points
}

func (h *Histogram) quantile(percent float64) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(h.h.ValueAtQuantile(percent)) / 1000
}

// Spread returns the distribution in milliseconds.
func (h *Histogram) Spread() result.Spread {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.h.TotalCount() == 0 {
		return result.Spread{}
	}
	ms := func(percent float64) float64 { return float64(h.h.ValueAtQuantile(percent)) / 1000 }
	return result.Spread{
		Count: h.h.TotalCount(), P50: ms(50), P90: ms(90), P99: ms(99), P999: ms(99.9),
		Max: float64(h.h.Max()) / 1000, Mean: h.h.Mean() / 1000,
	}
}
