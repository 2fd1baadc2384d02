package loadgen

import (
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/arrival"
)

// Poll is a request for a channel, and how it was answered.
type Poll struct {
	Channel  int       // its number
	Arrived  time.Time // when the request came: by the kernel's word, where it says so
	Answered time.Time // when the answer was made
	Revision int64     // what the answer was of; 0: of none
	Status   int
	Bytes    int  // of the body
	Rest     bool // the answer asks to be left alone
	From     netip.Addr
}

// observe tells the configuration's observers of a poll.
func (o *Origin) observe(ctx *fasthttp.RequestCtx, channel int, arrived time.Time, revision int64) {
	if at, known := arrival.OfConn(ctx.Conn()); known {
		arrived = at
	}
	answered := o.config.Now()
	if o.config.Observe != nil {
		response := &ctx.Response
		o.config.Observe(Poll{
			Channel:  channel,
			Arrived:  arrived,
			Answered: answered,
			Revision: revision,
			Status:   response.StatusCode(),
			Bytes:    len(response.Body()),
			From:     addressOf(ctx.RemoteAddr()),
			Rest:     len(response.Header.PeekBytes(headerRetryAfter)) > 0 || response.StatusCode() == fasthttp.StatusTooManyRequests,
		})
	}
	if o.config.Audit != nil {
		o.config.Audit(exchange(ctx, arrived, answered))
	}
}

// addressOf returns the address of a connection's end; the zero one where it has none.
func addressOf(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Change lets a synthetic channel change at an instant that is not before its last such
// change. It may be called while the origin serves.
func (o *Origin) Change(n int, at time.Time) {
	o.changes.bump(n-len(o.replays), o.clock.at(at))
}

// Revision returns the revision of channel n that stands at an instant, 1 or later.
func (o *Origin) Revision(n int, at time.Time) int64 { return o.standing(n, at).revision }

// ChangedAt returns the first instant at which a revision of channel n, 2 or later,
// stood.
func (o *Origin) ChangedAt(n int, revision int64) time.Time {
	s := o.standing(n, o.clock.start)
	s.revision = revision
	return o.changedAt(&s)
}

// Polls returns how often channel n was asked for so far, whatever was answered.
func (o *Origin) Polls(n int) uint32 { return o.polls[n].Load() }

// Trace returns the history that channel n replays; nil: it is synthetic.
func (o *Origin) Trace(n int) *Trace {
	if n >= len(o.replays) {
		return nil
	}
	return o.replays[n].Trace
}

// Interval returns the mean time between two changes of channel n.
func (o *Origin) Interval(n int) time.Duration {
	if n < len(o.replays) {
		last := int64(len(o.replays[n].Captures))
		return o.ChangedAt(n, last).Sub(o.clock.start) / time.Duration(max(last-1, 1))
	}
	channel := n - len(o.replays)
	return time.Duration(float64(o.changes.interval(channel)) / o.config.Speedup)
}

// Window returns how many revisions back the entries of synthetic channel n reach.
func (o *Origin) Window(n int) int { return o.content.shape(n - len(o.replays)).window }
