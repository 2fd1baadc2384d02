package placement

import (
	"cmp"
	"math"
	"slices"
)

func (p *planner) step(r *Range, kind Kind, replica Replica, why string) {
	s := Step{Range: r.ID, Kind: kind, Replica: replica, Why: why}
	if r.View != nil {
		s.Index = r.View.Index
	}
	p.steps = append(p.steps, s)
}

// goOn takes the next step of what was begun for a range.
func (p *planner) goOn(r *Range) {
	if r.View == nil || r.Splitting {
		p.waits = true
		return
	}
	for _, s := range r.View.Servers {
		if !slices.Contains(r.Replicas, s.Replica) && !slices.Contains(r.Joining, s.Replica) {
			p.remove(r, s.Replica, "the table does not have it")
			return
		}
	}
	for _, replica := range r.Replicas {
		if r.server(replica) == nil {
			p.step(r, Forget, replica, "raft has forgotten it")
			return
		}
	}
	if len(r.Joining) > 0 {
		p.fill(r, r.Joining[0])
		return
	}
	if victim, found := p.victim(r); found && len(r.Replicas) > p.Replicas {
		p.remove(r, victim, cmp.Or(p.leaving(r, victim), "its node has the most replicas"))
	} else if victim, found := p.shrinks(r); found {
		p.remove(r, victim, p.leaving(r, victim))
	}
}

// fill takes the next step of a replica that is being made. What goes wrong ends it: its
// number is never used again, so that another one is planned.
func (p *planner) fill(r *Range, replica Replica) {
	n, server := p.of(replica), r.server(replica)
	why := ""
	switch {
	case n.State != Member || n.Silent >= patience:
		why = "its node went before it had the range"
	case r.damaged(replica):
		why = "it is damaged"
	}
	switch {
	case why != "" && server == nil:
		p.step(r, Forget, replica, why)
	case why != "":
		p.remove(r, replica, why)
	case server == nil:
		p.step(r, AddNonvoter, replica, "it is planned")
	case server.Voter:
		p.step(r, Promote, replica, "it votes")
	case server.Caught >= caughtUp && p.deadVictim(r) != nil && p.mayRemove(r, *p.deadVictim(r)):
		p.remove(r, *p.deadVictim(r), "another one has caught up in its place")
	case server.Caught >= caughtUp && p.votes(r)+1 >= majority(r.voters("")+1):
		p.step(r, AddVoter, replica, "it has caught up")
	default:
		p.waits = true
	}
}

// deadVictim returns the voter that goes for the replica being made, if its node is to be left
// and does not answer, else nil. It goes first: with both of them the range would need the vote
// of the new one, too, for a majority.
func (p *planner) deadVictim(r *Range) *Replica {
	victim, chosen := p.victims[r.ID]
	if !chosen || p.leaving(r, victim) == "" || p.of(victim).Silent == 0 {
		return nil
	}
	return &victim
}

// remove has raft forget a replica, unless too few of those that would be left answer.
func (p *planner) remove(r *Range, replica Replica, why string) {
	if !p.mayRemove(r, replica) {
		p.waits = true
		return
	}
	p.step(r, Remove, replica, why)
}

func (p *planner) mayRemove(r *Range, replica Replica) bool {
	left := r.voters(replica.ID)
	return left > 0 && p.live(r, replica.ID) >= majority(left)
}

func majority(voters int) int { return voters/2 + 1 }

// live counts the voters of a range that are whole and on nodes that answer, without one.
func (p *planner) live(r *Range, without string) (n int) {
	for _, s := range r.View.Servers {
		if s.Voter && s.ID != without && p.of(s.Replica).Silent == 0 && !r.damaged(s.Replica) {
			n++
		}
	}
	return n
}

// votes counts the voters of a range on nodes that answer. What a damaged one may not do after its
// next start the range needs now, as it did without another voter.
func (p *planner) votes(r *Range) (n int) {
	for _, s := range r.View.Servers {
		if s.Voter && p.of(s.Replica).Silent == 0 {
			n++
		}
	}
	return n
}

// voters counts the voters of a range without one.
func (r *Range) voters(without string) (n int) {
	for _, s := range r.View.Servers {
		if s.Voter && s.ID != without {
			n++
		}
	}
	return n
}

func (r *Range) server(replica Replica) *Server {
	for i := range r.View.Servers {
		if r.View.Servers[i].Replica == replica {
			return &r.View.Servers[i]
		}
	}
	return nil
}

// repair plans replicas for the ranges that need one, those with the fewest first.
func (p *planner) repair() {
	var need []*Range
	for i := range p.Ranges {
		if r := &p.Ranges[i]; p.idle(r) && p.need(r) != "" {
			need = append(need, r)
		}
	}
	slices.SortStableFunc(need, func(a, b *Range) int { return cmp.Compare(p.staying(a), p.staying(b)) })
	for _, r := range need {
		if r.View == nil || p.moving >= p.Moving {
			p.waits = true
		} else {
			p.plan(r, p.target(r), p.need(r))
		}
	}
}

// idle reports whether nothing is under way for a range.
func (p *planner) idle(r *Range) bool {
	return !r.Splitting && len(r.Joining) == 0 && len(r.Replicas) <= p.Replicas &&
		!slices.ContainsFunc(p.steps, func(s Step) bool { return s.Range == r.ID })
}

func (p *planner) staying(r *Range) (n int) {
	for _, replica := range r.Replicas {
		if p.leaving(r, replica) == "" {
			n++
		}
	}
	return n
}

func (p *planner) plan(r *Range, to *node, why string) {
	p.step(r, Plan, Replica{Node: to.ID}, why)
	p.count(Replica{Node: to.ID}, r, 1)
	p.moving++
	if victim, found := p.victim(r); found && len(r.Replicas) >= p.Replicas {
		p.count(victim, r, -1)
	}
}

// balance plans moves while a node has two replicas more than another one that may take
// one of them. Each move makes the sum of the squares of their numbers smaller.
func (p *planner) balance() {
	for p.moving < p.Moving {
		r, to := p.move()
		if r == nil {
			return
		}
		p.plan(r, to, "its node has fewer replicas than others")
	}
}

// move finds the move between the two nodes that differ most; of their ranges the one
// that leaves their loads most alike.
func (p *planner) move() (best *Range, to *node) {
	most, least := 1, math.Inf(1)
	for _, a := range p.order {
		for _, b := range p.order {
			difference := a.replicas - b.replicas
			if !a.may() || !b.may() || difference <= 1 || difference < most {
				continue
			}
			for i := range p.Ranges {
				r := &p.Ranges[i]
				if !p.idle(r) || len(r.Replicas) < p.Replicas || r.has(b.ID) || !p.leaves(r, a, b) {
					continue
				}
				rest := math.Abs(a.load - b.load - 2*r.load())
				if difference > most || rest < least {
					best, to, most, least = r, b, difference, rest
				}
			}
		}
	}
	return best, to
}

// leaves reports whether a replica of the range on node b would make it leave node a.
func (p *planner) leaves(r *Range, a, b *node) bool {
	victim, found := p.victim(r)
	return found && victim.Node == a.ID && a != b
}

// prefer has another replica lead when all is well, where a node leads two ranges more
// than another one that has replicas of them, or cannot lead.
func (p *planner) prefer() {
	leads := make(map[string]int)
	for _, r := range p.Ranges {
		if len(r.Replicas) > 0 {
			leads[r.Replicas[0].Node]++
		}
	}
	for i := range p.Ranges {
		r := &p.Ranges[i]
		if len(r.Replicas) < 2 {
			continue
		}
		first := p.of(r.Replicas[0])
		if first.State == Member && first.Silent > 0 { // it may come back
			continue
		}
		for _, replica := range r.Replicas[1:] {
			if n := p.of(replica); n.may() && (!first.may() || leads[first.ID] > leads[n.ID]+1) {
				p.step(r, Prefer, replica, "its node leads fewer ranges")
				return
			}
		}
	}
}
