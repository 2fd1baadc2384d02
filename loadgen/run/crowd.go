package run

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
)

// crowd is who subscribes to what.
type crowd struct {
	wanted  []int32 // channels of the subscriptions to come, in their order
	webhook float64
	manners []sink.Manner // by endpoint
	keep    bool          // IDs, by which subscriptions can be ended

	mu struct {
		sync.RWMutex
		random  *rand.Rand
		ordered int32          // so far
		numbers map[string]int // the tracker's, by the node's ID
		counts  []float64      // subscriptions by channel
		streams []member       // SSE subscriptions that no stream reads yet
		lasting []left         // those that can be ended, if IDs are kept
	}
}

// order is a subscription that is to be made.
type order struct {
	number   int32 // of all orders
	channel  int32
	endpoint int32 // of a webhook; -1: SSE
}

// member is an SSE subscription.
type member struct {
	channel string // its ID
	sink.Member
}

// left is a subscription that can be ended.
type left struct {
	channel int32
	number  int // the tracker's
	id      string
}

func newCrowd(s *scenario.Scenario, places []int32, channels int) *crowd {
	c := &crowd{webhook: float64(s.Subscriptions.Sinks.Webhook), manners: manners(&s.Subscriptions)}
	random := rand.New(rand.NewPCG(s.Seed, 0))
	c.mu.random = random
	c.mu.numbers = make(map[string]int)
	c.mu.counts = make([]float64, channels)
	c.keep = slices.ContainsFunc(s.Events, func(e scenario.Event) bool { return e.Do == scenario.Leave })
	ranks := random.Perm(len(places))
	for rank, share := range scenario.Shares(len(places), s.Subscriptions.Count, s.Origins.Popularity.Exponent) {
		for range share {
			c.wanted = append(c.wanted, places[ranks[rank]])
		}
	}
	random.Shuffle(len(c.wanted), func(i, j int) { c.wanted[i], c.wanted[j] = c.wanted[j], c.wanted[i] })
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

// orders gives subscriptions to channels their sinks.
func (c *crowd) orders(channels []int32) []order {
	c.mu.Lock()
	defer c.mu.Unlock()
	orders := make([]order, 0, len(channels))
	for _, channel := range channels {
		o := order{c.mu.ordered, channel, -1}
		if c.mu.random.Float64() < c.webhook {
			o.endpoint = c.mu.random.Int32N(int32(len(c.manners)))
		}
		orders = append(orders, o)
		c.mu.ordered++
	}
	return orders
}

// add notes a subscription that there is, under the tracker's number.
func (c *crowd) add(o order, number int, made *api.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.numbers[made.ID] = number
	c.mu.counts[o.channel]++
	if o.endpoint < 0 {
		c.mu.streams = append(c.mu.streams, member{made.Channel.String(), sink.Member{Number: number, ID: made.ID, From: made.FromVersion}})
	}
	if c.keep {
		c.mu.lasting = append(c.mu.lasting, left{o.channel, number, made.ID})
	}
}

// leave chooses a share of the subscriptions that last, which last no longer.
func (c *crowd) leave(share float64) []left {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.mu.lasting
	slices.SortFunc(all, func(a, b left) int { return cmp.Compare(a.number, b.number) })
	c.mu.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n := int(share * float64(len(all)))
	for _, l := range all[:n] {
		c.mu.counts[l.channel]--
	}
	c.mu.lasting = all[n:]
	return all[:n]
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
	return slices.Clone(c.mu.counts)
}

// lasting returns how many channels and subscriptions there are.
func (c *crowd) lasting() (channels, subscriptions int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, q := range c.mu.counts {
		if q > 0 {
			channels, subscriptions = channels+1, subscriptions+int(q)
		}
	}
	return channels, subscriptions
}

// total returns the number of subscriptions that were ever made.
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
	if streams == 0 {
		return nil
	}
	for i, m := range members {
		if i < streams {
			groups = append(groups, make(map[string][]sink.Member))
		}
		group := groups[i%len(groups)]
		group[m.channel] = append(group[m.channel], m.Member)
	}
	return groups
}
