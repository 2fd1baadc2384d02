package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
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

// Bound is one of an origin's words on how often it wants to be asked.
type Bound struct {
	Source   string        // max-age, expires, ttl, update-period, skip-hours or skip-days
	Interval time.Duration // shortest time between two polls that it asks for; of skip-…, the longest time without one
	Clamped  bool          // it asks for more, which is not heeded
	Said     string        // what it says: a duration, hours or weekdays
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
	s := &e.mu.schedule
	t := s.targets.get(id)
	if t == nil || t.dropped {
		return ChannelStats{}, false
	}
	now := wallNow()
	stats = ChannelStats{
		LastPoll:     lastTime(t.lastPoll),
		LastStatus:   int(t.status),
		LastError:    t.oddities().lastError,
		Failures:     int(t.failures),
		FailingSince: lastTime(t.oddities().failing),
		SizeBytes:    int64(t.size),
		FeedURL:      t.holding.FeedURL,
		Waiting:      s.pace.waiting(t, now),
		FinalURL:     t.courseOf().final,
		MovedTo:      cmp.Or(t.courseOf().moved, t.courseOf().known),
		SameAs:       s.sameAs(t),
		Host:         s.hostStats(t, now),
	}
	if t.words != nil {
		stats.Bounds = t.words.bounds(timespan.Setting)
	}
	if t.due != never {
		stats.NextPoll = time.Unix(0, t.due)
	}
	return stats, true
}

// Content returns the content of a channel that has a hash, nil when this poller has
// it not.
func (e *Engine) Content(id channel.ID, hash deltas.Hash) (*deltas.Core, error) {
	return e.cache.Content(id, hash)
}

// waiting returns what holds a channel back now, nil when nothing does.
func (p pace) waiting(t *target, now int64) *Waiting {
	_, until, why := p.plan(t, now)
	if until <= now {
		return nil
	}
	w := &Waiting{For: string(why), Until: time.Unix(0, until)}
	switch why {
	case byHost:
		w.Detail = fmt.Sprintf("%s asked not to be asked so soon (refusals: %d)", channel.Host(t.url), t.host.rest.count)
	case byFailures:
		w.Detail = fmt.Sprintf("%d in a row, the last one: %s", t.failures, t.oddities().lastError)
	case byRetryAfter:
		w.Detail = t.oddities().lastError
	case byFreshness, bySkip:
		w.Detail = t.words.detail(why)
	}
	return w
}

func (s *schedule) hostStats(t *target, now int64) HostStats {
	h := t.host
	stats := HostStats{
		Name:     channel.Host(t.url),
		Gap:      time.Duration(s.gapOf(h)),
		Parallel: s.parallel(h),
		Refusals: int(h.rest.count),
	}
	switch {
	case h.rest.resting(now):
		stats.RestingUntil, stats.Scope = time.Unix(0, h.rest.until), "host"
	case t.oddities().notBefore > now:
		stats.RestingUntil, stats.Scope = time.Unix(0, t.oddities().notBefore), "channel"
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
	return Load{
		PollsPerSecond: last.perSecond,
		ByPlan:         last.byPlan,
		FirstPolls:     last.firsts,
		LatenessP99:    last.lateness,
		Behind:         time.Duration(e.mu.schedule.behind(now)),
		Channels:       e.mu.schedule.live,
		Failing:        e.mu.schedule.failing,
		Resting:        e.mu.schedule.countResting(now),
		Queued:         e.mu.schedule.queued,
		InFlight:       e.mu.schedule.inFlight,
		Starting:       e.starting(now),
	}
}

// behind returns how long the poll has waited that might have begun first, by what
// the engine is to blame for. First polls, and those on strange and slow hosts, wait
// for the sake of others. Ready hosts take turns: it is at one of the next.
func (s *schedule) behind(now int64) int64 {
	since := now
	if due, t, ok := s.due.min(); ok && !t.isFirst() {
		since = min(since, due)
	}
	for _, h := range s.ready.next(s.limits.batch) {
		if t := h.queues[dueQueue].head(); t != nil && h.manner == steady && !h.clearing {
			since = min(since, max(t.due, h.freeAt))
		}
	}
	return now - since
}
