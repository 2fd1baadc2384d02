package corona

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/stream"
)

// Stream opens a stream of events behind a cursor; an empty cursor is now, or
// the first version of the subscriptions that the filter names. The caller
// closes it.
func (n *Node) Stream(ctx context.Context, filter api.StreamFilter, cursor string) (api.EventStream, error) {
	events, err := n.notifier.Stream(ctx, filter, cursor)
	switch {
	case errors.Is(err, stream.ErrCursor):
		return nil, api.BadField("Last-Event-ID", err.Error())
	case errors.Is(err, channel.ErrNotFound):
		return nil, api.NewProblem(http.StatusNotFound, err.Error())
	case err != nil:
		return nil, problem(err)
	}
	return events, nil
}

// unsubscribeWithin bounds the clean-up of a Watch whose context has ended.
const unsubscribeWithin = 5 * time.Second

// Watch subscribes to URLs, yields their updates as they are committed, and
// unsubscribes when the loop ends. An error ends it; a context that is done is
// no error.
func (n *Node) Watch(ctx context.Context, urls ...string) iter.Seq2[*api.Update, error] {
	return func(yield func(*api.Update, error) bool) {
		ids, err := n.subscribeAll(ctx, urls)
		defer n.unsubscribeAll(context.WithoutCancel(ctx), ids)
		if err != nil {
			yield(nil, err)
			return
		}
		events, err := n.Stream(ctx, api.StreamFilter{Subscriptions: ids}, "")
		if err != nil {
			yield(nil, err)
			return
		}
		defer events.Close()
		for {
			update, err := nextUpdate(ctx, events)
			if errors.Is(err, io.EOF) || ctx.Err() != nil || !yield(update, err) || err != nil {
				return
			}
		}
	}
}

func (n *Node) subscribeAll(ctx context.Context, urls []string) (ids []string, err error) {
	requests := make([]api.SubscribeRequest, len(urls))
	for i, url := range urls {
		requests[i] = api.SubscribeRequest{URL: url, Sink: api.Sink{Type: api.SinkSSE}, Key: rand.Text()}
	}
	var unknown []api.SubscribeRequest // that may have been made all the same
	for i, outcome := range n.Subscribe(ctx, requests) {
		if outcome.Err != nil {
			err = errors.Join(err, fmt.Errorf("subscribe to %s: %w", urls[i], outcome.Err))
			unknown = append(unknown, requests[i])
			continue
		}
		ids = append(ids, outcome.Subscription.ID)
	}
	if len(unknown) > 0 {
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeWithin)
		defer cancel()
		for _, outcome := range n.Subscribe(again, unknown) { // with the same keys, so that they are ended
			if outcome.Err == nil {
				ids = append(ids, outcome.Subscription.ID)
			}
		}
	}
	return ids, err
}

func (n *Node) unsubscribeAll(ctx context.Context, ids []string) {
	ctx, cancel := context.WithTimeout(ctx, unsubscribeWithin)
	defer cancel()
	for _, id := range ids {
		if err := n.Unsubscribe(ctx, id); err != nil {
			n.config.Logger.Warn("watch cannot unsubscribe", "subscription", id, "error", err)
		}
	}
}

// nextUpdate waits for an update and passes over other events: a gap shows in
// the versions of the updates around it.
func nextUpdate(ctx context.Context, events api.EventStream) (*api.Update, error) {
	for {
		event, err := events.Next(ctx)
		if err != nil {
			return nil, err
		}
		if event.Type != api.StreamUpdate {
			continue
		}
		update := new(api.Update)
		if err := json.Unmarshal(event.Data, update); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		return update, nil
	}
}
