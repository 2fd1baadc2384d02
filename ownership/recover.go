package ownership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/channel"
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

// Recoveries returns all recoveries that there have been.
func (s *Store) Recoveries() (all []Recovery) {
	for _, r := range s.known.Load().GetRecoveries() {
		done := Recovery{
			Range: r.Range, Replica: r.Replica, At: wire.Time(r.TimeUs),
			Survivors: []Survivor{{Node: nodeName(r.Survivor), Replica: r.Survivor, Index: r.Index, Term: r.Term, Newest: wire.Time(r.NewestUs)}},
		}
		for _, id := range r.Lost {
			done.Lost = append(done.Lost, nodeName(id))
		}
		all = append(all, done)
	}
	return all
}

// PlanRecovery says what Recover would do. Its error is ErrRefused while a majority of the
// group's voters answers, which can have a leader, or if none of its replicas that are whole
// does; ErrUnavailable while a node with a replica may only be slow; channel.ErrNotFound or
// ErrInvalid.
func (s *Store) PlanRecovery(ctx context.Context, group uint32) (Recovery, error) {
	plan, err := s.planRecovery(ctx, group)
	return plan.Recovery, err
}

// Recover makes the whole replica of a group with the newest log its only one, and returns when that
// is decided; Recovery.At is set then. The errors are those of PlanRecovery, and ErrUnavailable; for a range also if the
// meta group has to be recovered first.
func (s *Store) Recover(ctx context.Context, group uint32) (Recovery, error) {
	plan, err := s.planRecovery(ctx, group)
	if err != nil {
		return plan.Recovery, err
	}
	plan.At = s.cfg.Now()
	if group == metaRange {
		return plan.Recovery, s.recoverMetaAt(ctx, nodeID(raft.ServerID(plan.newest.Replica)))
	}
	_, err = s.change(ctx, &wire.MetaCommand{Change: &wire.MetaCommand_RecoverRange{RecoverRange: &wire.RecoverRange{
		Recovery: s.recoveryOf(group, plan.newest), Revision: s.known.Load().GetRevision(),
	}}})
	if errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w (if the majority of the meta group is gone too, recover that first)", err)
	}
	return plan.Recovery, err
}

func (s *Store) recoveryOf(group uint32, newest *wire.ReplicaLog) *wire.Recovery {
	return &wire.Recovery{
		Range: group, TimeUs: wire.Micros(s.cfg.Now()), Survivor: newest.Replica,
		Index: newest.Index, Term: newest.Term, NewestUs: newest.NewestUs,
	}
}

// mayRecover asks again, at the leader of the meta group, and wants the same survivor.
func (s *Store) mayRecover(ctx context.Context, c *wire.Recovery) error {
	plan, err := s.planRecovery(ctx, c.GetRange())
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

func (s *Store) planRecovery(ctx context.Context, group uint32) (plan recoveryPlan, err error) {
	table := s.known.Load()
	if table == nil {
		return plan, fmt.Errorf("%w: a node alone has the only copy: restore a backup", ErrInvalid)
	}
	members, damaged, name := table.MetaReplicas, []string(nil), "the meta group"
	if group != metaRange {
		r, err := tableRange(table, group)
		if err != nil {
			return plan, fmt.Errorf("range %d: %w", group, channel.ErrNotFound)
		}
		members, damaged, name = slices.Concat(r.Replicas, r.Joining), r.Damaged, fmt.Sprintf("range %d", group)
	}
	logs, silent, late := s.askLogs(ctx, table, group)
	logs = slices.DeleteFunc(logs, func(l *wire.ReplicaLog) bool { return l.Index == 0 || !slices.Contains(members, l.Replica) })
	for _, l := range logs {
		l.Damaged = l.Damaged || slices.Contains(damaged, l.Replica)
	}
	slices.SortStableFunc(logs, newestFirst)
	whole := slices.DeleteFunc(slices.Clone(logs), (*wire.ReplicaLog).GetDamaged)
	late = slices.DeleteFunc(late, func(node string) bool {
		return !slices.ContainsFunc(members, func(id string) bool { return nodeID(raft.ServerID(id)) == node })
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
		return plan, fmt.Errorf("%w: node %s was heard moments ago, and has not said how far its log of %s reaches: ask again", ErrUnavailable, nodeName(late[0]), name)
	case len(whole) == 0:
		return plan, fmt.Errorf("%w: no whole replica of %s answers: restore a backup", ErrRefused, name)
	}
	return plan, nil
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

// majorityAnswers refuses a recovery where the voters that answer are a majority, by the
// configuration of the newest log. A damaged one gives its vote, but not to an older log, and
// does not lead.
func majorityAnswers(name string, logs []*wire.ReplicaLog) error {
	voters := logs[0].Voters
	var answer []string
	for _, l := range logs {
		if slices.Contains(voters, l.Replica) && (len(answer) > 0 || !l.Damaged) {
			answer = append(answer, nodeName(l.Replica))
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
		plan.Survivors = append(plan.Survivors, Survivor{Node: nodeName(l.Replica), Replica: l.Replica, Index: l.Index, Term: l.Term, Newest: wire.Time(l.NewestUs)})
	}
	for _, id := range members {
		if id != whole[0].Replica && (group != metaRange || slices.Contains(silent, nodeID(raft.ServerID(id)))) {
			plan.Lost = append(plan.Lost, nodeName(id))
		}
	}
	return plan
}

// Calls of the meta group that any node answers.
const (
	callLog         = "log"          // how far does the log of your replica of a range reach
	callRecoverMeta = "recover meta" // recover the meta group from your replica
)

// answerLogsWithin bounds how long nodes that may be gone are waited for.
const answerLogsWithin = time.Second

// askLogs asks all nodes that were not removed how far the logs of their replicas of a group
// reach. Silent are the IDs of those that do not answer, late of those that answer pings, or
// did a moment ago, and not this.
func (s *Store) askLogs(ctx context.Context, table *wire.Meta, group uint32) (logs []*wire.ReplicaLog, silent, late []string) {
	ctx, cancel := context.WithTimeout(ctx, answerLogsWithin)
	defer cancel()
	answers := make([]*wire.ReplicaLog, len(table.Nodes))
	var asking sync.WaitGroup
	for i, n := range table.Nodes {
		if NodeState(n.State) == NodeRemoved {
			continue
		}
		asking.Go(func() {
			if n.Id == s.net.self() {
				answers[i] = s.logHere(group)
				return
			}
			query, err := proto.Marshal(&wire.MoveReplica{Range: group})
			if err != nil {
				return
			}
			content, err := s.askMeta(ctx, n.Id, callLog, query)
			log := &wire.ReplicaLog{}
			if err == nil && proto.Unmarshal(content, log) == nil && nodeID(raft.ServerID(log.Replica)) == n.Id {
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
		case s.silent(id):
			silent = append(silent, id)
		default:
			late = append(late, id)
		}
	}
	return logs, silent, late
}

// logHere describes the log of this node's replica of a group.
func (s *Store) logHere(group uint32) *wire.ReplicaLog {
	if group == metaRange {
		return s.meta.seat().log(s.meta.raft(), 0)
	}
	way, err := s.routeOf(uint64(group))
	if err != nil {
		return &wire.ReplicaLog{}
	}
	g := way.local()
	if g == nil || g.empty() {
		return &wire.ReplicaLog{}
	}
	log := g.seat.log(g.raft, g.state.NewestTime())
	log.Damaged = s.repairs.has(group, log.Replica)
	return log
}

// log describes the log of a replica whose state has applied commands up to a time.
func (s seat) log(r *raft.Raft, newest uint64) *wire.ReplicaLog {
	term, _ := strconv.ParseUint(r.Stats()["last_log_term"], 10, 64) // raft gives it in no other way
	log := &wire.ReplicaLog{Replica: string(s.id), Index: r.LastIndex(), Term: term, NewestUs: newest}
	for _, server := range r.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			log.Voters = append(log.Voters, string(server.ID))
		}
	}
	return log
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

// recoverReplica makes this node's replica of a range the one that a recovery has made of it.
func (s *Store) recoverReplica(way *route, id string) error {
	if err := s.closeReplica(way); err != nil {
		return err
	}
	replica, err := raftnet.ParseID(way.ID, raft.ServerID(id))
	if err != nil {
		return err
	}
	log, err := s.log.Group(way.ID)
	if err != nil {
		return err
	}
	snapshot, _, err := (&snapshotStore{group: way.ID, log: log}).read()
	if err != nil {
		return err
	}
	if err := voteAlone(replica, log, log, snapshot.Index); err != nil {
		return err
	}
	if r := s.repairs.all()[way.ID]; s.repairs.has(way.ID, s.held[way.ID]) { // found since it was chosen
		s.repairs.note(way.ID, id, r.why)
	}
	s.tools.log.Warn("replica recovered: it is the range's only one", "range", way.ID, "replica", id)
	return s.hold(way.ID, id)
}
