package ownership

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
)

// Lease is for how long after a majority of a range's voters have confirmed a heartbeat its
// leader may take itself for the only one, counted from when the heartbeat was sent.
//
// Another leader needs the vote of one of them after that. So whoever waits for Lease after
// it was elected finds no lease of a leader before it, whether that was killed, is suspended
// or has handed over: it rests on no timeout of raft's, and on clocks only in that they run
// alike for a second. Raft's own lease counts from when the answer was read, which in a
// process that was suspended may be long after.
const Lease = time.Second

// Leased reports that no other node has led the range of a bucket for as long as Lease. It
// does not block.
func (s *Store) Leased(b channel.Bucket) bool {
	r := s.of[b]
	return r.serves() && r.local.lease.stands(r.local)
}

// lease is what a group knows of the confirmations of its heartbeats.
type lease struct{ until atomic.Int64 } // since processStart; it is looked up again when it is over

// processStart is what times of leases count from, by the clock that is never set.
var processStart = time.Now()

func (l *lease) stands(g *group) bool {
	if g.seat.net == nil {
		return true
	}
	now := time.Since(processStart)
	if now < time.Duration(l.until.Load()) {
		return true
	}
	until := g.confirmed(time.Now()).Add(Lease).Sub(processStart)
	l.until.Store(int64(until))
	return now < until
}

// confirmed returns an instant at or after which each of a majority of the range's voters,
// this replica among them, was at no later term than this replica, given that it is now.
func (g *group) confirmed(now time.Time) time.Time {
	self, err := raftnet.ParseID(g.id, g.seat.id)
	if err != nil {
		return time.Time{}
	}
	var times []time.Time
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		switch {
		case server.Suffrage != raft.Voter:
		case server.ID == g.seat.id:
			times = append(times, now)
		default:
			times = append(times, g.seat.net.raft.Confirmed(self, server.ID))
		}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	if len(times) == 0 {
		return time.Time{}
	}
	return times[len(times)/2]
}
