package ownership

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// children begins this node's replicas of ranges that were split off others.
type children struct {
	*router
	raftID raft.ServerID // of the node
	stores *stores
}

// begun reports whether a range has a log here.
func (c *children) begun(id uint32) bool {
	log, err := c.stores.log.Group(id)
	if err != nil {
		return true // to be met again
	}
	content, err := log.Snapshot()
	return err != nil || content != nil
}

// found begins the log of a range that was split off here, if the replica that this node
// is to have is one of its founders and never had a log. All founders begin with the same.
func (c *children) found(id uint32, replica string) (founded bool, err error) {
	begins, err := c.state.Founding(id)
	if err != nil || begins == nil || !slices.Contains(begins.Founders, replica) {
		return false, err
	}
	if err := c.stores.flush.flush(); err != nil { // or the state would lack what the log begins behind
		return false, err
	}
	log, err := c.stores.log.Group(id)
	if err != nil {
		return false, err
	}
	founders := loneSeat(c.raftID)
	if c.net != nil {
		if founders, _, err = seatOf(c.net, id, begins.Founders, len(begins.Founders)); err != nil {
			return false, err
		}
	}
	term := max(begins.Term, 1) // so that its leaders have later terms than those of before the split
	if err := log.SetUint64([]byte("CurrentTerm"), term); err != nil {
		return false, fmt.Errorf("found range %d: %w", id, err)
	}
	sink := &snapshotSink{store: &snapshotStore{group: id, log: log}, meta: &wire.SnapshotMeta{
		Index: begins.Index, Term: term, ConfigurationIndex: begins.Index,
		Configuration: raft.EncodeConfiguration(raft.Configuration{Servers: founders.founders}),
	}}
	if err := sink.mark(&wire.Marker{Group: id, Applied: begins.Index}); err != nil {
		return false, err
	}
	return true, sink.Close()
}

// campaignWithin bounds how long a replica waits for others to begin before it stands for
// election: later they elect one by themselves.
const campaignWithin = time.Second

// standFirst is campaign of the node that leads the range that was split: the others wait for it.
func (c *children) standFirst(g *group) {
	if err := c.campaign(g); err != nil {
		c.tools.log.Debug("a new range elects a leader by itself", "range", g.id, "error", err)
	}
}

// campaign has a replica of a range that was split off stand for election as soon as most of its
// founders can vote, unless it does by itself, as the only one: see hurry.
func (c *children) campaign(g *group) error {
	ctx, cancel := context.WithTimeout(c.running, campaignWithin)
	defer cancel()
	for {
		wish, err := newConfirmation(g, g.raft.CurrentTerm())
		if err != nil {
			return err
		}
		if wish.needs == 0 {
			return nil
		}
		c.terms.add(wish)
		if <-wish.over; wish.ok {
			break
		}
		select {
		case <-time.After(firstRetry):
		case <-g.stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	if _, leader := g.raft.LeaderWithID(); leader != "" || g.raft.State() != raft.Follower {
		return nil
	}
	return g.seat.stand(ctx, g.id)
}
