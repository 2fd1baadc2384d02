package corona

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// Subscribe makes subscriptions. The outcomes are as many as the requests and in
// their order; each success is durable. Errors are [*api.Problem].
func (n *Node) Subscribe(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
	outcomes := make([]api.SubscribeOutcome, len(requests))
	wanted := make([]ownership.NewSubscription, 0, len(requests))
	place := make([]int, 0, len(requests)) // of each wanted one among the outcomes
	for i, request := range requests {
		subscription, err := n.wanted(request)
		if err != nil {
			outcomes[i].Err = err
			continue
		}
		wanted = append(wanted, subscription)
		place = append(place, i)
	}
	for i, result := range n.store.Subscribe(ctx, wanted) {
		outcomes[place[i]] = n.outcome(result)
	}
	return outcomes
}

// wanted checks a request and gives its channel a name.
func (n *Node) wanted(request api.SubscribeRequest) (ownership.NewSubscription, error) {
	url, id, err := channel.Parse(request.URL)
	if err != nil {
		return ownership.NewSubscription{}, api.BadField("url", err.Error())
	}
	if err := guard.CheckURL(url, n.config.AllowPrivate); err != nil {
		return ownership.NewSubscription{}, api.BadField("url", err.Error())
	}
	sink := channel.Sink{Type: request.Sink.Type, URL: request.Sink.URL, Secret: request.Sink.Secret}
	return ownership.NewSubscription{URL: url, Channel: id, Sink: sink, Key: request.Key, Once: request.Once}, nil
}

func (n *Node) outcome(result ownership.SubscribeResult) api.SubscribeOutcome {
	if result.Err != nil {
		return api.SubscribeOutcome{Err: problem(result.Err)}
	}
	subscription := subscriptionView(result.Subscription)
	if result.Deleted {
		subscription.State = api.StateDeleted
	}
	return api.SubscribeOutcome{Subscription: &subscription, Existing: result.Existing}
}

// subscriptionView is what everybody may see of a subscription just made: its
// secret stays here.
func subscriptionView(s channel.Subscription) api.Subscription {
	return api.Subscription{
		ID:          s.ID,
		Channel:     s.Channel,
		URL:         s.URL,
		Sink:        api.Sink{Type: s.Sink.Type, URL: s.Sink.URL},
		Created:     s.Created.UTC(),
		FromVersion: s.FromVersion,
		State:       api.StateActive,
	}
}

// Unsubscribe deletes a subscription. Once more is no error; one that never
// existed is a 404.
func (n *Node) Unsubscribe(ctx context.Context, id string) error {
	return problem(n.store.Unsubscribe(ctx, id))
}

// Subscription returns a subscription with the state of its delivery.
func (n *Node) Subscription(ctx context.Context, id string) (*api.Subscription, error) {
	stored, err := n.store.View().Subscription(ctx, id)
	if err != nil {
		return nil, problem(err)
	}
	positions := newPositions(n.store.View())
	view, err := positions.view(ctx, stored)
	if err != nil {
		return nil, problem(err)
	}
	return &view, nil
}

// Subscriptions returns a page of subscriptions, in the order of their buckets.
func (n *Node) Subscriptions(ctx context.Context, query api.SubscriptionQuery) (*api.Subscriptions, error) {
	stored, next, err := n.store.View().Subscriptions(ctx, ownership.SubscriptionQuery{
		After: query.After, Channel: query.Channel, Limit: query.Limit,
	})
	if errors.Is(err, channel.ErrNotFound) {
		return nil, api.BadField("after", "not a cursor of this list")
	}
	if err != nil {
		return nil, problem(err)
	}
	page := &api.Subscriptions{Subscriptions: make([]api.Subscription, 0, len(stored)), Next: next}
	positions := newPositions(n.store.View())
	for _, s := range stored {
		view, err := positions.view(ctx, s)
		if err != nil {
			return nil, problem(err)
		}
		page.Subscriptions = append(page.Subscriptions, view)
	}
	return page, nil
}

// TestSink sends a subscription.test message and returns nil once the endpoint
// has acknowledged it.
func (n *Node) TestSink(ctx context.Context, id string) error {
	stored, err := n.store.View().Subscription(ctx, id)
	if err != nil {
		return problem(err)
	}
	failed, err := n.calls.test.At(ctx, stored.Channel.Bucket(), id)
	if err != nil {
		return problem(err)
	}
	if failed != nil {
		return failed
	}
	return nil
}

func (n *Node) testHere(ctx context.Context, id string) (*api.Problem, error) {
	stored, err := n.store.Subscription(id)
	if err != nil {
		return nil, err
	}
	if stored.Sink.Type != api.SinkWebhook {
		return api.NewProblem(http.StatusConflict, "only webhooks can be tested: a stream is tested by reading it"), nil
	}
	return testProblem(n.notifier.TestSink(ctx, stored)), nil
}

// testProblem says how a test failed, and whether another may not.
func testProblem(err error) *api.Problem {
	if err == nil {
		return nil
	}
	failed := api.NewProblem(http.StatusBadGateway, err.Error())
	if call := (*webhook.CallError)(nil); errors.As(err, &call) {
		failed.Retryable = call.Mends()
	}
	return failed
}

// positions reads what one page of subscriptions needs of delivery state, each
// channel and each endpoint once.
type positions struct {
	store     ownership.View
	channels  map[channel.ID]channel.Progress
	endpoints map[string]channel.Endpoint
}

func newPositions(store ownership.View) *positions {
	return &positions{
		store:     store,
		channels:  make(map[channel.ID]channel.Progress),
		endpoints: make(map[string]channel.Endpoint),
	}
}

func (p *positions) view(ctx context.Context, s channel.Subscription) (api.Subscription, error) {
	view := subscriptionView(s)
	if s.Sink.Type != api.SinkWebhook {
		return view, nil
	}
	progress, err := p.progress(ctx, s.Channel)
	if err != nil {
		return view, err
	}
	view.DeliveredVersion = progress.Delivered(s)
	endpoint, err := p.endpoint(ctx, s.Sink.URL)
	if err != nil {
		return view, err
	}
	if endpoint.State != "" {
		view.State = endpoint.State
	}
	view.LastError = endpoint.LastError
	if !endpoint.FailingSince.IsZero() {
		since := endpoint.FailingSince.UTC()
		view.FailingSince = &since
	}
	return view, nil
}

func (p *positions) progress(ctx context.Context, id channel.ID) (channel.Progress, error) {
	if progress, known := p.channels[id]; known {
		return progress, nil
	}
	progress, err := p.store.Progress(ctx, id)
	if err == nil {
		p.channels[id] = progress
	}
	return progress, err
}

func (p *positions) endpoint(ctx context.Context, url string) (channel.Endpoint, error) {
	if endpoint, known := p.endpoints[url]; known {
		return endpoint, nil
	}
	endpoint, err := p.store.Endpoint(ctx, url)
	if err == nil {
		p.endpoints[url] = endpoint
	}
	return endpoint, err
}
