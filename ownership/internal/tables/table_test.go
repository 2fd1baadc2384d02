package tables

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

func tableOfThree() *wire.Meta {
	return &wire.Meta{
		Cluster: []byte("c"), Replicas: 3, LastReplica: 6, MetaVoters: 3,
		Nodes: []*wire.Node{
			{Id: "a.1", Name: "a", Address: "a:1"}, {Id: "b.1", Name: "b", Address: "b:1"},
			{Id: "c.1", Name: "c", Address: "c:1", State: uint32(placement.Removed)},
		},
		MetaReplicas: []string{"a.1/1", "b.1/2", "c.1/3"},
		Ranges:       []*wire.Range{{To: 4095, Replicas: []string{"a.1/4", "b.1/5", "c.1/6"}}},
	}
}

func joining(id, name string) *wire.MetaCommand {
	return &wire.MetaCommand{Change: &wire.MetaCommand_Join{Join: &wire.Join{Node: &wire.Node{Id: id, Name: name, Address: "x:1"}}}}
}

func planning(group uint32, node string) *wire.MetaCommand {
	return &wire.MetaCommand{Change: &wire.MetaCommand_PlanReplica{PlanReplica: &wire.PlanReplica{Range: group, Node: node}}}
}

// TestTableRefuses: a command that does not fit the table is refused and changes nothing.
func TestTableRefuses(t *testing.T) {
	move := func(replica string) *wire.MoveReplica { return &wire.MoveReplica{Replica: replica} }
	for name, command := range map[string]*wire.MetaCommand{
		"a node without a name":          joining("d.1", ""),
		"an ID of another name":          joining("d.1", "e"),
		"an ID with a replica number":    joining("d.1/2", "d"),
		"a node that was removed":        joining("c.1", "c"),
		"a replica where one is":         planning(0, "b.1"),
		"a replica on a removed node":    planning(0, "c.1"),
		"a replica on an unknown node":   planning(0, "d.1"),
		"a replica of an unknown range":  planning(1, "a.1"),
		"a removed node that comes back": {Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: "c.1"}}},
		"a state that is none":           {Change: &wire.MetaCommand_SetNode{SetNode: &wire.SetNode{Id: "a.1", State: 3}}},
		"a node that has replicas":       {Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: "c.1"}}},
		"a node that was not removed":    {Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: "a.1"}}},
		"the promotion of a full one":    {Change: &wire.MetaCommand_PromoteReplica{PromoteReplica: move("a.1/4")}},
		"an unknown replica":             {Change: &wire.MetaCommand_ForgetReplica{ForgetReplica: move("a.1/9")}},
		"damage of an unknown replica":   {Change: &wire.MetaCommand_RangeDamaged{RangeDamaged: move("a.1/9")}},
		"damage in an unknown range":     {Change: &wire.MetaCommand_RangeDamaged{RangeDamaged: &wire.MoveReplica{Range: 1, Replica: "a.1/4"}}},
		"a leader without the range":     {Change: &wire.MetaCommand_PreferReplica{PreferReplica: move("d.1/9")}},
	} {
		table := tableOfThree()
		if err := Change(table, command); !errors.Is(err, state.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if !proto.Equal(table, tableOfThree()) {
			t.Errorf("%s: the table has become %v", name, table)
		}
	}
}

// TestTableMove: a range moves from one node to another, which takes its place, and no number
// is given twice; a node that joins once more changes nothing.
func TestTableMove(t *testing.T) {
	table := tableOfThree()
	for _, command := range []*wire.MetaCommand{
		joining("d.1", "d"),
		joining("d.1", "d"),
		planning(0, "d.1"),
		{Change: &wire.MetaCommand_PromoteReplica{PromoteReplica: &wire.MoveReplica{Replica: "d.1/8"}}},
		{Change: &wire.MetaCommand_ForgetReplica{ForgetReplica: &wire.MoveReplica{Replica: "c.1/6"}}},
		{Change: &wire.MetaCommand_PreferReplica{PreferReplica: &wire.MoveReplica{Replica: "b.1/5"}}},
		{Change: &wire.MetaCommand_ForgetNode{ForgetNode: &wire.ForgetNode{Id: "c.1"}}},
	} {
		if err := Change(table, command); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
	want := tableOfThree()
	want.LastReplica = 8
	want.Nodes = append(want.Nodes[:2], &wire.Node{Id: "d.1", Name: "d", Address: "x:1"})
	want.MetaReplicas = []string{"a.1/1", "b.1/2", "d.1/7"}
	want.Ranges[0].Replicas = []string{"b.1/5", "a.1/4", "d.1/8"}
	if !proto.Equal(table, want) {
		t.Errorf("the table is %v, want %v", table, want)
	}
}

// TestTableSameName: a node that joins under the name of another one takes its place.
func TestTableSameName(t *testing.T) {
	table := tableOfThree()
	if err := Change(table, joining("a.2", "a")); err != nil {
		t.Fatal(err)
	}
	if before := Node(table, "a.1"); placement.State(before.State) != placement.Removed {
		t.Errorf("the node of before is %v", before)
	}
	if now := Node(table, "a.2"); now == nil || placement.State(now.State) != placement.Member {
		t.Errorf("the new node is %v", now)
	}
}

// TestTableDamaged: a damaged replica is noted once, and no more when it is forgotten, whether
// it had all of the range or was to get it.
func TestTableDamaged(t *testing.T) {
	table := tableOfThree()
	table.Ranges[0].Joining = []string{"d.1/7"}
	damaged := func(replica string) *wire.MetaCommand {
		return &wire.MetaCommand{Change: &wire.MetaCommand_RangeDamaged{RangeDamaged: &wire.MoveReplica{Replica: replica}}}
	}
	forgotten := func(replica string) *wire.MetaCommand {
		return &wire.MetaCommand{Change: &wire.MetaCommand_ForgetReplica{ForgetReplica: &wire.MoveReplica{Replica: replica}}}
	}
	for _, step := range []struct {
		command *wire.MetaCommand
		want    []string
	}{
		{damaged("b.1/5"), []string{"b.1/5"}},
		{damaged("d.1/7"), []string{"b.1/5", "d.1/7"}},
		{damaged("b.1/5"), []string{"b.1/5", "d.1/7"}},
		{forgotten("d.1/7"), []string{"b.1/5"}},
		{forgotten("b.1/5"), nil},
	} {
		if err := Change(table, step.command); err != nil {
			t.Fatalf("%v: %v", step.command, err)
		}
		if got := table.Ranges[0].Damaged; !slices.Equal(got, step.want) {
			t.Errorf("after %v: damaged %v, want %v", step.command, got, step.want)
		}
	}
}
