package corona

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/notify/payload"
	"github.com/seed-91e7e7c1/corona/primary"
)

// Channel returns a channel's record, its owner's estimates and the state of its polls.
func (n *Node) Channel(ctx context.Context, id channel.ID) (*api.Channel, error) {
	view, err := n.calls.channel.At(ctx, id.Bucket(), id)
	if err != nil {
		return nil, problem(named(id, err))
	}
	return &view, nil
}

func (n *Node) channelHere(ctx context.Context, id channel.ID) (api.Channel, error) {
	stored, err := n.store.Channel(id)
	if err != nil {
		return api.Channel{}, err
	}
	view := n.channelView(stored)
	addPollers(&view, n.polled(ctx, id)[0], n.nodeNames())
	return view, nil
}

// Channels returns at most limit channels behind after, in the order of their
// IDs; nil is the beginning.
func (n *Node) Channels(ctx context.Context, after *channel.ID, limit int) ([]api.Channel, error) {
	var views []api.Channel
	first := channel.Bucket(0)
	if after != nil {
		first = after.Bucket()
	}
	err := n.store.EachRange(ctx, first, func(r channel.Range) (more bool, err error) {
		page, err := n.calls.channels.In(ctx, r, channelsQuery{after, limit - len(views)})
		if err == nil && views == nil {
			views, after = page, nil
		} else if err == nil {
			views = append(views, page...)
		}
		return len(views) < limit, err
	})
	if err != nil {
		return nil, problem(err)
	}
	return views, nil
}

func (n *Node) channelsHere(ctx context.Context, r channel.Range, q channelsQuery) ([]api.Channel, error) {
	stored, err := n.store.ChannelsIn(r, q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	ids := make([]channel.ID, len(stored))
	for i, ch := range stored {
		ids[i] = ch.ID
	}
	views, names := make([]api.Channel, len(stored)), n.nodeNames()
	for i, pollers := range n.polled(ctx, ids...) {
		views[i] = n.channelView(stored[i])
		addPollers(&views[i], pollers, names)
	}
	return views, nil
}

func (n *Node) channelView(ch channel.Channel) api.Channel {
	rate := n.owner.Rate(ch)
	view := api.Channel{
		ID:              ch.ID,
		URL:             ch.URL,
		Subscribers:     ch.Subscribers,
		Version:         ch.Version,
		Kind:            deltas.Kind(ch.Kind).String(),
		UpdateIntervalS: primary.UpdateInterval(ch, n.config.Now()).Seconds(),
		Rate:            rate.Float(),
		PollIntervalS:   pollInterval(rate, n.config.Interval),
		Owner:           n.Name(),
		Pollers:         []string{},
		LastChange:      timeView(ch.LastChange),
		Gone:            ch.Gone,
		Bounds:          []api.Bound{},
		MovedTo:         ch.Moved.To,
		MovedSince:      timeView(ch.Moved.Since),
		MovedLearned:    ch.Moved.Learned,
		Held:            heldView(ch.Hold),
	}
	if ch.Version == 0 {
		view.Kind = ""
	}
	return view
}

// Forget makes durable that nothing is learned of the noise of a channel's content.
func (n *Node) Forget(ctx context.Context, id channel.ID) error {
	_, err := n.calls.forget.At(ctx, id.Bucket(), id)
	return problem(err)
}

// heldView is nil for none.
func heldView(h channel.Hold) *api.Held {
	if h == (channel.Hold{}) {
		return nil
	}
	return &api.Held{Since: h.Since, What: deltas.HoldText(h.Reason)}
}

// timeView is nil for a time that has not come.
func timeView(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Updates returns at most limit updates with versions above after, the oldest
// first, and the gap before them if some are no longer kept.
func (n *Node) Updates(ctx context.Context, id channel.ID, after uint64, limit int) (*api.Updates, error) {
	stored, gap, err := n.store.View().Updates(ctx, id, after, limit)
	if err != nil {
		return nil, problem(named(id, err))
	}
	updates := &api.Updates{Updates: make([]api.Update, 0, len(stored))}
	if gap != nil {
		updates.Gap = &api.Gap{From: gap.From, To: gap.To}
	}
	for _, update := range stored {
		view, err := payload.View(update)
		if err != nil {
			return nil, err
		}
		updates.Updates = append(updates.Updates, *view)
	}
	return updates, nil
}
