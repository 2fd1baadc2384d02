package corona

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// nodeCalls are what the node that leads a channel's range knows, or does, alone: it
// orders the channel's polls and makes its deliveries.
type nodeCalls struct {
	channel  ownership.Call[channel.ID, api.Channel]
	channels ownership.Call[channelsQuery, []api.Channel]
	explain  ownership.Call[channel.ID, api.Explanation]
	forget   ownership.Call[channel.ID, struct{}]
	test     ownership.Call[string, *api.Problem]
}

type channelsQuery struct {
	After *channel.ID
	Limit int
}

// testWithin is how long a sink's endpoint has for a test, at least.
const testWithin = 30 * time.Second

func (n *Node) newCalls() nodeCalls {
	return nodeCalls{
		channel: ownership.NewCall(n.store, "channel view", func(_ context.Context, _ channel.Range, id channel.ID) (api.Channel, error) {
			return n.channelHere(id)
		}),
		channels: ownership.NewCall(n.store, "channel views", func(_ context.Context, r channel.Range, q channelsQuery) ([]api.Channel, error) {
			return n.channelsHere(r, q)
		}),
		explain: ownership.NewCall(n.store, "explain", func(_ context.Context, _ channel.Range, id channel.ID) (api.Explanation, error) {
			return n.explainHere(id)
		}),
		forget: ownership.NewCall(n.store, "forget", func(ctx context.Context, _ channel.Range, id channel.ID) (struct{}, error) {
			return struct{}{}, n.owner.Forget(ctx, id)
		}).Once(),
		test: ownership.NewCall(n.store, "test sink", func(ctx context.Context, _ channel.Range, id string) (*api.Problem, error) {
			return n.testHere(ctx, id)
		}).Within(testWithin).Once(),
	}
}

// named adds to an error which channel it is about.
func named(id channel.ID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("channel %s: %w", id, err)
}
