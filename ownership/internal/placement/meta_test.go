package placement

import (
	"testing"
	"time"
)

// TestMeta: each node gets a replica of the meta group, some of them a vote; a removed node
// goes, unless too few of the voters that are left answer.
func TestMeta(t *testing.T) {
	on := func(node string) Replica { return Replica{ID: node + "/1", Node: node} }
	voter := func(node string) Server { return Server{Replica: on(node), Voter: true} }
	filled := func(node string, caught time.Duration) Server { return Server{Replica: on(node), Caught: caught} }
	a, b, c := Node{ID: "a"}, Node{ID: "b"}, Node{ID: "c"}
	removed := Node{ID: "c", State: Removed}
	for name, test := range map[string]struct {
		nodes   []Node
		servers []Server
		used    bool
		want    Step // without its index and reason
	}{
		"a node that has joined":        {[]Node{a, b, c}, []Server{voter("a"), voter("b")}, true, Step{Kind: AddNonvoter, Replica: on("c")}},
		"one that is being filled":      {[]Node{a, b, c}, []Server{voter("a"), voter("b"), filled("c", time.Second)}, true, Step{}},
		"one that has caught up":        {[]Node{a, b, c}, []Server{voter("a"), voter("b"), filled("c", caughtUp)}, true, Step{Kind: AddVoter, Replica: on("c")}},
		"one that has, and is silent":   {[]Node{a, b, {ID: "c", Silent: 1}}, []Server{voter("a"), voter("b"), filled("c", caughtUp)}, true, Step{}},
		"a removed one":                 {[]Node{a, b, removed}, []Server{voter("a"), voter("b"), voter("c")}, true, Step{Kind: Remove, Replica: on("c")}},
		"a removed one while b is dead": {[]Node{a, {ID: "b", Silent: 1}, removed}, []Server{voter("a"), voter("b"), voter("c")}, true, Step{}},
		"one that ranges still use":     {[]Node{a, b, removed}, []Server{voter("a"), voter("b")}, true, Step{}},
		"one that nothing uses":         {[]Node{a, b, removed}, []Server{voter("a"), voter("b")}, false, Step{Kind: Forget, Replica: on("c")}},
		"all in place":                  {[]Node{a, b, c}, []Server{voter("a"), voter("b"), voter("c")}, false, Step{}},
	} {
		got, found := NextOfMeta(Cluster{Nodes: test.nodes}, []Replica{on("a"), on("b"), on("c")}, View{Index: 7, Servers: test.servers}, 5,
			func(string) bool { return test.used })
		if found != (test.want.Replica.ID != "") || got.Kind != test.want.Kind || got.Replica != test.want.Replica {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
