package status

import (
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestMembers: of several nodes each has a line, of a node alone there is none.
func TestMembers(t *testing.T) {
	rtt, offset := 0.31, -12.5
	polls, share, channels, lag := 12.5, 0.25, 1000, 2.0
	several := api.Status{Cluster: api.Cluster{Nodes: []string{"a", "b"}, Members: []api.Member{
		{Name: "a", Address: "10.0.0.1:8521", State: "alive", Leads: 9, PollsPerS: &polls, Share: &share, Channels: &channels, LagS: &lag},
		{Name: "b", Address: "10.0.0.2:8521", State: "suspect", Leads: 1, RTTMs: &rtt, ClockOffsetMs: &offset},
	}}}
	alone := several
	alone.Cluster.Members = several.Cluster.Members[:1]
	for _, line := range []string{
		"a at 10.0.0.1:8521: alive, leads 9 ranges, polls 1000 channels, 12.5 a second (25 % of all), 2 s behind\n",
		"b at 10.0.0.2:8521: suspect, leads 1 range, round trip 0.310 ms, its clock 12.5 ms behind, does not say what it polls\n",
	} {
		var out strings.Builder
		if printStatus(&out, &several); !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in\n%s", line, &out)
		}
		out.Reset()
		if printStatus(&out, &alone); strings.Contains(out.String(), line) {
			t.Errorf("%q is in\n%s", line, &out)
		}
	}
}

// TestUncounted: counts that lack ranges say so.
func TestUncounted(t *testing.T) {
	for uncounted, want := range map[int]bool{0: false, 2: true} {
		var out strings.Builder
		printStatus(&out, &api.Status{Uncounted: uncounted})
		if got := strings.Contains(out.String(), "not counted: those of 2 ranges"); got != want {
			t.Errorf("%d ranges:\n%s", uncounted, &out)
		}
	}
}
