package ownership

import (
	"slices"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// occupancy sees to it that the replicas of this node have no bucket in common.
type occupancy struct {
	*router
	mu struct {
		sync.Mutex
		reserved *channel.Range // of a replica that is being opened
	}
}

// covered reports whether a replica of another range here has buckets of a range, or is being
// sent a state with them: it has not been split yet.
func (o *occupancy) covered(r channel.Range) bool {
	return slices.ContainsFunc(o.groups(), func(g *group) bool {
		other := g.rng()
		other.To = max(other.To, channel.Bucket(g.fsm.transfer.incoming.Load()))
		return other.ID != r.ID && other.From <= r.To && r.From <= other.To
	})
}

// reserve keeps states of other ranges out of the buckets of a range until its replica here is
// open. It is false while another replica has some of them.
func (o *occupancy) reserve(r channel.Range) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.covered(r) {
		return false
	}
	o.mu.reserved = &r
	return true
}

func (o *occupancy) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.reserved = nil
}

// admit says that a replica of a range is about to be sent a state that ends at a bucket. It
// returns the last one that it may have: what lies behind is another range's here.
func (o *occupancy) admit(g *group, all channel.Range, to channel.Bucket) channel.Bucket {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := all.To
	for _, other := range o.groups() {
		if other.all.From > all.From {
			last = min(last, other.all.From-1)
		}
	}
	if o.mu.reserved != nil && o.mu.reserved.From > all.From {
		last = min(last, o.mu.reserved.From-1)
	}
	if to <= last {
		g.fsm.transfer.incoming.Store(uint32(to))
	}
	return last
}
