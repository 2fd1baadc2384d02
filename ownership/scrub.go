package ownership

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
)

// scrubPause is what a scrub rests after each megabyte of a bucket, so that a large one
// leaves the disk to others.
const scrubPause = 50 * time.Millisecond

// scrubber reads the states of this node's replicas, so that damage is known before the other
// replicas have it too, and has the replicas of the ranges that this node leads compared.
type scrubber struct {
	*router
	interval time.Duration // Config.ScrubInterval
	compare  *comparer
	damage   damagedBuckets
}

// run reads bucket by bucket, all of them once in each interval, until ctx ends. It begins at any
// bucket: a node that restarts often would otherwise never come to the last.
func (s *scrubber) run(ctx context.Context) {
	b := rand.N(channel.Bucket(channel.Buckets))
	every(ctx, max(s.interval/channel.Buckets, time.Millisecond), func() {
		s.visit(ctx, b)
		b = (b + 1) % channel.Buckets
	})
}

// visit reads one bucket, and has its replicas compared where it is whole.
func (s *scrubber) visit(ctx context.Context, b channel.Bucket) {
	if s.read(ctx, b) && s.net != nil {
		s.compare.start(ctx, b)
	}
}

func pauseScrub(ctx context.Context) {
	select {
	case <-time.After(scrubPause):
	case <-ctx.Done():
	}
}

// read reads one bucket, if this node has a replica of its range, and reports
// damage. It is false if the replica is damaged for certain: of records that do not fit
// together a comparison tells whether the others have the same.
func (s *scrubber) read(ctx context.Context, b channel.Bucket) bool {
	r := s.of(b)
	g := r.local()
	if g == nil {
		return false
	}
	bytes, err := s.state.Scrub(ctx, b, func() { pauseScrub(ctx) })
	m := s.tools.metrics
	m.scrubbed.Inc()
	m.scrubbedBytes.Add(float64(bytes))
	switch {
	case err == nil:
		s.damage.whole(b)
		return true
	case errors.Is(err, ErrCorrupt):
		m.scrubDamage.Inc()
		s.damage.found(b, g.seat.id)
		s.tools.log.Error("damage in the state of a range", "range", r.ID, "bucket", b, "error", err)
		_ = s.repairs.refuse(g, err) // so that what is damaged is filled again, where others have it
		return !isDamage(err)
	case ctx.Err() == nil:
		s.tools.log.Warn("a bucket could not be scrubbed", "range", r.ID, "bucket", b, "error", err)
	}
	return false
}

// damagedBuckets are where the last scrub found some, with the replica that it read.
type damagedBuckets struct {
	mu      sync.Mutex
	buckets map[channel.Bucket]raft.ServerID
}

func (d *damagedBuckets) found(b channel.Bucket, replica raft.ServerID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.buckets == nil {
		d.buckets = make(map[channel.Bucket]raft.ServerID)
	}
	d.buckets[b] = replica
}

// whole notes that a bucket was read and has no damage.
func (d *damagedBuckets) whole(b channel.Bucket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.buckets, b)
}

// damaged returns how many buckets of this node are damaged. Another replica than the one
// that was read has its state from other nodes.
func (s *scrubber) damaged() (n int) {
	d := &s.damage
	d.mu.Lock()
	defer d.mu.Unlock()
	for b, replica := range d.buckets {
		if g := s.of(b).local(); g != nil && g.seat.id == replica {
			n++
		}
	}
	return n
}
