package run

import (
	"math/rand/v2"
	"sync"

	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
)

// crowd is who subscribes to what.
type crowd struct {
	wanted  []int32 // channels of the subscriptions to come, in their order
	random  *rand.Rand
	webhook float64
	manners []sink.Manner // by endpoint

	mu struct {
		sync.RWMutex
		numbers map[string]int // the tracker's, by the node's ID
		counts  []float64      // subscriptions by channel
		streams []member       // SSE subscriptions that no stream reads yet
	}
}

// member is an SSE subscription.
type member struct {
	channel string // its ID
	sink.Member
}

func newCrowd(s *scenario.Scenario) *crowd {
	c := &crowd{random: rand.New(rand.NewPCG(s.Seed, 0)), webhook: float64(s.Subscriptions.Sinks.Webhook)}
	c.mu.numbers = make(map[string]int)
	c.mu.counts = make([]float64, s.Origins.Channels)
	c.manners = manners(&s.Subscriptions)
	ranks := c.random.Perm(s.Origins.Channels)
	for rank, share := range scenario.Shares(s.Origins.Channels, s.Subscriptions.Count, s.Origins.Popularity.Exponent) {
		for range share {
			c.wanted = append(c.wanted, int32(ranks[rank]))
		}
	}
	c.random.Shuffle(len(c.wanted), func(i, j int) { c.wanted[i], c.wanted[j] = c.wanted[j], c.wanted[i] })
	return c
}

// manners spreads those of sick endpoints over all.
func manners(s *scenario.Subscriptions) []sink.Manner {
	all := make([]sink.Manner, s.Endpoints)
	hang := int(float64(s.Hang)*float64(s.Endpoints) + 0.5)
	fail := int(float64(s.Fail)*float64(s.Endpoints) + 0.5)
	for i := range all {
		switch {
		case i < hang:
			all[i] = sink.Hangs
		case i < hang+fail:
			all[i] = sink.Fails
		}
	}
	return all
}

// number returns the tracker's number of a subscription.
func (c *crowd) number(id string) (number int, known bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	number, known = c.mu.numbers[id]
	return number, known
}

// subscribers returns the subscriptions by channel.
func (c *crowd) subscribers() []float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return append([]float64(nil), c.mu.counts...)
}

// total returns the number of subscriptions.
func (c *crowd) total() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.mu.numbers)
}

// unread returns the SSE subscriptions that no stream reads yet, by so many streams at
// most, and forgets them.
func (c *crowd) unread(streams int) (groups []map[string][]sink.Member) {
	c.mu.Lock()
	members := c.mu.streams
	c.mu.streams = nil
	c.mu.Unlock()
	for i, m := range members {
		if i < streams {
			groups = append(groups, make(map[string][]sink.Member))
		}
		group := groups[i%len(groups)]
		group[m.channel] = append(group[m.channel], m.Member)
	}
	return groups
}
