package corona

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/primary"
)

// Explain returns why a channel is polled as often as it is.
func (n *Node) Explain(ctx context.Context, id channel.ID) (*api.Explanation, error) {
	view, err := n.calls.explain.At(ctx, id.Bucket(), id)
	if err != nil {
		return nil, problem(named(id, err))
	}
	return &view, nil
}

func (n *Node) explainHere(ctx context.Context, id channel.ID) (api.Explanation, error) {
	stored, err := n.store.Channel(id)
	if err != nil {
		return api.Explanation{}, err
	}
	why, err := n.owner.Explain(id)
	if err != nil {
		return api.Explanation{}, err
	}
	view := n.explanationView(stored, &why)
	if view.Noise, err = n.noiseView(stored); err != nil {
		return api.Explanation{}, err
	}
	pollers := n.polled(ctx, id)[0]
	view.Width = len(pollers)
	if stats, known := together(pollers); known {
		view.NextPoll, view.Waiting = timeView(stats.NextPoll), waitingView(stats.Waiting)
		view.Factors.SizeBytes = cmp.Or(view.Factors.SizeBytes, float64(stats.SizeBytes)) // owners hear of it where it counts
	}
	return view, nil
}

func (n *Node) explanationView(ch channel.Channel, why *primary.Explanation) api.Explanation {
	return api.Explanation{
		Channel: ch.ID, URL: ch.URL,
		Policy: n.config.Policy.String(), Ladder: n.config.Ladder.String(), Cost: n.config.Cost.String(),
		IntervalS: n.config.Interval.Seconds(), FloorS: n.config.Floor.Seconds(),
		Rate: why.Rate.Float(), PollIntervalS: pollInterval(why.Rate, n.config.Interval), Width: why.Width, DecidedBy: decidedBy(why),
		Factors: api.Factors{
			Subscribers: why.Subscribers, SizeBytes: why.SizeBytes, UpdateIntervalS: why.UpdateInterval.Seconds(),
			Weight: why.Weight, Cost: why.Cost,
		},
		Least: api.RateBound{Rate: why.Least, By: why.AtLeast}, Most: api.RateBound{Rate: why.Most, By: why.AtMost},
		Worth:      worthView(why),
		Neighbours: api.Neighbours{LastIn: n.neighbourView(why.Above), FirstOut: n.neighbourView(why.Below)},
		Host:       plannedHostView(why),
		Held:       heldView(ch.Hold),
		Solved:     timeView(why.Solved),
	}
}

// noiseView is what the channel's judge has learned to pass over, in the words of the
// content where the poller has it.
func (n *Node) noiseView(ch channel.Channel) ([]api.Noise, error) {
	var state deltas.State
	if err := state.UnmarshalBinary(ch.Judge); err != nil {
		return nil, fmt.Errorf("judge's state: %w", err)
	}
	current, err := n.engine.Content(ch.ID, ch.Hash)
	if err != nil {
		return nil, err
	}
	masked := state.Noise.Explain(current)
	views := make([]api.Noise, len(masked))
	for i, m := range masked {
		views[i] = api.Noise{What: m.What, Text: m.Text, Lines: m.Lines, Why: m.Why, CalmS: m.Calm.Seconds()}
	}
	return views, nil
}

// decidedBy names what decided about a rate.
func decidedBy(why *primary.Explanation) string {
	switch {
	case why.Rate.Polls == 0:
		return api.DecidedByNobody
	case why.Solved.IsZero():
		return api.DecidedByStart
	case why.Next == 0:
		return why.AtMost
	case why.Last == 0:
		return why.AtLeast
	}
	return api.DecidedByWorth
}

// worthView adds to λ what the cap of a bound host wants of a unit of cost more.
func worthView(why *primary.Explanation) api.Worth {
	needed := why.Lambda
	if why.Cost > 0 {
		needed += why.HostMu / why.Cost
	}
	return api.Worth{LastS: unlessZero(why.Last), NextS: unlessZero(why.Next), NeededS: needed, LambdaS: why.Lambda}
}

// neighbourView is nil for none, and for one that has ended meanwhile.
func (n *Node) neighbourView(neighbour *primary.Neighbour) *api.Neighbour {
	if neighbour == nil {
		return nil
	}
	stored, err := n.store.Channel(neighbour.Channel)
	if err != nil {
		return nil
	}
	return &api.Neighbour{Channel: stored.ID, URL: stored.URL, Rate: neighbour.Rate, WorthS: neighbour.Worth}
}

func plannedHostView(why *primary.Explanation) *api.PlannedHost {
	if why.Host == "" {
		return nil
	}
	return &api.PlannedHost{Name: why.Host, Planned: why.HostPolls, Cap: unlessZero(why.HostCap), MuS: why.HostMu}
}

// pollInterval returns the seconds between two polls at a rate; 0: there are none.
func pollInterval(rate overlay.Rate, interval time.Duration) float64 {
	if rate.Polls == 0 {
		return 0
	}
	return interval.Seconds() / rate.Float()
}

// unlessZero is nil for what is not there.
func unlessZero(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}
