package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// ChannelStats is what the engine knows of one channel. It begins anew with the
// process, but for FeedURL, which comes back with the first poll.
type ChannelStats struct {
	LastPoll   time.Time // when the last poll began; zero: none yet
	NextPoll   time.Time // when the next one is due; zero: never; past: it waits for its host, or is under way
	LastStatus int       // HTTP status of the last poll; 0: there was no response
	LastError  string    // what went wrong in the last poll; empty: nothing
	Failures   int       // of the origin, in a row
	SizeBytes  int64     // expected bytes on the wire of a poll; 0: not known
	FeedURL    string    // the feed that the HTML page names
}

// Stats returns what is known of a channel; ok is false when it is not ordered.
func (e *Engine) Stats(id channel.ID) (stats ChannelStats, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.mu.schedule.targets[id]
	if t == nil || t.dropped {
		return ChannelStats{}, false
	}
	stats = ChannelStats{
		LastPoll:   lastTime(t.lastPoll),
		LastStatus: int(t.status),
		LastError:  t.lastError,
		Failures:   int(t.failures),
		SizeBytes:  int64(t.size),
		FeedURL:    t.holding.feedURL,
	}
	if t.due != never {
		stats.NextPoll = time.Unix(0, t.due)
	}
	return stats, true
}

// Load is how busy the engine is.
type Load struct {
	PollsPerSecond float64       // over the last minute
	LatenessP99    time.Duration // over the last minute: see DESIGN.md, lateness
	Channels       int           // ordered
	Queued         int           // due, and waiting for their host or a worker
	InFlight       int           // polls under way
}

// Load returns how busy the engine is.
func (e *Engine) Load() Load {
	const share = 0.99
	e.mu.Lock()
	defer e.mu.Unlock()
	rate, lateness := e.mu.recent.summary(wallNow(), share)
	return Load{
		PollsPerSecond: rate,
		LatenessP99:    lateness,
		Channels:       e.mu.schedule.live,
		Queued:         e.mu.schedule.queued,
		InFlight:       e.mu.schedule.inFlight,
	}
}
