package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/entries"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
	"github.com/seed-91e7e7c1/corona/loadgen/sink"
	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// subscriber makes subscriptions and ends them, and takes what arrives for them.
type subscriber struct {
	*scenario.Subscriptions
	crowd      *crowd
	cluster    *cluster
	origin     *loadgen.Origin
	tracker    *track.Tracker
	webhooks   *sink.Webhooks
	streams    sink.StreamCounts
	background *background
	lose       func() bool     // nil: nothing is lost
	entries    *entries.Ledger // nil: the channels are synthetic
	over       atomic.Bool     // what arrives is not looked at any more

	refused []atomic.Int32 // by channel: subscriptions that were not taken at first
}

// rampStep is how often subscriptions are sent during the ramp.
const rampStep = 100 * time.Millisecond

// ramp makes all subscriptions, evenly over the ramp or all at once. Then the streams that
// read them are opened.
func (s *subscriber) ramp(ctx context.Context) (err error) {
	orders := s.crowd.orders(s.crowd.wanted)
	s.crowd.wanted = nil
	if s.Ramp == 0 {
		err = s.rush(ctx, orders)
	} else {
		err = s.spread(ctx, orders, s.Ramp)
	}
	s.openStreams()
	return err
}

// spread sends each step's orders when their time has come, so that all are sent within a time.
func (s *subscriber) spread(ctx context.Context, orders []order, within time.Duration) error {
	begun, total := time.Now(), len(orders)
	for sent, step := 0, 1; sent < total; step++ {
		if err := pause(ctx, begun.Add(time.Duration(step-1)*rampStep)); err != nil {
			return err
		}
		until := min(total, int(float64(total)*float64(time.Duration(step)*rampStep)/float64(within)))
		if err := s.subscribe(ctx, step, orders[sent:until]); err != nil {
			return err
		}
		sent = until
	}
	return nil
}

// rush sends all orders by several batches to each node at once.
func (s *subscriber) rush(ctx context.Context, orders []order) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sending sync.WaitGroup
	batches := s.Batches * len(s.cluster.clients)
	for i := range batches {
		share := make([]order, 0, len(orders)/batches+1)
		for n := i; n < len(orders); n += batches {
			share = append(share, orders[n])
		}
		sending.Go(func() {
			if err := s.subscribe(ctx, i, share); err != nil {
				cancel(err)
			}
		})
	}
	sending.Wait()
	return context.Cause(ctx)
}

// subscribeWithin is how long a node may take no subscription of those that it is asked for.
const subscribeWithin = 30 * time.Second

// retryPause is the time until subscriptions that were refused for now are asked for again.
const retryPause = 200 * time.Millisecond

// subscribe makes subscriptions at one node: the one whose turn it is, and at the next ones
// what it refuses for now.
func (s *subscriber) subscribe(ctx context.Context, turn int, orders []order) error {
	clients := s.cluster.clients
	for taken := time.Now(); len(orders) > 0; turn++ {
		refused, err := s.subscribeOnce(ctx, clients[turn%len(clients)], orders)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrNode): // it never will
			return err
		case len(refused) < len(orders):
			taken = time.Now()
		case time.Since(taken) > subscribeWithin:
			return fmt.Errorf("%w: %d subscriptions were not taken within %s: %w", ErrNode, len(refused), subscribeWithin, err)
		}
		for _, o := range refused {
			s.refused[o.channel].Add(1)
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

// subscribeOnce returns the orders that were not taken. Without keys some of these may have
// been carried out all the same: what arrives for them is never looked at.
func (s *subscriber) subscribeOnce(ctx context.Context, client *api.Client, orders []order) (refused []order, err error) {
	requests := func(yield func(api.SubscribeRequest) bool) {
		for _, o := range orders {
			if !yield(s.request(o)) {
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
			s.acknowledged(orders[i], answer.Subscription, time.Now())
			i++
		}
	}
	return append(refused, slices.Clone(orders[i:])...), err
}

func (s *subscriber) request(o order) api.SubscribeRequest {
	to := api.Sink{Type: api.SinkSSE}
	if o.endpoint >= 0 {
		to = api.Sink{Type: api.SinkWebhook, URL: s.webhooks.URL(int(o.endpoint))}
	}
	request := api.SubscribeRequest{URL: s.origin.URL(int(o.channel)), Sink: to}
	if s.Keys {
		request.Key = "loadgen " + strconv.Itoa(int(o.number))
	}
	return request
}

// acknowledged notes a subscription that there is.
func (s *subscriber) acknowledged(o order, made *api.Subscription, at time.Time) {
	sick := o.endpoint >= 0 && s.crowd.manners[o.endpoint] != sink.Acknowledges
	number := s.tracker.Subscribe(int(o.channel), at, sick)
	if s.entries != nil {
		s.entries.Subscribed(number, int(o.channel))
	}
	s.crowd.add(o, number, made)
	s.webhooks.Known(made.ID)
}

// openStreams opens streams for the SSE subscriptions that none reads yet.
func (s *subscriber) openStreams() {
	for i, members := range s.crowd.unread(s.Streams) {
		stream := sink.NewStream(s.cluster.clients, i, members, &s.streams, func(number int, a sink.Arrival) { s.deliver(number, a) })
		s.background.run(func(ctx context.Context) error {
			stream.Run(ctx)
			return nil
		})
	}
}

// webhook takes a webhook of a subscription, if that is known.
func (s *subscriber) webhook(id string, a sink.Arrival) bool {
	number, known := s.crowd.number(id)
	if known {
		s.deliver(number, a)
	}
	return known
}

// deliver takes an update of a subscription.
func (s *subscriber) deliver(number int, a sink.Arrival) {
	if s.over.Load() || s.lose != nil && s.lose() {
		return
	}
	s.tracker.Deliver(number, track.Update{Version: a.Version, Revisions: a.Revisions, Recorded: s.entries != nil, At: a.At})
	if s.entries != nil {
		s.entries.Add(number, a.Added, a.Diff, a.At)
	}
}

// flash makes many subscriptions to one channel, evenly over a time or at once.
func (s *subscriber) flash(ctx context.Context, channel, count int, over time.Duration) error {
	err := s.spread(ctx, s.crowd.orders(slices.Repeat([]int32{int32(channel)}, count)), max(over, rampStep))
	s.openStreams()
	return err
}

// leavers is how many subscriptions are ended at a time.
const leavers = 16

// leave ends a share of all subscriptions, many at a time, and returns why some could not be
// ended.
func (s *subscriber) leave(ctx context.Context, share float64) error {
	leaving := s.crowd.leave(share)
	next := make(chan left)
	failures := make([]error, leavers)
	var ending sync.WaitGroup
	for i := range leavers {
		ending.Go(func() {
			for l := range next {
				s.tracker.Unsubscribe(l.number, time.Now())
				if err := s.unsubscribe(ctx, l); err != nil && failures[i] == nil {
					failures[i] = err
				}
			}
		})
	}
	for _, l := range leaving {
		next <- l
	}
	close(next)
	ending.Wait()
	return errors.Join(failures...)
}

// compare compares the subscribers that a node tells of channels with those that it has
// acknowledged: what is lost, and what was never asked for. An order that was refused at first
// may have been carried out all the same, where it has no key.
func (s *subscriber) compare(told []channelTold) (lost, extra int64) {
	for n, want := range s.crowd.subscribers() {
		have, again := float64(told[n].subscribers), float64(s.refused[n].Load())
		if s.Keys {
			again = 0
		}
		lost += int64(max(want-have, 0))
		extra += int64(max(have-want-again, 0))
	}
	return lost, extra
}

// unsubscribe ends a subscription at one node, or at the next ones while they refuse for now.
// One that is not there any more was ended by a request without an answer.
func (s *subscriber) unsubscribe(ctx context.Context, l left) error {
	clients := s.cluster.clients
	for turn, begun := l.number, time.Now(); ; turn++ {
		err := clients[turn%len(clients)].Unsubscribe(ctx, l.id)
		var problem *api.Problem
		switch {
		case err == nil, errors.As(err, &problem) && problem.Status == http.StatusNotFound && turn > l.number:
			return nil
		case problem != nil && !problem.Retryable, time.Since(begun) > subscribeWithin:
			return fmt.Errorf("%w: it did not end subscription %s: %w", ErrNode, l.id, err)
		}
		if err := pause(ctx, time.Now().Add(retryPause)); err != nil {
			return err
		}
	}
}
