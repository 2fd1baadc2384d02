package corona

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/peer"
)

// tellWithin is how long a node has to hear what it is told.
const tellWithin = 5 * time.Second

// tell keeps what the other nodes are to be told, in the place of what they have not been
// told yet.
func (c *company) tell(tradeoffs []byte) {
	select {
	case <-c.tradeoffs:
	default:
	}
	c.tradeoffs <- tradeoffs // its owner tells one at a time
}

// exchange tells the other nodes the tradeoffs of this one's ranges, until ctx is done.
// One that does not hear them is told again with the next: after a maintenance interval at
// the latest.
func (n *Node) exchange(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case tradeoffs := <-n.company.tradeoffs:
			n.tellAll(ctx, tradeoffs)
		}
	}
}

func (n *Node) tellAll(ctx context.Context, tradeoffs []byte) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	var telling sync.WaitGroup
	for _, node := range n.store.Nodes() {
		if !node.Self {
			telling.Go(func() { n.tellOne(ctx, node.ID, tradeoffs) })
		}
	}
	telling.Wait()
}

func (n *Node) tellOne(ctx context.Context, node string, tradeoffs []byte) {
	reply, err := n.company.peers.Call(ctx, node, peer.Log, kindTradeoffs, 0, tradeoffs)
	if err == nil && len(reply) > 0 {
		err = n.owner.Hear(reply)
	}
	if err != nil && ctx.Err() == nil {
		n.config.Logger.Debug("cannot exchange tradeoffs", "node", node, "error", err)
	}
}

// serveTradeoffs accepts what another node tells. The reply is what this one told last, so
// that one that starts knows the others at once.
func (c *company) serveTradeoffs(_ context.Context, call peer.Call) ([]byte, error) {
	node := c.open.Load()
	if node == nil {
		return nil, errNotOpen
	}
	if err := node.owner.Hear(call.Payload); err != nil {
		return nil, err
	}
	return node.owner.Told(), nil
}
