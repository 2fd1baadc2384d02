package corona_test

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// TestRatesFollowSubscribers: a node polls more where more subscribe, within what they
// would cause alone, and says why.
func TestRatesFollowSubscribers(t *testing.T) {
	popular, other := newGrowing(t), newGrowing(t)
	node := open(t, t.TempDir())
	defer closeNode(t, node)
	id := subscribe(t, node, popular.URL, "").Channel
	for range 3 {
		subscribe(t, node, popular.URL, "")
	}
	last := subscribe(t, node, other.URL, "").Channel

	// Of five polls an interval: steps to rates 2, 3 and 4 save 4/2, 4/6 and 4/12, the
	// other's to 2 saves 1/2.
	ch := until(t, node, id, func(ch *api.Channel) bool { return ch.Rate == 3 })
	if ch.PollIntervalS != 1./3 {
		t.Errorf("polled every %v s, want a third", ch.PollIntervalS)
	}
	until(t, node, last, func(ch *api.Channel) bool { return ch.Rate == 2 })
	why, err := node.Explain(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if why.DecidedBy != api.DecidedByWorth || why.Factors.Subscribers != 4 || *why.Worth.NextS > why.Worth.NeededS || *why.Worth.LastS < why.Worth.NeededS {
		t.Errorf("%+v", why)
	}
	for _, polled := range []channel.ID{id, last} {
		until(t, node, polled, func(ch *api.Channel) bool { return ch.Version > 0 })
	}
	status, err := node.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := status.Optimiser.FirstPolls; n != 2 {
		t.Errorf("%d first polls of two channels", n)
	}
	if o := status.Optimiser; o.Budget != 5 || o.Planned != 5 || !o.BudgetAuto || !o.Feasible || o.Solved == nil || time.Since(*o.Solved) > patience {
		t.Errorf("%+v", o)
	}
}
