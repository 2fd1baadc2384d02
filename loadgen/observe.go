package loadgen

import (
	"slices"
	"sync"
	"sync/atomic"
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
	Bytes    int // of the body
}

// observe tells the configuration's observer of a poll.
func (o *Origin) observe(ctx *fasthttp.RequestCtx, channel int, arrived time.Time, revision int64) {
	if at, known := arrival.OfConn(ctx.Conn()); known {
		arrived = at
	}
	o.config.Observe(Poll{
		Channel:  channel,
		Arrived:  arrived,
		Answered: o.config.Now(),
		Revision: revision,
		Status:   ctx.Response.StatusCode(),
		Bytes:    len(ctx.Response.Body()),
	})
}

// bumps are changes beside the schedule.
type bumps struct {
	any atomic.Bool // whether there are some
	mu  struct {
		sync.RWMutex
		at map[int][]time.Duration // schedule's times by synthetic channel, in order
	}
}

// Change lets a synthetic channel change at an instant that is not before its last such
// change. It may be called while the origin serves.
func (o *Origin) Change(n int, at time.Time) {
	channel := n - len(o.replays)
	o.bumps.mu.Lock()
	defer o.bumps.mu.Unlock()
	if o.bumps.mu.at == nil {
		o.bumps.mu.at = make(map[int][]time.Duration)
	}
	o.bumps.mu.at[channel] = append(o.bumps.mu.at[channel], o.clock.at(at))
	o.bumps.any.Store(true)
}

func (b *bumps) of(channel int) []time.Duration {
	if !b.any.Load() {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Clone(b.mu.at[channel])
}

// scheduled returns the revision that the schedule has at a time; 1 where it is off.
func (o *Origin) scheduled(channel int, at time.Duration) int64 {
	switch {
	case o.config.Still:
		return 1
	case o.history != nil:
		return o.history.revision(o.content.Schedule, channel, at)
	}
	return o.content.Revision(channel, at)
}

// scheduledAt returns when the schedule comes to a revision.
func (o *Origin) scheduledAt(channel int, revision int64) time.Duration {
	if o.history != nil {
		return o.history.changedAt(o.content.Schedule, channel, revision)
	}
	return o.content.ChangedAt(channel, revision)
}

// revision returns the revision of a synthetic channel that stands at a time.
func (o *Origin) revision(channel int, at time.Duration) int64 {
	revision := o.scheduled(channel, at)
	for _, bump := range o.bumps.of(channel) {
		if bump <= at {
			revision++
		}
	}
	return revision
}

// since returns when a revision of a synthetic channel came to stand.
func (o *Origin) since(channel int, revision int64) time.Duration {
	for i, bump := range o.bumps.of(channel) {
		switch made := o.scheduled(channel, bump) + int64(i) + 1; {
		case revision == made:
			return bump
		case revision < made:
			return o.scheduledAt(channel, revision-int64(i))
		}
	}
	return o.scheduledAt(channel, revision-int64(len(o.bumps.of(channel))))
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

// Interval returns the mean time between two changes of channel n, which is synthetic.
func (o *Origin) Interval(n int) time.Duration {
	channel := n - len(o.replays)
	interval := o.content.Interval(channel)
	if o.history != nil {
		interval = o.history.interval(channel)
	}
	return time.Duration(float64(interval) / o.config.Speedup)
}

// Window returns how many revisions back the entries of synthetic channel n reach.
func (o *Origin) Window(n int) int { return o.content.shape(n - len(o.replays)).window }

// EntryRevision returns the revision that the entry of a synthetic channel came with, by
// the number at the end of its link.
func EntryRevision(number int64) int64 { return number - firstEntryNumber + 1 }
