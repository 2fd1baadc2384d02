package corona

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/wedge"
)

// polled returns what the pollers of channels that this node owns know of them, by rank.
func (n *Node) polled(ctx context.Context, ids ...channel.ID) [][]wedge.Polled {
	if n.wedge != nil {
		ctx, cancel := context.WithTimeout(ctx, pollersWithin)
		defer cancel()
		return n.wedge.Polled(ctx, ids...)
	}
	all := make([][]wedge.Polled, len(ids))
	for i, id := range ids {
		if stats, polled := n.engine.Stats(id); polled {
			all[i] = []wedge.Polled{{Stats: &stats}}
		}
	}
	return all
}

// pollersWithin is how long pollers have to say what they know of channels.
const pollersWithin = time.Second

// nodeNames returns the names of the cluster's nodes by ID.
func (n *Node) nodeNames() map[string]string {
	names := map[string]string{"": n.Name()} // of a node alone
	for _, node := range n.store.Nodes() {
		names[node.ID] = node.Name
	}
	return names
}

// together is what the pollers of a channel know: what the latest poll showed, and when
// the next one comes. Not known: none of them says anything.
func together(pollers []wedge.Polled) (stats engine.ChannelStats, known bool) {
	var all *engine.ChannelStats
	var next time.Time
	for _, p := range pollers {
		if p.Stats == nil {
			continue
		}
		if at := p.Stats.NextPoll; !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if all == nil || p.Stats.LastPoll.After(all.LastPoll) {
			all = p.Stats
		}
	}
	if all == nil {
		return stats, false
	}
	stats = *all
	stats.NextPoll = next
	return stats, true
}

// addPollers adds who polls a channel, and what they know of it.
func addPollers(view *api.Channel, pollers []wedge.Polled, names map[string]string) {
	for _, p := range pollers {
		view.Pollers = append(view.Pollers, names[p.Node])
		if p.Stats == nil {
			view.SilentPollers = append(view.SilentPollers, names[p.Node])
		}
	}
	view.Width = len(pollers)
	if stats, known := together(pollers); known {
		addPolling(view, &stats)
	}
}

// addPolling adds what a poller knows of a channel.
func addPolling(view *api.Channel, stats *engine.ChannelStats) {
	view.SizeBytes = stats.SizeBytes
	view.LastPoll = timeView(stats.LastPoll)
	view.NextPoll = timeView(stats.NextPoll)
	view.LastStatus = stats.LastStatus
	view.LastError = stats.LastError
	view.Failures = stats.Failures
	view.FailingSince = timeView(stats.FailingSince)
	view.FeedURL = stats.FeedURL
	view.FinalURL = stats.FinalURL
	view.MovedTo = cmp.Or(view.MovedTo, stats.MovedTo) // the owner's word comes first, and later
	view.SameAs = stats.SameAs
	view.Waiting = waitingView(stats.Waiting)
	view.Host = hostView(stats.Host)
	for _, bound := range stats.Bounds {
		view.Bounds = append(view.Bounds, api.Bound{
			Source: bound.Source, IntervalS: bound.Interval.Seconds(), Clamped: bound.Clamped, Said: bound.Said,
		})
	}
}

func waitingView(waiting *engine.Waiting) *api.Waiting {
	if waiting == nil {
		return nil
	}
	return &api.Waiting{For: waiting.For, Until: timeView(waiting.Until), Detail: waiting.Detail}
}

// hostView is nil for a host without a name yet.
func hostView(host engine.HostStats) *api.ChannelHost {
	if host.Name == "" {
		return nil
	}
	return &api.ChannelHost{
		Name: host.Name, GapS: host.Gap.Seconds(), Parallel: host.Parallel,
		RestingUntil: timeView(host.RestingUntil), Scope: host.Scope, Refusals: host.Refusals,
	}
}
