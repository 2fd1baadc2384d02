package ownership

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// Replicas are compared bucket by bucket, at the pace of the scrub: the leader commits a
// Compare, each replica takes a view of the bucket right behind that entry, hashes it beside
// all else and tells the leader. A replica whose hash is not that of a majority is damaged.

// comparer hashes the buckets of this node's replicas, and judges the hashes of the ranges
// that this node leads.
type comparer struct {
	*changes
	views  chan bucketView
	report Call[hashReport, struct{}]
	mu     struct {
		sync.Mutex
		closed bool
		ranges map[uint32]*comparison // the newest of each range
	}
}

// bucketView is a bucket of a replica behind an entry.
type bucketView struct {
	group  *group
	bucket channel.Bucket
	index  uint64
	view   *state.View
}

// hashReport says what a replica has in a bucket behind an entry.
type hashReport struct {
	Replica string // raft server ID
	Bucket  channel.Bucket
	Index   uint64
	Sum     [sha256.Size]byte
}

// comparison is what replicas have said of one bucket behind one entry.
type comparison struct {
	index  uint64
	bucket channel.Bucket
	sums   map[string][sha256.Size]byte // by replica
}

// order tells earlier comparisons of a range from later ones; an entry may have several.
func (c *comparison) order(report hashReport) int {
	return cmp.Or(cmp.Compare(c.index, report.Index), cmp.Compare(c.bucket, report.Bucket))
}

// waitingViews is how many views may wait to be hashed: each pins files. A replica that is
// behind by more leaves a comparison out.
const waitingViews = 4

func newComparer(changes *changes) *comparer {
	c := &comparer{changes: changes, views: make(chan bucketView, waitingViews)}
	c.mu.ranges = make(map[uint32]*comparison)
	c.report = newCall(c.router, "hash", func(ctx context.Context, r channel.Range, report hashReport) (struct{}, error) {
		return struct{}{}, c.judge(ctx, c.of(r.From), report)
	})
	return c
}

// take has buckets of a replica hashed as they are now. It is of the replica's raft loop.
func (c *comparer) take(g *group, buckets []channel.Bucket, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		if c.mu.closed || len(c.views) == cap(c.views) {
			return
		}
		view, err := g.state.View(b)
		if err != nil {
			g.tools.log.Warn("a bucket cannot be compared", "range", g.id, "bucket", b, "error", err)
			return
		}
		c.views <- bucketView{g, b, index, view}
	}
}

// close ends all views, and lets none be taken any more.
func (c *comparer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	for len(c.views) > 0 {
		v := <-c.views
		_ = v.view.Close() // what it read is wanted no more
	}
}

// hash hashes what take gives it, until ctx ends.
func (c *comparer) hash(ctx context.Context) {
	for {
		select {
		case v := <-c.views:
			c.hashOne(ctx, v)
		case <-ctx.Done():
			return
		}
	}
}

func (c *comparer) hashOne(ctx context.Context, v bucketView) {
	sum, err := v.view.Hash(ctx, func() { pauseScrub(ctx) })
	if err := errors.Join(err, v.view.Close()); err != nil {
		if ctx.Err() == nil {
			_ = c.repairs.refuse(v.group, err)
			c.tools.log.Warn("a bucket cannot be compared", "range", v.group.id, "bucket", v.bucket, "error", err)
		}
		return
	}
	report := hashReport{Replica: string(v.group.seat.id), Bucket: v.bucket, Index: v.index, Sum: sum}
	if _, err := c.report.At(ctx, v.bucket, report); err != nil {
		c.tools.log.Debug("a bucket was not compared", "range", v.group.id, "bucket", v.bucket, "error", err)
	}
}

// start commits a Compare of a bucket whose range this node leads, if all nodes
// know such commands.
func (c *comparer) start(ctx context.Context, b channel.Bucket) {
	if !c.of(b).serves() || c.version.Load() < comparedSince {
		return
	}
	if err := c.doHere(ctx, c.of(b), state.NewCompare(b)); err != nil && ctx.Err() == nil {
		c.tools.log.Debug("a bucket was not compared", "range", c.of(b).ID, "bucket", b, "error", err)
	}
}

// comparedSince is the first version of the state machine that has Compare.
const comparedSince = 5

// judge takes a replica's hash of a range that this node leads, and tells the cluster of the
// replicas that differ.
func (c *comparer) judge(ctx context.Context, way *route, report hashReport) error {
	g := way.serving()
	if g == nil {
		return errElsewhere
	}
	voters := votersOf(g.raft)
	if !slices.Contains(voters, report.Replica) {
		return nil
	}
	odd, agreed := c.collect(g.id, report, len(voters))
	if agreed {
		c.tools.metrics.compared.Inc()
	}
	var errs []error
	for _, replica := range odd {
		c.tools.metrics.compareDiffers.Inc()
		c.tools.log.Error("a replica differs from most of its range", "range", g.id, "bucket", report.Bucket, "entry", report.Index, "replica", replica)
		errs = append(errs, c.damaged(ctx, g.id, replica))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tell of a damaged replica: %w", err)
	}
	return nil
}

// collect adds a hash. It returns the replicas that differ from a majority of the voters, as
// far as they are newly known to, and whether this hash has made the majority.
func (c *comparer) collect(id uint32, report hashReport, voters int) (odd []string, agreed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.mu.ranges[id]
	switch {
	case have == nil || have.order(report) < 0:
		have = &comparison{index: report.Index, bucket: report.Bucket, sums: make(map[string][sha256.Size]byte)}
		c.mu.ranges[id] = have
	case have.order(report) > 0:
		return nil, false
	}
	before := have.odd(voters)
	_, decided := have.majority(voters)
	have.sums[report.Replica] = report.Sum
	_, decides := have.majority(voters)
	odd = slices.DeleteFunc(have.odd(voters), func(replica string) bool { return slices.Contains(before, replica) })
	return odd, decides && !decided
}

// majority returns the hash that most of all voters have, false while none is known to.
func (c *comparison) majority(voters int) (sum [sha256.Size]byte, known bool) {
	counts := make(map[[sha256.Size]byte]int)
	for _, each := range c.sums {
		if counts[each]++; counts[each] > voters/2 {
			return each, true
		}
	}
	return sum, false
}

// odd returns the replicas whose hash is another one than that of a majority, sorted.
func (c *comparison) odd(voters int) (odd []string) {
	most, known := c.majority(voters)
	if !known {
		return nil
	}
	for replica, sum := range c.sums {
		if sum != most {
			odd = append(odd, replica)
		}
	}
	slices.Sort(odd)
	return odd
}

// votersOf returns the raft server IDs of a group's voters.
func votersOf(r *raft.Raft) (ids []string) {
	for _, server := range r.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			ids = append(ids, string(server.ID))
		}
	}
	return ids
}
