package loadgen

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Faults are what is wrong with an origin's hosts and channels. Which ones follows
// from the seed. The zero value is a healthy origin.
type Faults struct {
	P50, P99     time.Duration // log-normal distribution of how long answers take; 0: none
	Errors       float64       // share of requests that are answered 503
	Slow         float64       // share of channels whose answers take SlowFor
	SlowFor      time.Duration
	Dead         float64 // share of hosts on which nothing listens; below 1, the first one lives
	Throttled    float64 // share of hosts that refuse for ThrottledFor in each three of it
	ThrottledFor time.Duration
	LyingClock   float64 // share of hosts whose dates are hours off
	Sick         Sick
}

// healthy reports whether requests need no look at the faults.
func (f *Faults) healthy() bool { return *f == Faults{Dead: f.Dead} }

func (f *Faults) validate() error {
	sick := &f.Sick
	for _, share := range []float64{f.Errors, f.Slow, f.Dead, f.Throttled, f.LyingClock, sick.Slow, sick.Hanging, sick.Refusing, sick.Harmful} {
		if !(share >= 0 && share <= 1) {
			return errors.New("faults: want shares from 0 to 1")
		}
	}
	if f.P99 != 0 && f.P99 < f.P50 || f.P50 < 0 {
		return errors.New("faults: want latencies in order")
	}
	if f.Throttled > 0 && f.ThrottledFor <= 0 {
		return errors.New("faults: want a time for throttled hosts")
	}
	return nil
}

// Salts of faults.
const (
	saltSlow = iota + 100
	saltDead
	saltThrottled
	saltClock
	saltSick
)

// troubles are the faults of an origin, and when they happen.
type troubles struct {
	Faults
	schedule Schedule // whose seed draws what is wrong with what
	start    time.Time
	throttle throttle // nil: none is throttled
	ward     *ward    // nil: no host is sick
}

func newTroubles(f Faults, hosts int, by Schedule, start time.Time) *troubles {
	t := &troubles{Faults: f, schedule: by, start: start, ward: newWard(f.Sick, hosts, by)}
	if f.Throttled > 0 {
		t.throttle = make(throttle, hosts)
	}
	return t
}

func (t *troubles) drawn(number int, salt uint64, share float64) bool {
	return share > 0 && unit(t.schedule.hash(number, salt, 0)) < share
}

// dead reports whether nothing listens on a host.
func (t *troubles) dead(host int) bool {
	return t.drawn(host, saltDead, t.Dead) && (host > 0 || t.Dead == 1)
}

// Well reports whether something listens on a host, and answers as a host should.
func (o *Origin) Well(host int) bool {
	return !o.troubles.dead(host) && o.troubles.ward.of(host) == healthy
}

// HostOf returns the number of the host that channel n lives on.
func (o *Origin) HostOf(n int) int {
	if n < len(o.replays) {
		return 0
	}
	return (n - len(o.replays)) % o.config.Hosts
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// delay returns how long the answer for a channel takes.
func (t *troubles) delay(channel, host int) time.Duration {
	f := &t.Faults
	switch {
	case t.ward.of(host) == late:
		return lateBy
	case t.drawn(channel, saltSlow, f.Slow):
		return f.SlowFor
	}
	if f.P50 == 0 {
		return 0
	}
	sigma := 0.0
	if f.P99 > f.P50 {
		sigma = math.Log(float64(f.P99)/float64(f.P50)) / z99
	}
	const longest = float64(time.Minute)
	return time.Duration(min(float64(f.P50)*math.Exp(sigma*rand.NormFloat64()), longest))
}

// throttle is when hosts that are throttled have refused last.
type throttle []atomic.Int64 // Unix nanoseconds, by host

// refusal returns how long a throttled host still refuses, 0 when it does not; early
// says that it had told so before.
func (t *troubles) refusal(host int, now time.Time) (wait time.Duration, early bool) {
	f := &t.Faults
	if !t.drawn(host, saltThrottled, f.Throttled) {
		return 0, false
	}
	period := 3 * f.ThrottledFor
	phase := time.Duration(scale(t.schedule.hash(host, saltThrottled, 1), int64(period)))
	since := (now.Sub(t.start) + phase) % period
	if since >= f.ThrottledFor || since < 0 {
		return 0, false
	}
	begin := now.Add(-since).UnixNano()
	first := t.throttle[host].Load()
	if first < begin {
		t.throttle[host].Store(now.UnixNano())
		return f.ThrottledFor - since, false
	}
	return f.ThrottledFor - since, now.UnixNano()-first > int64(underWay)
}

// fault answers a request as the faults will have it; true: there is nothing to add.
func (o *Origin) fault(ctx *fasthttp.RequestCtx, channel, host int) (answered bool) {
	t := o.troubles
	time.Sleep(t.delay(channel, host)) // the client's deadline bounds it from the other side
	now := o.config.Now()
	if wait, early := t.refusal(host, now); wait > 0 {
		o.refuse(ctx, wait, early)
		return true
	}
	if t.ward.of(host) == refusing && o.polls[channel].Load()%3 != 1 {
		t.ward.refuse(&ctx.Response.Header, host, now)
		return true
	}
	if t.Errors > 0 && rand.Float64() < t.Errors {
		ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
		return true
	}
	return false
}

var headerDate = []byte("Date")

// setDate tells the time, as the host's clock has it, where a clock may lie.
func (o *Origin) setDate(ctx *fasthttp.RequestCtx, host int, now time.Time) {
	if o.troubles.LyingClock == 0 {
		return
	}
	wrong := o.troubles.clockError(host)
	if wrong != 0 {
		o.stats.lies.Add(1)
	}
	var room [32]byte
	ctx.Response.Header.SetCanonical(headerDate, fasthttp.AppendHTTPDate(room[:0], now.Add(wrong).UTC()))
}

// clockError is by how much a host's clock is wrong: up to twelve hours either way.
func (t *troubles) clockError(host int) time.Duration {
	if !t.drawn(host, saltClock, t.LyingClock) {
		return 0
	}
	return time.Duration(scale(t.schedule.hash(host, saltClock, 1), int64(24*time.Hour))) - 12*time.Hour
}
