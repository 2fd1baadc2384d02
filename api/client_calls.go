package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// pageLimit is how many subscriptions or channels one page asks for: the most
// that a node gives. Updates are large, so their pages are short.
const (
	pageLimit       = 1000
	updatePageLimit = 16
)

// pageTries is how often a page behind the first is asked for while it fails for now, as during
// an election: a list of a million may take minutes.
const pageTries = 10

// Subscribe makes a subscription and returns when it is durable. With a Key the
// call may be repeated, for at least 24 h, and makes one subscription: if that has
// been deleted since, it is returned with [StateDeleted], and is there no more.
func (c *Client) Subscribe(ctx context.Context, request SubscribeRequest) (Subscription, error) {
	header := http.Header{}
	if request.Key != "" {
		header.Set("Idempotency-Key", request.Key)
	}
	request.Key = ""
	var subscription Subscription
	err := c.call(ctx, http.MethodPost, "/v1/subscriptions", header, request, &subscription)
	return subscription, err
}

// Unsubscribe ends a subscription. Ending one again is no error; one that never
// existed is a [*Problem] of status 404.
func (c *Client) Unsubscribe(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, subscriptionPath(id), nil, nil, nil)
}

// Subscription returns one subscription with the state of its delivery.
func (c *Client) Subscription(ctx context.Context, id string) (Subscription, error) {
	var subscription Subscription
	err := c.call(ctx, http.MethodGet, subscriptionPath(id), nil, nil, &subscription)
	return subscription, err
}

// TestSink has the node send a subscription.test message to a webhook.
func (c *Client) TestSink(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, subscriptionPath(id)+":test", nil, nil, nil)
}

func subscriptionPath(id string) string { return "/v1/subscriptions/" + url.PathEscape(id) }

// Subscriptions goes through all subscriptions, or through those of one
// channel, page by page: what exists throughout comes exactly once. An error is
// the last thing it yields: at once where the first page fails, and after ten tries
// where another one does.
func (c *Client) Subscriptions(ctx context.Context, of *channel.ID) iter.Seq2[Subscription, error] {
	query := url.Values{}
	if of != nil {
		query.Set("channel", of.String())
	}
	return pages(ctx, c.pagePause, func(after string) ([]Subscription, string, error) {
		var page Subscriptions
		err := c.call(ctx, http.MethodGet, pagePath("/v1/subscriptions", query, after), nil, nil, &page)
		return page.Subscriptions, page.Next, err
	})
}

// Channels goes through all channels in the order of their IDs. Errors are as those
// of Subscriptions.
func (c *Client) Channels(ctx context.Context) iter.Seq2[Channel, error] {
	return pages(ctx, c.pagePause, func(after string) ([]Channel, string, error) {
		var page Channels
		err := c.call(ctx, http.MethodGet, pagePath("/v1/channels", url.Values{}, after), nil, nil, &page)
		return page.Channels, page.Next, err
	})
}

func pagePath(path string, query url.Values, after string) string {
	query.Set("limit", strconv.Itoa(pageLimit))
	if after != "" {
		query.Set("after", after)
	}
	return path + "?" + query.Encode()
}

// pages yields the items of one page after another until next is empty.
func pages[T any](ctx context.Context, pause time.Duration, get func(after string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		after, tried := "", 0
		for {
			items, next, err := get(after)
			if tried++; err != nil && after != "" && tried < pageTries && mends(err) {
				select {
				case <-time.After(pause):
					continue
				case <-ctx.Done():
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			after, tried = next, 0
		}
	}
}

// Channel returns what the cluster knows of one channel.
func (c *Client) Channel(ctx context.Context, id channel.ID) (Channel, error) {
	var answer Channel
	err := c.call(ctx, http.MethodGet, "/v1/channels/"+id.String(), nil, nil, &answer)
	return answer, err
}

// Explain returns why a channel is polled as often as it is.
func (c *Client) Explain(ctx context.Context, id channel.ID) (Explanation, error) {
	var answer Explanation
	err := c.call(ctx, http.MethodGet, "/v1/channels/"+id.String()+"/explain", nil, nil, &answer)
	return answer, err
}

// Forget has the node forget what it has learned of the noise of a channel. Once more
// is no error.
func (c *Client) Forget(ctx context.Context, id channel.ID) error {
	return c.call(ctx, http.MethodPost, "/v1/channels/"+id.String()+":forget", nil, nil, nil)
}

// Updates goes through the updates of a channel that are kept, oldest first,
// from the version behind after. It yields pages: a page may carry a gap and no
// update is in two. An error is the last thing it yields.
func (c *Client) Updates(ctx context.Context, id channel.ID, after uint64) iter.Seq2[Updates, error] {
	return func(yield func(Updates, error) bool) {
		for {
			var page Updates
			path := "/v1/channels/" + id.String() + "/updates?limit=" + strconv.Itoa(updatePageLimit) +
				"&after=" + strconv.FormatUint(after, 10)
			if err := c.call(ctx, http.MethodGet, path, nil, nil, &page); err != nil {
				yield(Updates{}, err)
				return
			}
			if len(page.Updates) == 0 && page.Gap == nil {
				return
			}
			if !yield(page, nil) || len(page.Updates) < updatePageLimit {
				return
			}
			after = page.Updates[len(page.Updates)-1].Version
		}
	}
}

// Nodes returns the nodes of the cluster, by name.
func (c *Client) Nodes(ctx context.Context) (Nodes, error) {
	var nodes Nodes
	err := c.call(ctx, http.MethodGet, "/v1/nodes", nil, nil, &nodes)
	return nodes, err
}

// DrainNode has a node give what it has of ranges to others; it returns when that is
// decided, and Nodes says how far it is. Once more is no error.
func (c *Client) DrainNode(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+":drain", nil, nil, nil)
}

// RemoveNode has the cluster forget a node for ever, one that is dead or has been drained.
func (c *Client) RemoveNode(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+":remove", nil, nil, nil)
}

// UndrainNode calls a drain off: the node gets its part of the ranges again. Of a node that is
// not drained it changes nothing.
func (c *Client) UndrainNode(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+":undrain", nil, nil, nil)
}

// SplitRanges has ranges split until the cluster has so many, at most 256; it returns when that is
// decided, and Nodes says how far it is.
func (c *Client) SplitRanges(ctx context.Context, to int) error {
	return c.call(ctx, http.MethodPost, "/v1/ranges:split?to="+strconv.Itoa(to), nil, nil, nil)
}

// PlanRecovery returns what Recover would do to a range, or to the meta group ([RangeMeta]). It
// is a [*Problem] of status 409 while a majority of its replicas answers, or none.
func (c *Client) PlanRecovery(ctx context.Context, group string) (Recovery, error) {
	var plan Recovery
	err := c.call(ctx, http.MethodGet, "/v1/ranges/"+url.PathEscape(group)+"/recovery", nil, nil, &plan)
	return plan, err
}

// Recover makes the replica with the newest log the only one of a range that has lost its
// majority for good. What the others alone had is lost.
func (c *Client) Recover(ctx context.Context, group string) (Recovery, error) {
	var done Recovery
	err := c.call(ctx, http.MethodPost, "/v1/ranges/"+url.PathEscape(group)+":recover", nil, nil, &done)
	return done, err
}

// Status returns what the node sees of itself and its cluster.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, nil, &status)
	return status, err
}
