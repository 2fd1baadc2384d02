package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// A group whose majority is gone for good can be recovered by an operator's word: the replica
// with the newest log that answers becomes its only voter, under a new number, by a
// configuration that is written to its log while it does not run. What it did not have is lost.

// MetaGroup stands for the meta group among ranges.
const MetaGroup uint32 = metaRange

// Survivor is a replica that answers, and how far its log reaches.
type Survivor struct {
	Node        string // name
	Replica     string // raft server ID
	Index, Term uint64 // of its last entry
	Newest      time.Time
}

// Recovery is what a recovery would do, or did.
type Recovery struct {
	Range     uint32     // or MetaGroup
	Survivors []Survivor // the newest log first: that one is kept
	Lost      []string   // names of nodes whose replicas are given up; of the meta group: that are removed
	Replica   string     // what the survivor is called since; empty while nothing was done
	At        time.Time  // when it was done
}

// recoveries make the survivor of a group its only voter.
type recoveries struct {
	*changes
	now func() time.Time
}

// callRecoverMeta has a node recover the meta group from its replica.
const callRecoverMeta = "recover meta"

func newRecoveries(changes *changes, now func() time.Time) *recoveries {
	r := &recoveries{changes: changes, now: now}
	changes.servers[callRecoverMeta] = func(ctx context.Context, _ []byte) (proto.Message, error) {
		return &wire.Meta{}, r.recoverMetaHere(ctx)
	}
	return r
}

// Recoveries returns all recoveries that there have been.
func (r *recoveries) Recoveries() (all []Recovery) {
	for _, r := range r.known.Load().GetRecoveries() {
		done := Recovery{
			Range: r.Range, Replica: r.Replica, At: wire.Time(r.TimeUs),
			Survivors: []Survivor{{Node: raftnet.NodeName(r.Survivor), Replica: r.Survivor, Index: r.Index, Term: r.Term, Newest: wire.Time(r.NewestUs)}},
		}
		for _, id := range r.Lost {
			done.Lost = append(done.Lost, raftnet.NodeName(id))
		}
		all = append(all, done)
	}
	return all
}

// Recover makes the whole replica of a group with the newest log its only one, and returns when that
// is decided; Recovery.At is set then. The errors are those of PlanRecovery, and ErrUnavailable;
// for a range also if the meta group has to be recovered first.
func (r *recoveries) Recover(ctx context.Context, group uint32) (Recovery, error) {
	plan, err := r.survey.planRecovery(ctx, group)
	if err != nil {
		return plan.Recovery, err
	}
	plan.At = r.now()
	if group == metaRange {
		return plan.Recovery, r.recoverMetaAt(ctx, raftnet.NodeID(plan.newest.Replica))
	}
	_, err = r.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_RecoverRange{RecoverRange: &wire.RecoverRange{
		Recovery: r.recoveryOf(group, plan.newest), Revision: r.known.Load().GetRevision(),
	}}})
	if errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w (if the majority of the meta group is gone too, recover that first)", err)
	}
	return plan.Recovery, err
}

func (r *recoveries) recoveryOf(group uint32, newest *wire.ReplicaLog) *wire.Recovery {
	return &wire.Recovery{
		Range: group, TimeUs: wire.Micros(r.now()), Survivor: newest.Replica,
		Index: reach(newest), Term: newest.Term, NewestUs: newest.NewestUs,
	}
}

// voteAlone appends to the log of a replica that does not run the configuration in which it is
// the only voter, in a term of its own. It may be done again.
func voteAlone(replica raftnet.Replica, logs raft.LogStore, stable raft.StableStore, snapshot uint64) error {
	last, err := logs.LastIndex()
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	term, err := stable.GetUint64([]byte("CurrentTerm"))
	if err != nil {
		return fmt.Errorf("recover: read term: %w", err)
	}
	if err := stable.SetUint64([]byte("CurrentTerm"), term+1); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: replica.ID(), Address: replica.Address()}}}
	entry := &raft.Log{Index: max(last, snapshot) + 1, Term: term + 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(alone)}
	if err := logs.StoreLog(entry); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return nil
}
