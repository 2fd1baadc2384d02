package loadgen

import (
	"math"
	"strconv"
	"sync"
	"time"
)

// limits is how many requests each host takes, so that a poller's manners show.
type limits struct {
	gap   time.Duration // between requests, on average
	burst time.Duration // how far requests may run ahead of that
	rest  time.Duration // for how long a host that was asked more is left alone
	hosts []hostLimit
}

// hostLimit is one host's account, kept as in GCRA: a request costs gap.
type hostLimit struct {
	sync.Mutex
	paid  time.Time // requests until then are accounted for
	until time.Time // told to come back then
}

// newLimits returns limits for hosts that take rate requests a second each, nil
// for rate 0: as many as there are. One second's worth may come at once, and a
// tenth of the gap is forgiven to requests that the network has pushed together.
func newLimits(hosts int, rate float64, rest time.Duration) *limits {
	if rate == 0 {
		return nil
	}
	gap := time.Duration(float64(time.Second) / rate)
	return &limits{gap: gap, burst: max(time.Second-gap, gap/10), rest: rest, hosts: make([]hostLimit, hosts)}
}

// underWay is how long after a refusal requests still come that were sent before
// it was heard.
const underWay = time.Second

// take asks a host whether it takes a request. wait is 0 when it does, else for
// how long it wants to be left alone; early says that whoever asks had heard so.
func (l *limits) take(host int, now time.Time) (wait time.Duration, early bool) {
	if l == nil {
		return 0, false
	}
	h := &l.hosts[host]
	h.Lock()
	defer h.Unlock()
	if now.Before(h.until) {
		return h.until.Sub(now), now.Sub(h.until.Add(-l.rest)) > underWay
	}
	if h.paid.Before(now) {
		h.paid = now
	}
	if h.paid.Sub(now) > l.burst {
		h.until = now.Add(l.rest)
		return l.rest, false
	}
	h.paid = h.paid.Add(l.gap)
	return 0, false
}

// appendSeconds appends a duration as header fields have it: in whole seconds, so
// rounded up: a client that waits for them is not early.
func appendSeconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, int64(math.Ceil(d.Seconds())), 10)
}
