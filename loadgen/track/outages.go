package track

import (
	"math"
	"sync"
	"time"
)

// outages are the times in which nodes were not all there.
type outages struct {
	mu    sync.RWMutex
	spans []span // in order; the last may have no end yet
}

// span is a time, in Unix nanoseconds.
type span struct{ from, to int64 }

func (o *outages) begin(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.spans); n > 0 && o.spans[n-1].to > at.UnixNano() {
		o.spans[n-1].to = math.MaxInt64 // one that lasts
		return
	}
	o.spans = append(o.spans, span{at.UnixNano(), math.MaxInt64})
}

func (o *outages) end(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.spans); n > 0 && o.spans[n-1].to == math.MaxInt64 {
		o.spans[n-1].to = at.UnixNano()
	}
}

// overlap returns for how many nanoseconds of a time there was an outage.
func (o *outages) overlap(from, to int64) (sum int64) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, s := range o.spans {
		sum += max(min(to, s.to)-max(from, s.from), 0)
	}
	return sum
}
