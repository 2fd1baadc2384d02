package notify

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

// Notifier delivers what a store commits. It is safe for concurrent use.
type Notifier struct {
	hub      *stream.Hub
	webhooks *webhook.Deliverer
}

// New returns a notifier on its stores; [Notifier.Run] starts it. The registry may be
// nil.
func New(config Config, stores Stores, registry prometheus.Registerer) (*Notifier, error) {
	config = config.withDefaults()
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	metrics := metric.New(registry)
	return &Notifier{
		hub:      stream.NewHub(config.Stream, stores.Streams, config.Logger, metrics),
		webhooks: webhook.New(config.Webhook, stores.Webhooks, config.Logger, metrics),
	}, nil
}

// Run delivers until ctx ends. It returns when every goroutine has, every stream
// has ended, and the last positions are saved, within a few seconds.
func (n *Notifier) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { n.hub.Run(ctx) })
	all.Go(func() { n.webhooks.Run(ctx) })
	all.Wait()
}

// RangeGained announces that this node leads a range: its webhooks are delivered from
// what the store says, and from what the hooks announce from now on.
func (n *Notifier) RangeGained(r channel.Range, term uint64) { n.webhooks.RangeGained(r, term) }

// RangeLost announces that this node does not lead a range any more that it gained in a
// term: nothing more is sent for its webhooks but what is under way.
func (n *Notifier) RangeLost(r channel.Range, term uint64) { n.webhooks.RangeLost(r, term) }

// Committed announces a new update, or the notice that a channel is gone, after
// it is visible in the store, and how many webhooks the channel has. Like all hooks it takes no time, may come before Run
// and after it, and may be missed: by a crash, for one.
// Streams follow the store by themselves.
func (n *Notifier) Committed(u channel.Update, webhooks uint64) { n.webhooks.Committed(u, webhooks) }

// ChannelChanged announces that a channel's record changed, or that it ended.
func (n *Notifier) ChannelChanged(c channel.Channel, ended bool) { n.webhooks.ChannelChanged(c, ended) }

// Subscribed announces a new subscription.
func (n *Notifier) Subscribed(sub channel.Subscription) { n.webhooks.Subscribed(sub) }

// Unsubscribed announces a deleted subscription: what it still had to get is not
// sent any more.
func (n *Notifier) Unsubscribed(sub channel.Subscription) {
	n.webhooks.Unsubscribed(sub)
	n.hub.Unsubscribed(sub.ID)
}

// Stream opens a stream of the updates that filter chooses, behind a cursor that
// an event had as its ID. With an empty cursor it begins now, and for the
// subscriptions of the filter at their first version. The error wraps
// [stream.ErrCursor] or [channel.ErrNotFound]. A stream must be closed.
func (n *Notifier) Stream(ctx context.Context, filter api.StreamFilter, cursor string) (*stream.Stream, error) {
	return n.hub.Open(ctx, filter, cursor)
}

// ServeAsk answers, of endpoints of a range that this node leads, what the Ask of another
// node's [webhook.Config] asks.
func (n *Notifier) ServeAsk(ctx context.Context, r channel.Range, questions []byte) ([]byte, error) {
	return n.webhooks.ServeAsk(ctx, r, questions)
}

// TestSink sends a subscription.test message at once, past all queues, and returns
// nil when the endpoint acknowledged it, otherwise a [*webhook.CallError]. An
// acknowledgement ends the endpoint's streak of failures; a failure is not part of
// one. The subscription must have a webhook.
func (n *Notifier) TestSink(ctx context.Context, sub channel.Subscription) error {
	return n.webhooks.Test(ctx, sub)
}
