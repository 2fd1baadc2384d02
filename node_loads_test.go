package corona

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// A status is of all nodes that answer: loads are summed, times of detection weighted by
// subscribers, and a limit that one cannot keep is not kept.
func TestLoadsOfAllNodes(t *testing.T) {
	capacity, more := 100.0, 50.0
	load := func(polls, subscribers, planned float64, feasible bool, capacity *float64) nodeLoad {
		return nodeLoad{
			Polls: polls, Subscribers: subscribers, Channels: 7, Lag: 1,
			Load:      api.Load{PollsPerS: polls, BudgetPollsPerInterval: 200, PlannedPollsPerInterval: 150},
			Detection: api.Detection{PlannedS: planned, BoundS: planned / 2},
			Optimiser: api.Optimiser{Budget: 200, Planned: 150, Feasible: feasible, Capacity: capacity, LambdaS: polls},
			Polling:   api.Polling{FailingChannels: 1, RestingHosts: 2},
		}
	}
	status := api.Status{Node: "a", Cluster: api.Cluster{Members: []api.Member{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}
	addLoads(&status, map[string]nodeLoad{"a": load(30, 10, 4, true, &capacity), "b": load(10, 30, 8, false, &more)})
	if want := (api.Load{PollsPerS: 40, BudgetPollsPerInterval: 400, PlannedPollsPerInterval: 300}); status.Load != want {
		t.Errorf("load %+v, want %+v", status.Load, want)
	}
	if want := (api.Detection{PlannedS: 7, BoundS: 3.5}); status.Detection != want {
		t.Errorf("detection %+v, want %+v", status.Detection, want)
	}
	if o := status.Optimiser; o.Budget != 400 || o.Planned != 300 || o.Feasible || *o.Capacity != 150 || o.LambdaS != 30 {
		t.Errorf("optimiser %+v", o)
	}
	if capacity != 100 || status.Polling != (api.Polling{FailingChannels: 2, RestingHosts: 4}) {
		t.Errorf("polling %+v, a node's capacity became %v", status.Polling, capacity)
	}
	members := status.Cluster.Members
	if *members[0].Share != 0.75 || *members[1].PollsPerS != 10 || *members[1].Channels != 7 || members[2].PollsPerS != nil {
		t.Errorf("members %+v", members)
	}
}
