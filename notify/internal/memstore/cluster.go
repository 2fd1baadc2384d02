package memstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Everything is the range of a store that has one.
var Everything = channel.Range{To: channel.Buckets - 1}

// RangeHooks are told which ranges they lead.
type RangeHooks interface {
	Hooks
	RangeGained(r channel.Range, term uint64)
	RangeLost(r channel.Range, term uint64)
}

// Cluster gives the ranges of a store leaders: each leader is told of the changes of its
// ranges alone, and writes only to these. Connect the store to it.
type Cluster struct {
	store *Store

	mu      sync.Mutex
	leaders map[channel.Range]*Member
	term    uint64
}

// Member is what one node of a cluster has of the store.
type Member struct {
	*Store
	cluster *Cluster
	hooks   RangeHooks

	// Pause is called between a read and its return, and around a write, which takes as
	// long as it does; nil: neither takes time.
	Pause func()
}

func (m *Member) pause() {
	if m.Pause != nil {
		m.Pause()
	}
}

// NewCluster returns a cluster of a store with some ranges of equal width, none of which
// has a leader.
func NewCluster(s *Store, ranges int) *Cluster {
	c := &Cluster{store: s, leaders: make(map[channel.Range]*Member)}
	width := channel.Buckets / ranges
	for i := range ranges {
		r := channel.Range{ID: uint32(i), From: channel.Bucket(i * width), To: channel.Bucket((i+1)*width - 1)}
		c.leaders[r] = nil
	}
	s.Connect(c)
	s.shared = true
	return c
}

// Member returns another node's access to the store. Its hooks follow with Join.
func (c *Cluster) Member() *Member { return &Member{Store: c.store, cluster: c} }

// Join has a member's changes told to hooks.
func (m *Member) Join(hooks RangeHooks) { m.hooks = hooks }

// Ranges returns the ranges in the order of their buckets.
func (c *Cluster) Ranges() []channel.Range {
	c.mu.Lock()
	defer c.mu.Unlock()
	ranges := make([]channel.Range, 0, len(c.leaders))
	for r := range c.leaders {
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b channel.Range) int { return int(a.From) - int(b.From) })
	return ranges
}

// Lead makes a member the leader of a range; nil: none. What the leader before was told
// last is that it has lost the range.
func (c *Cluster) Lead(r channel.Range, leader *Member) {
	c.mu.Lock()
	before := c.leaders[r]
	c.leaders[r] = nil
	c.term++
	term := c.term
	c.mu.Unlock()
	if before != nil {
		before.hooks.RangeLost(r, term-1)
	}
	if leader == nil {
		return
	}
	c.mu.Lock()
	c.leaders[r] = leader
	c.mu.Unlock()
	leader.hooks.RangeGained(r, term)
}

// Leader returns a range's leader, nil when it has none.
func (c *Cluster) Leader(r channel.Range) *Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaders[r]
}

// leader returns the hooks of a channel's leader; false when there is none.
func (c *Cluster) leader(id channel.ID) (RangeHooks, bool) {
	m := c.of(id)
	if m == nil {
		return nil, false
	}
	return m.hooks, true
}

func (c *Cluster) of(id channel.ID) *Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r, m := range c.leaders {
		if r.Has(id.Bucket()) {
			return m
		}
	}
	return nil
}

// Channel is [Store.Channel], as the reads that follow.
func (m *Member) Channel(id channel.ID) (channel.Channel, error) {
	defer m.pause()
	return m.Store.Channel(id)
}

func (m *Member) ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	defer m.pause()
	return m.Store.ChannelsIn(r, after, limit)
}

func (m *Member) Webhooks(id channel.ID, after uint64, limit int) ([]channel.Subscription, error) {
	defer m.pause()
	return m.Store.Webhooks(id, after, limit)
}

func (m *Member) Progress(id channel.ID) (channel.Progress, error) {
	defer m.pause()
	return m.Store.Progress(id)
}

func (m *Member) EndpointsIn(r channel.Range) ([]channel.Endpoint, error) {
	defer m.pause()
	return m.Store.EndpointsIn(r)
}

// Advance fails, as a whole, unless the member leads the range of all positions, which
// must be one.
func (m *Member) Advance(ctx context.Context, positions []channel.Progress) error {
	m.pause()
	defer m.pause()
	for _, p := range positions {
		if m.cluster.of(p.Channel) != m {
			return fmt.Errorf("positions of channel %s: %w", p.Channel, ErrNotLed)
		}
	}
	return m.Store.Advance(ctx, positions)
}

// SetEndpoint fails unless the member leads the endpoint's range.
func (m *Member) SetEndpoint(ctx context.Context, e, was channel.Endpoint) error {
	m.pause()
	defer m.pause()
	if m.cluster.of(channel.IDOf(e.URL)) != m {
		return fmt.Errorf("endpoint %s: %w", e.URL, ErrNotLed)
	}
	return m.Store.SetEndpoint(ctx, e, was)
}

// ErrNotLed is what a member's write to another's range fails with.
var ErrNotLed = fmt.Errorf("not the leader: %w", ErrDown)

// ChannelChanged implements [Hooks], as do those that follow.
func (c *Cluster) ChannelChanged(ch channel.Channel, ended bool) {
	if hooks, ok := c.leader(ch.ID); ok {
		hooks.ChannelChanged(ch, ended)
	}
}

func (c *Cluster) Committed(u channel.Update, webhooks uint64) {
	if hooks, ok := c.leader(u.Channel); ok {
		hooks.Committed(u, webhooks)
	}
}

func (c *Cluster) Subscribed(sub channel.Subscription) {
	if hooks, ok := c.leader(sub.Channel); ok {
		hooks.Subscribed(sub)
	}
}

func (c *Cluster) Unsubscribed(sub channel.Subscription) {
	if hooks, ok := c.leader(sub.Channel); ok {
		hooks.Unsubscribed(sub)
	}
}
