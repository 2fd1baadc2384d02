package ownership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/raftnet"
	"github.com/seed-91e7e7c1/corona/ownership/internal/tables"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// survey asks all nodes how far their logs of a group reach, and says what follows for a
// recovery.
type survey struct{ *metaCalls }

// callLog asks: how far does the log of your replica of a group reach?
const callLog = "log"

func newSurvey(calls *metaCalls) *survey {
	v := &survey{calls}
	calls.servers[callLog] = func(_ context.Context, query []byte) (proto.Message, error) {
		of := &wire.MoveReplica{}
		if err := proto.Unmarshal(query, of); err != nil {
			return nil, fmt.Errorf("%w: question for a log: %w", ErrInvalid, err)
		}
		return v.logHere(of.Range), nil
	}
	return v
}

// PlanRecovery says what Recover would do. Its error is ErrRefused while a majority of the
// group's voters answers, which can have a leader, or if none of its replicas that are whole
// does; ErrUnavailable while a node with a replica may only be slow; channel.ErrNotFound or
// ErrInvalid.
func (v *survey) PlanRecovery(ctx context.Context, group uint32) (Recovery, error) {
	plan, err := v.planRecovery(ctx, group)
	return plan.Recovery, err
}

// mayRecover asks again, at the leader of the meta group, and wants the same survivor.
func (v *survey) mayRecover(ctx context.Context, c *wire.Recovery) error {
	plan, err := v.planRecovery(ctx, c.GetRange())
	if err == nil && plan.newest.Replica != c.Survivor {
		err = fmt.Errorf("%w: the newest log of range %d is of %s now, not of %s", ErrRefused, c.Range, plan.newest.Replica, c.Survivor)
	}
	return err
}

// recoveryPlan is a recovery with what it follows from.
type recoveryPlan struct {
	Recovery
	newest *wire.ReplicaLog // of the survivor
	silent []string         // IDs of the nodes that do not answer
}

func (v *survey) planRecovery(ctx context.Context, group uint32) (plan recoveryPlan, err error) {
	table := v.known.Load()
	if table == nil {
		return plan, fmt.Errorf("%w: a node alone has the only copy: restore a backup", ErrInvalid)
	}
	members, damaged, name := table.MetaReplicas, []string(nil), "the meta group"
	if group != metaRange {
		r, err := tables.Range(table, group)
		if err != nil {
			return plan, fmt.Errorf("range %d: %w", group, channel.ErrNotFound)
		}
		members, damaged, name = slices.Concat(r.Replicas, r.Joining), r.Damaged, fmt.Sprintf("range %d", group)
	}
	logs, silent, late := v.askLogs(ctx, table, group)
	logs = slices.DeleteFunc(logs, func(l *wire.ReplicaLog) bool { return l.Index == 0 || !slices.Contains(members, l.Replica) })
	for _, l := range logs {
		l.Damaged = l.Damaged || slices.Contains(damaged, l.Replica)
	}
	slices.SortStableFunc(logs, newestFirst)
	whole := aheadFirst(slices.DeleteFunc(slices.Clone(logs), (*wire.ReplicaLog).GetDamaged))
	late = slices.DeleteFunc(late, func(node string) bool {
		return !slices.ContainsFunc(members, func(id string) bool { return raftnet.NodeID(id) == node })
	})
	if len(whole) > 0 {
		plan = recoveryPlan{newest: whole[0], silent: silent}
		plan.Recovery = recoveryFrom(group, members, whole, silent)
		err = majorityAnswers(name, logs)
	}
	switch {
	case err != nil:
		return plan, err
	case len(late) > 0:
		return plan, fmt.Errorf("%w: node %s was heard moments ago, and has not said how far its log of %s reaches: ask again", ErrUnavailable, raftnet.NodeName(late[0]), name)
	case len(whole) == 0:
		return plan, fmt.Errorf("%w: %s", ErrRefused, noneWhole(table, group, members, name))
	}
	return plan, nil
}

// noneWhole says what to do about a group of which no whole replica answers.
func noneWhole(table *wire.Meta, group uint32, members []string, name string) string {
	var nodes []string
	for _, id := range members {
		nodes = append(nodes, raftnet.NodeName(id))
	}
	for _, r := range table.Recoveries {
		if r.Range == group && slices.Contains(members, r.Replica) {
			return fmt.Sprintf("%s was recovered at %s, and opens on %s: it is to answer soon", name, wire.Time(r.TimeUs).UTC().Format(time.RFC3339), raftnet.NodeName(r.Replica))
		}
	}
	return fmt.Sprintf("no whole replica of %s answers: start a node that has one (%s), or, if what they had is gone for good, restore a backup", name, strings.Join(nodes, ", "))
}

// newestFirst orders logs as raft compares them, whole replicas before damaged ones.
func newestFirst(a, b *wire.ReplicaLog) int {
	damaged := func(l *wire.ReplicaLog) int {
		if l.Damaged {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), damaged(a)-damaged(b))
}

// aheadFirst puts the replica first whose state has committed entries that the newest log lacks: a
// state that was sent reaches beyond the snapshot by whose term its log is compared.
func aheadFirst(whole []*wire.ReplicaLog) []*wire.ReplicaLog {
	for i, l := range whole {
		if l.Applied > reach(whole[0]) {
			whole = slices.Insert(slices.Delete(whole, i, i+1), 0, l)
		}
	}
	return whole
}

// reach returns the index of the last entry that a replica has, in its log or in its state.
func reach(l *wire.ReplicaLog) uint64 { return max(l.Index, l.Applied) }

// majorityAnswers refuses a recovery where the voters that answer are a majority, by the
// configuration of the newest log. A damaged one gives its vote, but not to an older log, and
// does not lead.
func majorityAnswers(name string, logs []*wire.ReplicaLog) error {
	voters := logs[0].Voters
	var answer []string
	for _, l := range logs {
		if slices.Contains(voters, l.Replica) && (len(answer) > 0 || !l.Damaged) {
			answer = append(answer, raftnet.NodeName(l.Replica))
		}
	}
	if 2*len(answer) > len(voters) {
		return fmt.Errorf("%w: %d of %d voters of %s answer (%s): a majority, nothing is lost", ErrRefused, len(answer), len(voters), name, strings.Join(answer, ", "))
	}
	return nil
}

func recoveryFrom(group uint32, members []string, whole []*wire.ReplicaLog, silent []string) Recovery {
	plan := Recovery{Range: group}
	for _, l := range whole {
		plan.Survivors = append(plan.Survivors, Survivor{Node: raftnet.NodeName(l.Replica), Replica: l.Replica, Index: reach(l), Term: l.Term, Newest: wire.Time(l.NewestUs)})
	}
	for _, id := range members {
		if id != whole[0].Replica && (group != metaRange || slices.Contains(silent, raftnet.NodeID(id))) {
			plan.Lost = append(plan.Lost, raftnet.NodeName(id))
		}
	}
	return plan
}

// answerLogsWithin bounds how long nodes that may be gone are waited for.
const answerLogsWithin = time.Second

// askLogs asks all nodes that were not removed how far the logs of their replicas of a group
// reach. Silent are the IDs of those that do not answer, late of those that answer pings, or
// did a moment ago, and not this.
func (v *survey) askLogs(ctx context.Context, table *wire.Meta, group uint32) (logs []*wire.ReplicaLog, silent, late []string) {
	ctx, cancel := context.WithTimeout(ctx, answerLogsWithin)
	defer cancel()
	answers := make([]*wire.ReplicaLog, len(table.Nodes))
	var asking sync.WaitGroup
	for i, n := range table.Nodes {
		if NodeState(n.State) == NodeRemoved {
			continue
		}
		asking.Go(func() {
			if n.Id == v.net.self() {
				answers[i] = v.logHere(group)
				return
			}
			query, err := proto.Marshal(&wire.MoveReplica{Range: group})
			if err != nil {
				return
			}
			content, err := v.ask(ctx, n.Id, callLog, query)
			log := &wire.ReplicaLog{}
			if err == nil && proto.Unmarshal(content, log) == nil && raftnet.NodeID(log.Replica) == n.Id {
				answers[i] = log
			}
		})
	}
	asking.Wait()
	for i, log := range answers {
		switch id := table.Nodes[i].Id; {
		case log != nil:
			logs = append(logs, log)
		case NodeState(table.Nodes[i].State) == NodeRemoved:
		case v.net.silent(id):
			silent = append(silent, id)
		default:
			late = append(late, id)
		}
	}
	return logs, silent, late
}

// logHere describes the log of this node's replica of a group.
func (v *survey) logHere(group uint32) *wire.ReplicaLog {
	if group == metaRange {
		return v.meta.seat().log(v.meta.raft(), 0)
	}
	way, err := v.routeOf(uint64(group))
	if err != nil {
		return &wire.ReplicaLog{}
	}
	g := way.local()
	if g == nil || g.empty() {
		return &wire.ReplicaLog{}
	}
	log := g.seat.log(g.raft, g.state.NewestTime())
	log.Applied = g.state.Index()
	log.Damaged = v.repairs.has(group, log.Replica)
	return log
}

// newestEntry returns the index and the term of the last entry that a replica has, in its log or in
// the state that it was sent.
func newestEntry(r *raft.Raft) (index, term uint64) {
	stats := r.Stats() // raft gives terms in no other way
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(stats[name], 10, 64)
		return n
	}
	if index, term = number("last_log_index"), number("last_log_term"); number("last_snapshot_index") > index {
		return number("last_snapshot_index"), number("last_snapshot_term")
	}
	return index, term
}

// log describes the log of a replica whose state has applied commands up to a time.
func (s seat) log(r *raft.Raft, newest uint64) *wire.ReplicaLog {
	index, term := newestEntry(r)
	log := &wire.ReplicaLog{Replica: string(s.id), Index: index, Term: term, NewestUs: newest}
	for _, server := range r.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			log.Voters = append(log.Voters, string(server.ID))
		}
	}
	return log
}
