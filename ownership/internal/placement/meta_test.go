package placement

import (
	"fmt"
	"slices"
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
		got, found := NextOfMeta(Cluster{Nodes: test.nodes, Grace: 10 * time.Minute}, []Replica{on("a"), on("b"), on("c")}, View{Index: 7, Servers: test.servers}, 5,
			func(string) bool { return test.used })
		if found != (test.want.Replica.ID != "") || got.Kind != test.want.Kind || got.Replica != test.want.Replica {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestMetaDeaths: of nine nodes four die for good, one after the other, and are not removed:
// the votes of the meta group go to others, and a node that comes back takes none away.
func TestMetaDeaths(t *testing.T) {
	const votes = 5
	c := Cluster{Grace: 10 * time.Minute}
	var replicas []Replica
	view := View{Leader: "n4/1"}
	for i := range 9 {
		id := fmt.Sprint("n", i)
		c.Nodes = append(c.Nodes, Node{ID: id})
		replicas = append(replicas, Replica{ID: id + "/1", Node: id})
		view.Servers = append(view.Servers, Server{Replica: replicas[i], Voter: i < votes, Caught: time.Hour})
	}
	settle := func() {
		t.Helper()
		for range 20 {
			step, found := NextOfMeta(c, replicas, view, votes, func(string) bool { return true })
			if !found {
				return
			}
			at := slices.IndexFunc(view.Servers, func(s Server) bool { return s.Replica == step.Replica })
			if step.Kind != AddVoter && step.Kind != Demote || step.Kind == Demote && step.Replica.ID == view.Leader {
				t.Fatalf("step %+v", step)
			}
			r, p := &Range{View: &view}, newPlanner(c)
			if _, dead := p.deadVoter(r); dead && step.Kind == AddVoter {
				t.Fatalf("%+v, while a dead node votes: %+v", step, view.Servers)
			}
			view.Servers[at].Voter = step.Kind == AddVoter
			if live := p.live(r, ""); live < majority(r.voters("")) {
				t.Fatalf("%+v leaves %d of %d voters alive", step, live, r.voters(""))
			}
		}
		t.Fatalf("no end: %+v", view.Servers)
	}
	settle()
	for dead := range 4 {
		c.Nodes[dead].Silent = c.Grace - 1
		before := slices.Clone(view.Servers)
		if settle(); !slices.Equal(view.Servers, before) {
			t.Errorf("n%d is silent, and not dead yet: %+v", dead, view.Servers)
		}
		c.Nodes[dead].Silent = c.Grace
		settle()
		if r := (&Range{View: &view}); view.Servers[dead].Voter || r.voters("") != votes {
			t.Errorf("n%d is dead: %+v", dead, view.Servers)
		}
	}
	c.Nodes[0].Silent = 0
	if settle(); view.Servers[0].Voter {
		t.Errorf("n0 is back: %+v", view.Servers)
	}
}
