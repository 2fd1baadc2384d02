package webhook

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// scan is the state of the scan of a range's channels.
type scan struct {
	due, underWay bool
	waits         bool        // it could not be read, and goes on in a while
	after         *channel.ID // where it goes on; nil: at the first channel
}

// scanner reads all channels of ranges for what is to be delivered: when a range is
// gained, and of all ranges whenever a wake or a note found no room.
type scanner struct {
	*core
	channels *channels
	wake     chan struct{} // 1
}

func newScanner(core *core, channels *channels) *scanner {
	return &scanner{core: core, channels: channels, wake: make(chan struct{}, 1)}
}

// request requests a scan of a range's channels. Locked.
func (s *scanner) request(t *tenure) {
	t.scan.due, t.scan.after = true, nil
	signal(s.wake)
}

// requestAll requests scans of all ranges. Ranges that are not served yet are scanned
// in any case. Locked.
func (s *scanner) requestAll() {
	for _, t := range s.led.All() {
		if t.serving {
			s.request(t)
		}
	}
}

// complete reports whether every straggler of the store was offered a lane: no scan
// is under way or due, and no channel still has to follow one. Locked.
func (s *scanner) complete() bool {
	for _, t := range s.led.All() {
		if !t.serving || t.scan != (scan{}) {
			return false
		}
	}
	return s.channels.sweeps == 0
}

// run scans until ctx ends.
func (s *scanner) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.metrics.scans.Inc()
		for t, after := range s.begin() {
			if !s.scan(t, after) {
				return
			}
			s.end(t)
		}
	}
}

// begin returns the ranges to be scanned, and behind which channel.
func (s *scanner) begin() map[*tenure]*channel.ID {
	s.Lock()
	defer s.Unlock()
	due := make(map[*tenure]*channel.ID)
	for _, t := range s.led.All() {
		if t.scan.due && !t.scan.waits {
			due[t] = t.scan.after
			t.scan = scan{underWay: true}
		}
	}
	return due
}

func (s *scanner) end(t *tenure) {
	s.Lock()
	defer s.Unlock()
	t.scan.underWay = false
}

// scan gives every channel of a range behind one that may have something to deliver a turn,
// while this node leads it; false when all stops.
func (s *scanner) scan(t *tenure, after *channel.ID) bool {
	for s.holds(t) {
		page, err := s.store.ChannelsIn(t.Range, after, s.limits.page)
		if err != nil {
			s.metrics.StoreFailed("channels")
			s.log.Warn("store read failed, the scan of channels waits", "range", t.ID, "error", err)
			s.goOn(t, after)
			return true
		}
		for _, info := range page {
			if info.Webhooks > 0 && (info.Version > 1 || info.Gone) && !s.delivered(info) && !s.sweep(t, info.ID) {
				return false
			}
		}
		if len(page) < s.limits.page {
			return true
		}
		after = &page[len(page)-1].ID
	}
	return true
}

// goOn has the scan of a range that cannot be read go on behind a channel, after a while: it
// holds up no other.
func (s *scanner) goOn(t *tenure, after *channel.ID) {
	s.Lock()
	defer s.Unlock()
	if !t.scan.due { // a scan that was requested meanwhile begins at the first channel
		t.scan.after = after
	}
	t.scan.waits = true
	s.later(time.Now().Add(retryStore), func() {
		t.scan.waits, t.scan.due = false, true
		signal(s.wake)
	})
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
func (s *scanner) sweep(t *tenure, id channel.ID) bool {
	s.Lock()
	defer s.Unlock()
	more := s.channels.awaitRoom()
	if t.over {
		return more
	}
	c := s.channels.get(t, id)
	c.stale = true
	s.channels.addDrain(c, drain{span: all})
	return more
}
