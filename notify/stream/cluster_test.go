package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// cluster is what several nodes replicate: a log for each range, of which every node
// has applied a part of its own. Leaders have clocks of their own.
type cluster struct {
	mu       sync.Mutex
	shards   []*shard
	channels map[channel.ID]*topic
	skew     []time.Duration // of each node's clock
	delay    func() time.Duration
	unprimed bool   // bug: a new leader forgets what was closed before it
	demanded uint64 // the newest stamp that was
}

// topic is a channel.
type topic struct {
	id      channel.ID
	url     string
	shard   *shard
	version uint64
	stamps  map[uint64]uint64 // by version
}

type shard struct {
	channel.Range
	log    []entry
	newest uint64 // stamp that the leader gave or knows of
	leader int    // -1: none
	wanted uint64 // demanded while there was no leader
	nodes  []replica
}

// entry is an update, or a tick that closes a stamp.
type entry struct {
	stamp  uint64
	update *channel.Update
}

type replica struct {
	applied, arrived int  // entries
	cut              bool // what arrives is not applied
	away             bool // reads fail
	changed          chan struct{}
}

var errAway = errors.New("range cannot be read")

func newCluster(nodes, ranges, channels int, skew []time.Duration, delay func() time.Duration) *cluster {
	c := &cluster{channels: make(map[channel.ID]*topic), skew: skew, delay: delay}
	for i := range ranges {
		r := channel.Range{ID: uint32(i), From: channel.Bucket(i * channel.Buckets / ranges), To: channel.Bucket((i+1)*channel.Buckets/ranges - 1)}
		c.shards = append(c.shards, &shard{Range: r, leader: i % nodes, nodes: make([]replica, nodes)})
	}
	for i := 0; len(c.channels) < channels; i++ {
		url := fmt.Sprint("c", i)
		id := channel.IDOf(url)
		of := c.shards[int(id.Bucket())*ranges/channel.Buckets]
		c.channels[id] = &topic{id: id, url: url, shard: of, version: 1, stamps: make(map[uint64]uint64)}
	}
	return c
}

// commit publishes a channel's next version; not while its range has no leader.
func (c *cluster) commit(t *topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := t.shard
	if s.leader < 0 {
		return
	}
	t.version++
	stamp := max(s.newest+1, c.wall(s))
	t.stamps[t.version] = stamp
	c.append(s, entry{stamp, &channel.Update{Channel: t.id, URL: t.url, Incarnation: 1, Version: t.version, Stamp: stamp, Data: memstore.Encoded(t.version)}})
}

func (c *cluster) wall(s *shard) uint64 {
	return uint64(time.Now().Add(c.skew[s.leader]).UnixMicro())
}

// tick closes what was demanded of a range; Locked.
func (c *cluster) tick(s *shard, stamp uint64) {
	if s.leader < 0 {
		s.wanted = max(s.wanted, stamp)
		return
	}
	if s.newest < stamp {
		near := uint64(time.Now().Add(5 * time.Second).UnixMicro())
		c.append(s, entry{stamp: max(s.newest+1, c.wall(s), min(stamp, near))})
	}
}

// append commits an entry, which arrives at every node some time later.
func (c *cluster) append(s *shard, e entry) {
	s.newest = max(s.newest, e.stamp)
	s.log = append(s.log, e)
	length := len(s.log)
	for node := range s.nodes {
		time.AfterFunc(c.delay(), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.nodes[node].arrived = max(s.nodes[node].arrived, length)
			s.apply(node)
		})
	}
}

func (s *shard) apply(node int) {
	r := &s.nodes[node]
	if r.cut || r.applied == r.arrived {
		return
	}
	r.applied = r.arrived
	r.ring()
}

func (r *replica) ring() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// lead gives a range a leader, -1 for none. Its clock goes on behind everything in the
// log, or, with the bug, behind the updates alone.
func (c *cluster) lead(s *shard, node int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.leader, s.newest = node, 0
	for _, e := range s.log {
		if !c.unprimed || e.update != nil {
			s.newest = max(s.newest, e.stamp)
		}
	}
	if node >= 0 && s.wanted > 0 {
		c.tick(s, s.wanted)
		s.wanted = 0
	}
}

// set cuts a node off a range, or has its reads fail, or heals it.
func (c *cluster) set(s *shard, node int, cut, away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.nodes[node].cut, s.nodes[node].away = cut, away
	s.apply(node)
	s.nodes[node].ring()
}

// view is the store as one node sees it.
type view struct {
	*cluster
	node int
}

func (v view) Table() (table []channel.Range) {
	for _, s := range v.shards {
		table = append(table, s.Range)
	}
	return table
}

func (v view) ClosedIn(r channel.Range) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.closed(v.shards[r.ID])
}

// Locked.
func (v view) closed(s *shard) (stamp uint64) {
	for _, e := range s.log[:s.nodes[v.node].applied] {
		stamp = max(stamp, e.stamp)
	}
	return stamp
}

func (v view) Since(_ context.Context, of channel.Range, after channel.Cursor, limit int) (updates []channel.Update, closed uint64, more bool, err error) {
	return v.since(of, after, limit, func(channel.ID) bool { return true })
}

func (v view) since(of channel.Range, after channel.Cursor, limit int, chosen func(channel.ID) bool) (updates []channel.Update, closed uint64, more bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.shards[of.ID]
	if s.nodes[v.node].away {
		return nil, 0, false, errAway
	}
	for _, e := range s.log[:s.nodes[v.node].applied] {
		switch {
		case e.update == nil || !after.Less(e.update.Cursor()) || !chosen(e.update.Channel):
		case len(updates) == limit:
			return updates, v.closed(s), true, nil
		default:
			updates = append(updates, *e.update)
		}
	}
	return updates, v.closed(s), false, nil
}

func (v view) Changed(of channel.Range) <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.shards[of.ID].nodes[v.node]
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

func (v view) Demand(of channel.Range, stamp uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.demanded = max(v.demanded, stamp)
	v.tick(v.shards[of.ID], stamp)
}

func (v view) SinceOf(_ context.Context, of channel.Range, chosen []channel.ID, after channel.Cursor, limit int) (kept channel.Kept, err error) {
	kept.Updates, kept.Closed, kept.More, err = v.since(of, after, limit, func(id channel.ID) bool { return slices.Contains(chosen, id) })
	return kept, err
}

func (v view) Beginnings(_ context.Context, ids []string, _ bool) ([]channel.Beginning, error) {
	return nil, channel.ErrNotFound
}
