package corona

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/wedge/hosts"
)

// nodeCalls are what the node that leads a channel's range knows, or does, alone: it
// orders the channel's polls and makes its deliveries.
type nodeCalls struct {
	channel  ownership.Call[channel.ID, api.Channel]
	channels ownership.Call[channelsQuery, []api.Channel]
	explain  ownership.Call[channel.ID, api.Explanation]
	forget   ownership.Call[channel.ID, struct{}]
	test     ownership.Call[string, *api.Problem]

	// What a poller tells the owners of channels; see package wedge.
	report ownership.Call[[]byte, []byte]
	note   ownership.Call[[]byte, struct{}]
	move   ownership.Call[engine.Move, struct{}]

	// What it tells, and asks, the leaders of hosts' ranges; see package wedge/hosts.
	refused ownership.Call[[]byte, struct{}]
	resting ownership.Call[string, struct{}]
	shares  ownership.Call[hosts.Question, hosts.Answer]

	// What deliverers ask the keepers of webhooks' endpoints; see package notify/webhook.
	endpoints ownership.Call[[]byte, []byte]
}

type channelsQuery struct {
	After *channel.ID
	Limit int
}

// testWithin is how long a sink's endpoint has for a test, at least.
const testWithin = 30 * time.Second

func (n *Node) newCalls() nodeCalls {
	return nodeCalls{
		channel: ownership.NewCall(n.store, "channel view", func(ctx context.Context, _ channel.Range, id channel.ID) (api.Channel, error) {
			return n.channelHere(ctx, id)
		}),
		channels: ownership.NewCall(n.store, "channel views", func(ctx context.Context, r channel.Range, q channelsQuery) ([]api.Channel, error) {
			return n.channelsHere(ctx, r, q)
		}),
		explain: ownership.NewCall(n.store, "explain", func(ctx context.Context, _ channel.Range, id channel.ID) (api.Explanation, error) {
			return n.explainHere(ctx, id)
		}),
		forget: ownership.NewCall(n.store, "forget", func(ctx context.Context, _ channel.Range, id channel.ID) (struct{}, error) {
			return struct{}{}, n.owner.Forget(ctx, id)
		}).Once(),
		test: ownership.NewCall(n.store, "test sink", func(ctx context.Context, _ channel.Range, id string) (*api.Problem, error) {
			return n.testHere(ctx, id)
		}).Within(testWithin).Once(),
		report: ownership.NewCall(n.store, "report", func(ctx context.Context, _ channel.Range, report []byte) ([]byte, error) {
			return n.wedge.ServeReport(ctx, report)
		}),
		note: ownership.NewCall(n.store, "note", func(_ context.Context, _ channel.Range, notes []byte) (struct{}, error) {
			return struct{}{}, n.wedge.ServeNotes(notes)
		}),
		move: ownership.NewCall(n.store, "move", func(ctx context.Context, _ channel.Range, move engine.Move) (struct{}, error) {
			return struct{}{}, n.owner.Moved(ctx, move)
		}),
		refused: ownership.NewCall(n.store, "host refused", func(ctx context.Context, r channel.Range, rests []byte) (struct{}, error) {
			return struct{}{}, n.hosts.ServeRefused(ctx, r, rests)
		}),
		resting: ownership.NewCall(n.store, "hosts that rest", func(_ context.Context, r channel.Range, node string) (struct{}, error) {
			return struct{}{}, n.hosts.ServeResting(r, node)
		}),
		shares: ownership.NewCall(n.store, "shares of hosts", func(_ context.Context, r channel.Range, q hosts.Question) (hosts.Answer, error) {
			return n.hosts.ServeShares(r, q)
		}).Once(),
		endpoints: ownership.NewCall(n.store, "endpoints", func(ctx context.Context, r channel.Range, questions []byte) ([]byte, error) {
			return n.notifier.ServeAsk(ctx, r, questions)
		}),
	}
}

// named adds to an error which channel it is about.
func named(id channel.ID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("channel %s: %w", id, err)
}
