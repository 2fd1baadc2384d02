package wedge

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// Polled is what one poller of a channel knows of it.
type Polled struct {
	Node  string               // ID
	Stats *engine.ChannelStats // nil: it did not answer, or knows no order yet
}

// Polled asks the pollers of channels that this node owns what they know of them: each
// node once. It returns the pollers of each channel by rank; those that do not answer
// before ctx ends say nothing.
func (o *Owner) Polled(ctx context.Context, ids ...channel.ID) [][]Polled {
	all := make([][]Polled, len(ids))
	asked := make(map[string]*inquiry)
	o.mu.Lock()
	for i, id := range ids {
		nodes := o.mu.seats.get(id)
		all[i] = make([]Polled, len(nodes))
		for rank, node := range nodes {
			all[i][rank].Node = node
			if asked[node] == nil {
				asked[node] = new(inquiry)
			}
			asked[node].add(id, &all[i][rank])
		}
	}
	o.mu.Unlock()
	var asking sync.WaitGroup
	for node, one := range asked {
		asking.Go(func() {
			if err := one.ask(ctx, o, node); err != nil {
				o.config.Logger.Debug("a poller does not say what it polls", "node", node, "error", err)
			}
		})
	}
	asking.Wait()
	return all
}

// inquiry is what one node is asked.
type inquiry struct {
	channels [][]byte
	to       []*Polled
}

func (q *inquiry) add(id channel.ID, to *Polled) {
	q.channels, q.to = append(q.channels, id[:]), append(q.to, to)
}

func (q *inquiry) ask(ctx context.Context, o *Owner, node string) (err error) {
	asked, reply := &wire.Asked{Channels: q.channels}, new(wire.Reply)
	if node == o.config.Self {
		err = o.local.stats(asked, reply)
	} else {
		reply, err = callNode(ctx, o.config, node, &wire.Request{Of: &wire.Request_Asked{Asked: asked}})
	}
	if err != nil {
		return err
	}
	var all []*engine.ChannelStats
	if err := json.Unmarshal(reply.GetStats(), &all); err != nil {
		return fmt.Errorf("decode what %s polls: %w", node, err)
	}
	if len(all) != len(q.to) {
		return fmt.Errorf("%s answers for %d channels of %d", node, len(all), len(q.to))
	}
	for i, stats := range all {
		q.to[i].Stats = stats
	}
	return nil
}
