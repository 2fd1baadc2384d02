package webhook

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
)

// scanner reads all channels of the store for what is to be delivered: at the start,
// and whenever a wake or a note found no room.
type scanner struct {
	*core
	channels  *channels
	wake      chan struct{} // 1
	requested uint64        // scans
	done      uint64        // those of them that are through
}

func newScanner(core *core, channels *channels) *scanner {
	return &scanner{core: core, channels: channels, wake: make(chan struct{}, 1)}
}

// request has all channels looked at. Locked.
func (s *scanner) request() {
	s.requested++
	signal(s.wake)
}

// complete reports whether every straggler of the store was offered a lane: no scan
// is under way or due, and no channel still has to follow one. Locked.
func (s *scanner) complete() bool { return s.done == s.requested && s.channels.sweeps == 0 }

// run scans until ctx ends.
func (s *scanner) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.metrics.scans.Inc()
		s.Lock()
		requested := s.requested
		s.Unlock()
		if !s.scan(ctx) {
			return
		}
		s.Lock()
		s.done = requested
		s.Unlock()
	}
}

// scan gives every channel that may have something to deliver a turn; false when
// all stops.
func (s *scanner) scan(ctx context.Context) bool {
	var after *channel.ID
	for {
		page, err := s.store.Channels(after, s.limits.page)
		if err != nil {
			s.metrics.StoreFailed("channels")
			s.log.Warn("store read failed, the scan of channels waits", "error", err)
			pause(ctx, retryStore)
			if ctx.Err() != nil {
				return false
			}
			continue
		}
		for _, info := range page {
			if info.Webhooks > 0 && (info.Version > 1 || info.Gone) && !s.delivered(info) && !s.sweep(info.ID) {
				return false
			}
		}
		if len(page) < s.limits.page {
			return true
		}
		after = &page[len(page)-1].ID
	}
}

// delivered reports whether every subscription of a channel has everything, by the
// store: that is so for nearly all channels of a start, and they need no turn. Of a
// channel in memory the store may not know all; what happens to others from now on
// wakes them.
func (s *scanner) delivered(info channel.Channel) bool {
	if info.Gone || s.inMemory(info.ID) {
		return false
	}
	p, err := s.store.Progress(info.ID)
	if err != nil || p.Incarnation != info.Incarnation || len(p.Stragglers) > 0 ||
		p.Version != info.Version || p.Seq&channel.Told != 0 {
		return false // or a failed read, which the turn will meet again
	}
	behind, err := s.store.Webhooks(info.ID, p.Seq, 1)
	return err == nil && len(behind) == 0
}

func (s *scanner) inMemory(id channel.ID) bool {
	s.Lock()
	defer s.Unlock()
	return s.channels.byID[id] != nil
}

// sweep gives a channel a turn in which all its stragglers are offered lanes, and
// waits for room before; false when all stops.
func (s *scanner) sweep(id channel.ID) bool {
	s.Lock()
	defer s.Unlock()
	more := s.channels.awaitRoom()
	c := s.channels.get(id)
	c.stale = true
	s.channels.addDrain(c, drain{})
	return more
}
