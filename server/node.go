package server

import (
	"context"
	"io"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// Node is what the API serves: the whole cluster, seen through one node.
//
// Errors are an [*api.Problem], which is answered as it is, or anything else,
// which is logged and answered 500 without its text. Every method returns when
// its context ends; an error that is the context's is answered 503.
type Node interface {
	// Subscribe makes subscriptions. The requests have passed [Rules.Check]. The
	// outcomes are as many and in the same order; each success is durable.
	Subscribe(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome
	// Unsubscribe deletes a subscription. Once more is no error; a subscription
	// that never existed is a 404.
	Unsubscribe(ctx context.Context, id string) error
	Subscription(ctx context.Context, id string) (*api.Subscription, error)
	Subscriptions(ctx context.Context, query api.SubscriptionQuery) (*api.Subscriptions, error)
	// TestSink sends a subscription.test message and returns nil once the
	// endpoint has acknowledged it.
	TestSink(ctx context.Context, id string) error

	// Channel returns a 404 for a channel that does not exist.
	Channel(ctx context.Context, id channel.ID) (*api.Channel, error)
	// Explain returns a 404 for a channel that does not exist.
	Explain(ctx context.Context, id channel.ID) (*api.Explanation, error)
	// Forget makes durable that nothing is learned of a channel's noise. Once more is
	// no error; a channel that does not exist is a 404.
	Forget(ctx context.Context, id channel.ID) error
	// Channels returns at most limit channels, in the order of their IDs,
	// beginning behind after; nil is the beginning.
	Channels(ctx context.Context, after *channel.ID, limit int) ([]api.Channel, error)
	// Updates returns at most limit updates with versions above after, the
	// oldest first, and the gap before them if some are no longer kept.
	Updates(ctx context.Context, id channel.ID, after uint64, limit int) (*api.Updates, error)
	// Stream opens a stream behind a cursor; an empty cursor is now, or the first
	// version of the subscriptions that the filter names. A cursor that is none
	// is a 400.
	Stream(ctx context.Context, filter api.StreamFilter, cursor string) (api.EventStream, error)

	// Backup writes all that is acknowledged, as package ownership/backup has it. What
	// ends it early is said in what was written.
	Backup(ctx context.Context, to io.Writer) error
	// Restore makes a fresh cluster what a backup holds; a cluster that is not is a 409.
	Restore(ctx context.Context, from io.Reader) (*api.Restored, error)

	Status(ctx context.Context) (*api.Status, error)

	// Nodes returns the nodes of the cluster, by name.
	Nodes(ctx context.Context) (*api.Nodes, error)
	// DrainNode has a node give its replicas to others, RemoveNode has the cluster forget one.
	// Both return when that is decided; once more is no error. An unknown name is a 404, and
	// what would leave a range with too few nodes, or a node that is not drained, a 409.
	DrainNode(ctx context.Context, name string) error
	RemoveNode(ctx context.Context, name string) error
	// UndrainNode calls a drain off.
	UndrainNode(ctx context.Context, name string) error
	// SplitRanges has ranges split until there are so many; it returns when that is decided.
	// Fewer than there are, and too many, are a 400, too many for the nodes that there are a 409.
	SplitRanges(ctx context.Context, to int) error
	// PlanRecovery returns what Recover would do to a range, or to api.RangeMeta; both are a 409
	// while a majority of its replicas answers, and a 404 for a range that is none.
	PlanRecovery(ctx context.Context, group string) (*api.Recovery, error)
	Recover(ctx context.Context, group string) (*api.Recovery, error)

	// Ready returns nil when all local ranges have a leader and are caught up,
	// otherwise what is missing, in words for an operator.
	Ready(ctx context.Context) error
}
