package schedule

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// shares is what this node may take of the caps of hosts. A node alone takes all; of
// several each has its part of [channel.KeptBack], and beside that what it was granted.
type shares[C any] struct {
	interval int64
	nodes    int
	unasked  int64      // part of each cap that needs no grant, in millionths
	asking   []*Host[C] // all that need more than that, and some that did
}

// pollUnit is one poll an interval, in units of Host.load.
const pollUnit = 1e6

const (
	// patience is how long first polls and what else waits at a host take, where the cap
	// allows it.
	patience = int64(30 * time.Second)

	// headroom is by how much more than its channels need a node asks for, in hundredths:
	// with just as much as is needed polls that come at one time wait for long.
	headroom = 125
)

func newShares[C any](c Config) shares[C] {
	return shares[C]{interval: int64(c.Interval), nodes: c.Nodes, unasked: channel.Unasked(c.Nodes)}
}

// among says that so many nodes share what hosts take.
func (s *shares[C]) among(nodes int) { s.nodes, s.unasked = nodes, channel.Unasked(nodes) }

// apart returns the gap between requests of all nodes that keeps to a cap which a node alone
// keeps to with another gap.
func (s *shares[C]) apart(alone int64) int64 {
	if s.nodes <= 1 || alone <= 0 {
		return alone
	}
	requests := float64(s.interval) / float64(alone)
	return int64(float64(s.interval) / channel.Shared(requests, s.nodes))
}

// partOf returns which part of a host's cap this node may take.
func (s *hosts[C]) partOf(h *Host[C], now int64) int64 {
	if now < h.granted {
		return s.shares.unasked + h.grant
	}
	return s.shares.unasked
}

// freeAfter returns when such a part of a gap is over that begins at a time: a grant may
// end meanwhile, and what is left of the gap passes more slowly then.
func (s *hosts[C]) freeAfter(h *Host[C], from int64, owed float64) int64 {
	if from < h.granted {
		gap := float64(s.gapOf(h, s.shares.unasked+h.grant))
		left := float64(h.granted - from)
		if owed*gap <= left {
			return from + int64(owed*gap)
		}
		from, owed = h.granted, owed-left/gap
	}
	return from + int64(owed*float64(s.gapOf(h, s.shares.unasked)))
}

// owed returns which part of a host's gap is not over, as freeAfter counts.
func (s *hosts[C]) owed(h *Host[C], now int64) (part float64) {
	if h.freeAt <= now {
		return 0
	}
	if now < h.granted {
		end := min(h.granted, h.freeAt)
		part = quotient(end-now, s.gapOf(h, s.shares.unasked+h.grant))
		now = end
	}
	return part + quotient(h.freeAt-now, s.gapOf(h, s.shares.unasked))
}

func quotient(of, by int64) float64 {
	if by <= 0 {
		return 0
	}
	return float64(of) / float64(by)
}

// Grant lets this node take more of a host's cap until a time, or less. What has passed of
// the gap since the last request counts for as much as it was worth then.
func (s *Schedule[C]) Grant(host channel.ID, part, until, now int64) {
	h := s.hosts.byID[host]
	if h == nil || s.hosts.shares.unasked == channel.WholeCap {
		return
	}
	s.share(h, now, func() { h.grant, h.granted = part, until })
}

// SetNodes changes how many nodes share what hosts take, as Grant changes what one host
// gives. It goes through all hosts.
func (s *Schedule[C]) SetNodes(nodes int, now int64) {
	shares := &s.hosts.shares
	before := shares.nodes
	if nodes == before {
		return
	}
	for _, h := range s.hosts.byID {
		shares.among(before)
		s.share(h, now, func() { shares.among(nodes) })
		s.hosts.weigh(h)
	}
	shares.among(nodes)
}

// share changes this node's part of a host's cap.
func (s *Schedule[C]) share(h *Host[C], now int64, change func()) {
	owed := s.hosts.owed(h, now)
	change()
	if h.freeAt > now {
		h.freeAt = s.hosts.freeAfter(h, now, owed)
	}
	if h.state == hostSpaced {
		s.spaced.set(h, h.freeAt)
	}
	s.place(h, now)
}

// bear counts the polls of a host's targets, which are this node's; nil is no host.
func (s *hosts[C]) bear(h *Host[C], more int64) {
	if h == nil || more == 0 {
		return
	}
	h.load += more
	s.weigh(h)
}

// need returns which part of a host's cap its targets and what waits there need; 0 where
// it has no cap.
func (s *hosts[C]) need(h *Host[C]) int64 {
	polls := float64(h.load)/pollUnit/float64(s.shares.interval) + float64(h.waiting)/float64(patience) // a nanosecond
	return int64(min(polls*float64(s.capGap(h))*headroom/100, 1) * channel.WholeCap)
}

// weigh notes a host that needs more than this node may take without a grant.
func (s *hosts[C]) weigh(h *Host[C]) {
	if s.shares.unasked == channel.WholeCap || h.asks || s.need(h) <= s.shares.unasked {
		return
	}
	h.asks = true
	s.shares.asking = append(s.shares.asking, h)
}

// Demands returns the hosts of whose caps this node needs more than it may take without a
// grant.
func (s *Schedule[C]) Demands() (all []channel.Demand) {
	asking := s.hosts.shares.asking
	kept := asking[:0]
	for _, h := range asking {
		need := s.hosts.need(h)
		if h.asks = need > s.hosts.shares.unasked; h.asks {
			kept = append(kept, h)
			all = append(all, channel.Demand{Host: h.ID, Part: need})
		}
	}
	clear(asking[len(kept):])
	s.hosts.shares.asking = kept
	return all
}
