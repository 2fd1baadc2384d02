package track

import (
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen"
)

// Series is what happened in each second of a run.
type Series struct {
	begin   time.Time
	seconds []second
}

// second is one of them.
type second struct {
	polls, notModified, bad, bytes atomic.Int64
	deliveries, deliveryUs         atomic.Int64
	worstDeliveryUs, worstLateUs   atomic.Int64
	detections, detectionUs        atomic.Int64 // of changes of this second
}

// maxSeconds bounds a series.
const maxSeconds = 3 * 24 * 3600

func newSeries(begin time.Time, longest time.Duration) *Series {
	return &Series{begin, make([]second, min(int(longest/time.Second)+2, maxSeconds))}
}

// at returns the second that an instant, in Unix nanoseconds, lies in; the last one for
// what comes after.
func (s *Series) at(unix int64) *second {
	n := int((unix - s.begin.UnixNano()) / int64(time.Second))
	return &s.seconds[min(max(n, 0), len(s.seconds)-1)]
}

func (s *Series) poll(p *loadgen.Poll) {
	in := s.at(p.Arrived.UnixNano())
	in.polls.Add(1)
	in.bytes.Add(int64(p.Bytes))
	switch {
	case p.Status == 304:
		in.notModified.Add(1)
	case p.Revision == 0:
		in.bad.Add(1)
	}
}

func (s *Series) late(at int64, late time.Duration) {
	raise(&s.at(at).worstLateUs, late.Microseconds())
}

func (s *Series) deliver(at int64, took time.Duration) {
	in := s.at(at)
	in.deliveries.Add(1)
	in.deliveryUs.Add(took.Microseconds())
	raise(&in.worstDeliveryUs, took.Microseconds())
}

func (s *Series) detect(changed int64, took time.Duration) {
	in := s.at(changed)
	in.detections.Add(1)
	in.detectionUs.Add(took.Microseconds())
}

func raise(most *atomic.Int64, value int64) {
	for {
		was := most.Load()
		if value <= was || most.CompareAndSwap(was, value) {
			return
		}
	}
}

// Point is a second of a run.
type Point struct {
	S               int     `json:"s"` // since the run began
	Polls           int64   `json:"polls"`
	NotModified     int64   `json:"not_modified"`
	Bad             int64   `json:"bad"` // polls that got no content
	Bytes           int64   `json:"bytes"`
	Deliveries      int64   `json:"deliveries"`
	DeliveryMs      float64 `json:"delivery_ms"` // mean
	WorstDeliveryMs float64 `json:"worst_delivery_ms"`
	WorstLateMs     float64 `json:"worst_late_ms"`
	Detections      int64   `json:"detections"`   // of changes of this second
	DetectionMs     float64 `json:"detection_ms"` // mean
}

// Points returns the seconds up to an instant.
func (s *Series) Points(until time.Time) []Point {
	n := min(int(until.Sub(s.begin)/time.Second)+1, len(s.seconds))
	points := make([]Point, 0, max(n, 0))
	for i := range n {
		points = append(points, s.seconds[i].point(i))
	}
	return points
}

func (in *second) point(n int) Point {
	mean := func(sumUs, count int64) float64 { return float64(sumUs) / 1000 / float64(max(count, 1)) }
	return Point{
		S: n, Polls: in.polls.Load(), NotModified: in.notModified.Load(), Bad: in.bad.Load(), Bytes: in.bytes.Load(),
		Deliveries: in.deliveries.Load(), DeliveryMs: mean(in.deliveryUs.Load(), in.deliveries.Load()),
		WorstDeliveryMs: float64(in.worstDeliveryUs.Load()) / 1000, WorstLateMs: float64(in.worstLateUs.Load()) / 1000,
		Detections: in.detections.Load(), DetectionMs: mean(in.detectionUs.Load(), in.detections.Load()),
	}
}
