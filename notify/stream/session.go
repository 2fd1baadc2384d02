package stream

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/part"
)

const (
	minRecheck  = time.Millisecond
	maxRecheck  = 16 * time.Millisecond
	demandGap   = 50 * time.Millisecond // between demands of a range for what an event waits for
	retryFollow = time.Second           // until a range that failed, or lags, is tried again
)

// session follows all ranges of a table from a place on: one follower for each reads
// it into the merge, and moves what may go out then from the merge to the tail. It ends
// when no stream is open, or memory has to begin again.
type session struct {
	hub       *Hub
	followers []*follower
	merge     *merge        // guarded by hub.mu
	stir      chan struct{} // 1: an event waits
	ended     chan struct{}
}

// follower is what follows one range.
type follower struct {
	channel.Range
	poke    chan struct{} // 1: to read on
	reading sync.Mutex    // held while the range is read; taken before hub.mu
	full    bool          // guarded by hub.mu: there is more to read, once the queue is empty
	asked   time.Time     // guarded by hub.mu: when the range was asked to close a stamp
}

func newSession(h *Hub, table []channel.Range, at place) *session {
	s := &session{
		hub:   h,
		merge: newMerge(table, at, everything, h.config.LagAfter),
		stir:  make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	for _, r := range table {
		s.followers = append(s.followers, &follower{Range: r, poke: make(chan struct{}, 1)})
	}
	return s
}

// run follows until the session or ctx ends.
func (s *session) run(ctx context.Context) { part.Do(ctx, part.Deliver, s.deliver) }

func (s *session) deliver(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range s.followers {
		all.Go(func() { s.follow(ctx, i) })
	}
	all.Go(func() { s.hub.recheckAll(ctx) })
	s.clock(ctx)
	cancel()
	all.Wait()
}

// clock looks at the merge again after 1, 2, 4 … 16 ms while an event waits for a
// range, and after a second while a range only lags: an event's limit passes, a range
// may be asked again, and a store need not announce all that it closes. It waits for
// no read.
func (s *session) clock(ctx context.Context) {
	timer := time.NewTimer(maxRecheck)
	timer.Stop()
	defer timer.Stop()
	waits, recheck := false, minRecheck
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
			return
		case <-s.stir:
			if !waits {
				waits, recheck = true, minRecheck
				timer.Reset(recheck)
			}
			continue
		case <-timer.C:
		}
		var asks []ask
		asks, waits = s.advance()
		for _, a := range asks {
			if s.hasClosed(a) {
				signal(s.followers[a.feed].poke)
			} else {
				s.demand(a)
			}
		}
		recheck = min(2*recheck, maxRecheck)
		if waits {
			timer.Reset(recheck)
		} else if len(asks) > 0 {
			timer.Reset(retryFollow)
		}
	}
}

// ask is a range that the merge needs to be read up to a stamp.
type ask struct {
	feed  int
	stamp uint64
	may   bool // be demanded
}

// advance moves what may go out from the merge to the tail, and returns which ranges
// are to be read, and whether an event waits for them.
func (s *session) advance() (asks []ask, waits bool) {
	h, now := s.hub, time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.session != s {
		return nil, false
	}
	moved, lagging := false, 0
	for e, ok := s.merge.pop(now); ok; e, ok = s.merge.pop(now) {
		h.mu.tail.add(e, h.config.TailBytes)
		moved = true
	}
	if moved {
		h.wakeReaders()
	}
	for i, f := range s.followers {
		feed := &s.merge.feeds[i]
		if f.full && len(feed.queue) == 0 {
			signal(f.poke)
		}
		if feed.lags {
			lagging++
		}
	}
	h.metrics.lagging.Set(float64(lagging))
	waits = s.merge.next() != nil
	if !waits && lagging == 0 {
		return nil, false
	}
	s.merge.wanted(func(i int, stamp uint64) {
		if waits || s.merge.feeds[i].lags { // otherwise nothing needs it
			asks = append(asks, s.askOf(i, stamp, now))
		}
	})
	return asks, waits
}

// askOf decides whether a range may be demanded: more often while an event waits for
// it than while it lags. The hub is locked.
func (s *session) askOf(i int, stamp uint64, now time.Time) ask {
	gap := demandGap
	if s.merge.feeds[i].lags {
		gap = retryFollow
	}
	return ask{i, stamp, now.Sub(s.followers[i].asked) >= gap}
}

// hasClosed reports whether this node has what is asked for.
func (s *session) hasClosed(a ask) bool {
	return s.hub.store.ClosedIn(s.followers[a.feed].Range) >= a.stamp
}

// demand asks a range to close a stamp, unless it has just been asked.
func (s *session) demand(a ask) {
	if f := s.followers[a.feed]; a.may && s.mayAsk(f) {
		s.hub.metrics.demands.Inc()
		s.hub.store.Demand(f.Range, a.stamp)
	}
}

// mayAsk notes that a range is asked now, unless another follower has just asked.
func (s *session) mayAsk(f *follower) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	now := time.Now()
	if now.Sub(f.asked) < demandGap {
		return false
	}
	f.asked = now
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
