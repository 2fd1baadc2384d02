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
	Dead         float64 // share of hosts on which nothing listens
	Throttled    float64 // share of hosts that refuse for ThrottledFor in each three of it
	ThrottledFor time.Duration
	LyingClock   float64 // share of hosts whose dates are hours off
}

// healthy reports whether requests need no look at the faults.
func (f *Faults) healthy() bool { return *f == Faults{Dead: f.Dead} }

func (f *Faults) validate() error {
	for _, share := range []float64{f.Errors, f.Slow, f.Dead, f.Throttled, f.LyingClock} {
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
)

func (o *Origin) drawn(number int, salt uint64, share float64) bool {
	return share > 0 && unit(o.content.hash(number, salt, 0)) < share
}

// Dead reports whether nothing listens on a host. The first host always lives.
func (o *Origin) Dead(host int) bool {
	return host > 0 && o.drawn(host, saltDead, o.config.Faults.Dead)
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
func (o *Origin) delay(channel int) time.Duration {
	f := &o.config.Faults
	if o.drawn(channel, saltSlow, f.Slow) {
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
func (o *Origin) refusal(host int, now time.Time) (wait time.Duration, early bool) {
	f := &o.config.Faults
	if !o.drawn(host, saltThrottled, f.Throttled) {
		return 0, false
	}
	period := 3 * f.ThrottledFor
	phase := time.Duration(scale(o.content.hash(host, saltThrottled, 1), int64(period)))
	since := (now.Sub(o.clock.start) + phase) % period
	if since >= f.ThrottledFor || since < 0 {
		return 0, false
	}
	begin := now.Add(-since).UnixNano()
	first := o.throttle[host].Load()
	if first < begin {
		o.throttle[host].Store(now.UnixNano())
		return f.ThrottledFor - since, false
	}
	return f.ThrottledFor - since, now.UnixNano()-first > int64(underWay)
}

// fault answers a request as the faults will have it; true: there is nothing to add.
func (o *Origin) fault(ctx *fasthttp.RequestCtx, channel, host int) (answered bool) {
	time.Sleep(o.delay(channel)) // the client's deadline bounds it from the other side
	now := o.config.Now()
	if wait, early := o.refusal(host, now); wait > 0 {
		o.refuse(ctx, wait, early)
		return true
	}
	if o.config.Faults.Errors > 0 && rand.Float64() < o.config.Faults.Errors {
		ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
		return true
	}
	return false
}

var headerDate = []byte("Date")

// setDate tells the time, as the host's clock has it, where a clock may lie.
func (o *Origin) setDate(ctx *fasthttp.RequestCtx, host int, now time.Time) {
	if o.config.Faults.LyingClock == 0 {
		return
	}
	wrong := o.clockError(host)
	if wrong != 0 {
		o.stats.lies.Add(1)
	}
	var room [32]byte
	ctx.Response.Header.SetCanonical(headerDate, fasthttp.AppendHTTPDate(room[:0], now.Add(wrong).UTC()))
}

// clockError is by how much a host's clock is wrong: up to twelve hours either way.
func (o *Origin) clockError(host int) time.Duration {
	if !o.drawn(host, saltClock, o.config.Faults.LyingClock) {
		return 0
	}
	return time.Duration(scale(o.content.hash(host, saltClock, 1), int64(24*time.Hour))) - 12*time.Hour
}
