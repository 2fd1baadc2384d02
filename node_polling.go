package corona

import (
	"cmp"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/engine"
)

// addPolling adds what this node's engine knows of a channel.
func addPolling(view *api.Channel, stats engine.ChannelStats) {
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
