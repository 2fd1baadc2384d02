package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// ChannelStats is what the engine knows of one channel.
type ChannelStats struct {
	LastPoll     time.Time // when the last poll began; zero: none yet
	NextPoll     time.Time // when the next one is due; zero: never; past: it waits for its host, or is under way
	LastStatus   int       // HTTP status of the last poll; 0: there was no response
	LastError    string    // what went wrong in the last poll; empty: nothing
	Failures     int       // of the origin, in a row
	FailingSince time.Time // when the first of them began; zero: there is none, or it was before a restart
	SizeBytes    int64     // expected bytes on the wire of a poll; 0: not known
	FeedURL      string    // the feed that the HTML page names

	Bounds   []Bound    // what the origin's words ask for, as the last poll heard them; empty: nothing
	Waiting  *Waiting   // why the next poll is later than its rate says; nil: it is not
	Host     HostStats  // the host that polls ask first
	FinalURL string     // where redirects led the last poll; empty: nowhere
	MovedTo  string     // where permanent redirects alone led it; empty: nowhere
	SameAs   channel.ID // another channel that ends at FinalURL; zero: none
}

// Waiting is what keeps a channel from being polled for longer than its rate does.
type Waiting struct {
	For    string // failures, retry-after, host, freshness or skip
	Until  time.Time
	Detail string // for people; may be empty
}

// HostStats is what is known of a host.
type HostStats struct {
	Name         string        // with port
	Gap          time.Duration // between the beginnings of two requests; 0: none
	Parallel     int           // requests at a time
	RestingUntil time.Time     // it asked not to be asked before; zero: it did not
	Scope        string        // of the last such wish: host, channel; empty: none that stands
	Refusals     int           // by the host, in a row: 429, or what means that
}

// Stats returns what is known of a channel; ok is false when it is not ordered.
func (e *Engine) Stats(id channel.ID) (stats ChannelStats, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cs := e.mu.channels
	t := cs.index.get(id)
	if t == nil || t.Dropped() {
		return ChannelStats{}, false
	}
	c, now := &t.Channel, wallNow()
	stats = ChannelStats{
		LastPoll:     timeOf(t.LastPoll()),
		LastStatus:   int(c.status),
		LastError:    c.oddities().lastError,
		Failures:     t.Failures(),
		FailingSince: timeOf(c.oddities().failing),
		SizeBytes:    int64(c.size),
		FeedURL:      c.holding.Texts.FeedURL(),
		Waiting:      cs.waiting(t, now),
		FinalURL:     c.redirect().final,
		MovedTo:      cmp.Or(c.redirect().moved, c.redirect().known),
		SameAs:       cs.sameAs(t),
		Host:         cs.hostStats(t, now),
	}
	if c.words != nil {
		stats.Bounds = c.words.bounds(timespan.Setting)
	}
	if due, ok := t.Due(); ok {
		stats.NextPoll = time.Unix(0, due)
	}
	return stats, true
}

// Content returns the content of a channel that has a hash, nil when this poller has
// it not. After [Engine.Close] it has none.
func (e *Engine) Content(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	if !e.enter() {
		return nil, nil
	}
	defer e.asking.RUnlock()
	return e.cache.Content(id, hash)
}

// enter keeps the stores open until e.asking is let go, unless they are closed.
func (e *Engine) enter() bool {
	e.asking.RLock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		e.asking.RUnlock()
	}
	return !e.mu.closed
}

// waiting returns what makes a channel wait now, nil when nothing does.
func (cs *channels) waiting(t *target, now int64) *Waiting {
	until, why := cs.schedule.Explain(t, now)
	if until <= now {
		return nil
	}
	c := &t.Channel
	w := &Waiting{For: string(why), Until: time.Unix(0, until)}
	switch why {
	case pace.ByHost:
		w.Detail = fmt.Sprintf("%s asked not to be asked so soon (refusals: %d)", channel.Host(c.url), t.Host().Refusals().Count)
	case pace.ByFailures:
		w.Detail = fmt.Sprintf("%d in a row, the last one: %s", t.Failures(), c.oddities().lastError)
	case pace.ByRetryAfter:
		w.Detail = c.oddities().lastError
	case pace.ByFreshness, pace.BySkip:
		w.Detail = c.words.detail(why)
	}
	return w
}

func (cs *channels) hostStats(t *target, now int64) HostStats {
	manners, refusals := cs.schedule.MannersOf(t.Host(), now), t.Host().Refusals()
	stats := HostStats{
		Name: channel.Host(t.Channel.url), Gap: manners.Gap, Parallel: manners.Parallel, Refusals: int(refusals.Count),
	}
	switch notBefore := t.NotBefore(); {
	case refusals.Resting(now):
		stats.RestingUntil, stats.Scope = time.Unix(0, refusals.Until), "host"
	case notBefore > now:
		stats.RestingUntil, stats.Scope = time.Unix(0, notBefore), "channel"
	}
	return stats
}

// Load is how busy the engine is.
type Load struct {
	PollsPerSecond float64       // over the last minute: requests, each redirect one
	ByPlan         float64       // of those per second, polls that rates plan: without first polls, and a chain of redirects is one
	FirstPolls     int           // of channels without content, in the last minute
	LatenessP99    time.Duration // over the last minute: see DESIGN.md, lateness
	Behind         time.Duration // how long the poll has waited for the loop or a worker that has waited longest: of a channel with content, at a host that is steady
	Channels       int           // ordered
	Failing        int           // of those, whose last poll failed
	Resting        int           // hosts that asked not to be asked for a while
	Queued         int           // due, and waiting for their host or a worker
	InFlight       int           // polls under way
	Starting       bool          // polls take longer than they will: it began less than an interval ago, or still reads what the cache knows
}

// Load returns how busy the engine is.
func (e *Engine) Load() Load {
	const share = 0.99
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	last := e.mu.recent.summary(now, share)
	counts := e.mu.channels.schedule.Count(now)
	return Load{
		PollsPerSecond: last.perSecond,
		ByPlan:         last.byPlan,
		FirstPolls:     last.firsts,
		LatenessP99:    last.lateness,
		Behind:         time.Duration(e.mu.channels.schedule.Behind(now)),
		Channels:       counts.Targets,
		Failing:        counts.Failing,
		Resting:        counts.Resting,
		Queued:         counts.Queued,
		InFlight:       counts.InFlight,
		Starting:       e.starting(now),
	}
}

// gauges read the engine when they are scraped.
func (e *Engine) gauges() []prometheus.Collector {
	under := func(read func(c schedule.Counts) int) func() float64 {
		return func() float64 {
			e.mu.Lock()
			defer e.mu.Unlock()
			return float64(read(e.mu.channels.schedule.Count(wallNow())))
		}
	}
	return []prometheus.Collector{
		gauge("channels", "Channels that are ordered.", under(func(c schedule.Counts) int { return c.Targets })),
		gauge("hosts", "Hosts of all channels.", under(func(c schedule.Counts) int { return c.Hosts })),
		gauge("scheduled", "Channels that wait for their due time.", under(func(c schedule.Counts) int { return c.Scheduled })),
		gauge("queued", "Polls that are due and wait for their host or a worker.", under(func(c schedule.Counts) int { return c.Queued })),
		gauge("hosts_spaced", "Hosts with due polls that wait for their gap.", under(func(c schedule.Counts) int { return c.Spaced })),
		gauge("hosts_resting", "Hosts that asked not to be asked for a while.", under(func(c schedule.Counts) int { return c.Resting })),
		gauge("polls_in_flight", "Polls under way.", under(func(c schedule.Counts) int { return c.InFlight })),
		gauge("strange_polls_in_flight", "Polls under way of channels without content or on hosts that were not asked before.", under(func(c schedule.Counts) int { return c.Strange })),
		gauge("slow_polls_in_flight", "Polls under way on hosts that were slow the last time.", under(func(c schedule.Counts) int { return c.Slow })),
		gauge("workers", "Polls that may be under way at a time.", under(func(c schedule.Counts) int { return c.Workers })),
		gauge("cache_bytes", "Size of the content cache on disk.", func() float64 { return float64(e.cache.Bytes()) }),
	}
}
