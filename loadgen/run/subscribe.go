package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
)

// rampStep is how often subscriptions are sent during the ramp.
const rampStep = 100 * time.Millisecond

// ramp makes all subscriptions: each is sent when its time has come, whatever became of
// those before. Then the streams that read them are opened.
func (r *run) ramp(ctx context.Context) error {
	begun, wanted := time.Now(), r.crowd.wanted
	total := len(wanted)
	for sent, step := 0, 1; sent < total; step++ {
		if err := pause(ctx, begun.Add(time.Duration(step-1)*rampStep)); err != nil {
			return err
		}
		until := total
		if r.Scenario.Subscriptions.Ramp > 0 {
			until = min(total, int(float64(total)*float64(time.Duration(step)*rampStep)/float64(r.Scenario.Subscriptions.Ramp)))
		}
		if err := r.subscribe(ctx, step, wanted[sent:until]); err != nil {
			return err
		}
		sent = until
	}
	r.crowd.wanted = nil
	r.openStreams(r.Scenario.Subscriptions.Streams)
	return nil
}

// order is a subscription that is to be made.
type order struct {
	channel  int
	endpoint int // of a webhook; -1: SSE
}

func (r *run) orders(channels []int32) []order {
	orders := make([]order, 0, len(channels))
	for _, channel := range channels {
		o := order{int(channel), -1}
		if r.crowd.random.Float64() < r.crowd.webhook {
			o.endpoint = r.crowd.random.IntN(len(r.crowd.manners))
		}
		orders = append(orders, o)
	}
	return orders
}

// subscribeWithin is how long subscriptions that are refused for now are tried again.
const subscribeWithin = 30 * time.Second

// subscribe makes subscriptions at one node.
func (r *run) subscribe(ctx context.Context, turn int, channels []int32) error {
	orders := r.orders(channels)
	for begun := time.Now(); len(orders) > 0; turn++ {
		refused, err := r.subscribeOnce(ctx, r.clients[turn%len(r.clients)], orders)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(begun) > subscribeWithin && (err != nil || len(refused) > 0) {
			return fmt.Errorf("%w: %d subscriptions were not taken within %s: %w", ErrNode, len(refused), subscribeWithin, err)
		}
		if len(refused) > 0 {
			if err := pause(ctx, time.Now().Add(retryPause)); err != nil {
				return err
			}
		}
		orders = refused
	}
	return nil
}

const retryPause = 200 * time.Millisecond

// subscribeOnce returns the orders that were not taken. Some of these may have been carried
// out all the same: what arrives for them is never looked at.
func (r *run) subscribeOnce(ctx context.Context, client *api.Client, orders []order) (refused []order, err error) {
	requests := func(yield func(api.SubscribeRequest) bool) {
		for _, o := range orders {
			if !yield(r.request(o)) {
				return
			}
		}
	}
	i := 0
	for answer, failed := range client.Batch(ctx, requests) {
		switch {
		case failed != nil:
			err = failed
		case answer.Error != nil && !answer.Error.Retryable:
			return nil, fmt.Errorf("%w: it refused a subscription: %w", ErrNode, answer.Error)
		case answer.Error != nil:
			refused, err = append(refused, orders[i]), errors.New(answer.Error.Error())
			i++
		default:
			r.acknowledged(orders[i], answer.Subscription, time.Now())
			i++
		}
	}
	return append(refused, slices.Clone(orders[i:])...), err
}

func (r *run) request(o order) api.SubscribeRequest {
	to := api.Sink{Type: api.SinkSSE}
	if o.endpoint >= 0 {
		to = api.Sink{Type: api.SinkWebhook, URL: r.webhooks.URL(o.endpoint)}
	}
	return api.SubscribeRequest{URL: r.origin.URL(o.channel), Sink: to}
}

// acknowledged notes a subscription that there is.
func (r *run) acknowledged(o order, s *api.Subscription, at time.Time) {
	sick := o.endpoint >= 0 && r.crowd.manners[o.endpoint] != sink.Acknowledges
	number := r.tracker.Subscribe(o.channel, at, sick)
	c := r.crowd
	c.mu.Lock()
	c.mu.numbers[s.ID] = number
	c.mu.counts[o.channel]++
	if o.endpoint < 0 {
		c.mu.streams = append(c.mu.streams, member{s.Channel.String(), sink.Member{Number: number, ID: s.ID, From: s.FromVersion}})
	}
	c.mu.Unlock()
	r.webhooks.Known(s.ID)
}

// openStreams opens streams for the SSE subscriptions that none reads yet.
func (r *run) openStreams(most int) {
	for i, members := range r.crowd.unread(most) {
		stream := sink.NewStream(r.clients, i, members, &r.streams, r.streamed)
		r.background.run(func(ctx context.Context) error {
			stream.Run(ctx)
			return nil
		})
	}
}
