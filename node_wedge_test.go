package corona

import (
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/wedge"
)

func TestPollers(t *testing.T) {
	node := func(id string, state ownership.NodeState, missed int) ownership.NodeHealth {
		return ownership.NodeHealth{ID: id, State: state, Health: peer.Health{Missed: missed}}
	}
	nodes := []ownership.NodeHealth{
		node("answers", ownership.NodeMember, 0), node("missed two", ownership.NodeMember, 2), node("missing", ownership.NodeMember, 3),
		node("drained", ownership.NodeDraining, 0), node("removed", ownership.NodeRemoved, 0), node("not in the gossip", ownership.NodeMember, 0),
		node("shares", ownership.NodeMember, 0), node("shares, missing", ownership.NodeMember, 3),
	}
	var alike []wedge.Member
	for _, id := range []string{"answers", "missed two", "missing", "drained", "removed", "stranger"} {
		alike = append(alike, wedge.Member{ID: id, Egress: id})
	}
	alike = append(alike, wedge.Member{ID: "shares", Egress: "nat"}, wedge.Member{ID: "shares, missing", Egress: "nat"})
	var got []string
	for _, m := range pollers(alike, nodes) {
		got = append(got, m.ID)
	}
	if want := []string{"answers", "missed two", "shares", "shares, missing"}; !slices.Equal(got, want) {
		t.Errorf("%q poll, want %q", got, want)
	}
}
