package tables

import (
	"errors"
	"testing"

	"github.com/seed-91e7e7c1/corona/ownership/internal/placement"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// TestTableRecover: what a recovery makes of a table, and what is refused.
func TestTableRecover(t *testing.T) {
	of := func(survivor string, revision uint64) *wire.MetaCommand {
		return &wire.MetaCommand{Change: &wire.MetaCommand_RecoverRange{RecoverRange: &wire.RecoverRange{
			Recovery: &wire.Recovery{Survivor: survivor, Index: 7, Term: 2}, Revision: revision,
		}}}
	}
	meta := func(replica string, epoch uint32, nodes ...string) *wire.MetaCommand {
		return &wire.MetaCommand{Change: &wire.MetaCommand_RecoverMeta{RecoverMeta: &wire.RecoverMeta{
			Recovery: &wire.Recovery{Range: MetaRange, Survivor: "b.1/2", Replica: replica}, Epoch: epoch, Nodes: nodes,
		}}}
	}
	for name, command := range map[string]*wire.MetaCommand{
		"an unknown replica":          of("d.1/9", 0),
		"on a removed node":           of("c.1/6", 0),
		"a damaged replica":           of("a.1/4", 0),
		"another revision":            of("b.1/5", 1),
		"a replica of another node":   meta("a.1/9", 1),
		"the second before the first": meta("b.1/9", 2),
		"the survivor's node is lost": meta("b.1/9", 1, "b.1"),
	} {
		table, before := tableOfThree(), tableOfThree()
		table.Ranges[0].Damaged, before.Ranges[0].Damaged = []string{"a.1/4"}, []string{"a.1/4"}
		if err := Change(table, command); !errors.Is(err, state.ErrInvalid) || !proto.Equal(table, before) {
			t.Errorf("%s: %v, table %v", name, err, table)
		}
	}
	table, want := tableOfThree(), tableOfThree()
	table.Ranges[0].Damaged = []string{"a.1/4"}
	table.Ranges[0].Joining = []string{"d.1/7"}
	for _, command := range []*wire.MetaCommand{of("b.1/5", 0), meta("b.1/12", 1, "a.1", "c.1")} {
		if err := Change(table, command); err != nil {
			t.Fatal(err)
		}
	}
	want.LastReplica, want.MetaVoters, want.MetaReplicas = 12, 1, []string{"b.1/12", "a.1/1", "c.1/3"}
	want.Nodes[0].State = uint32(placement.Removed)
	want.Ranges[0].Replicas = []string{"b.1/7"}
	want.Recoveries = []*wire.Recovery{
		{Survivor: "b.1/5", Replica: "b.1/7", Lost: []string{"a.1/4", "c.1/6", "d.1/7"}, Index: 7, Term: 2},
		{Range: MetaRange, Survivor: "b.1/2", Replica: "b.1/12", Lost: []string{"a.1/1", "c.1/3"}},
	}
	if !proto.Equal(table, want) {
		t.Errorf("the table is\n%v\nwant\n%v", table, want)
	}
	if !Newer(table, tableOfThree()) || Newer(&wire.Meta{Revision: 99}, table) {
		t.Error("a table of the group that was given up counts as newer")
	}
	if SurvivorOf(table, "b.1/7") != "b.1/5" || SurvivorOf(table, "b.1/5") != "" || !GivenUp(table, "d.1/7") || !GivenUp(table, "b.1/5") || GivenUp(table, "b.1/7") {
		t.Error("which replicas go on is not told")
	}
}
