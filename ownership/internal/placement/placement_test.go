package placement

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// sim is a cluster in virtual time: a table, a raft configuration for each range, and
// what lies on the nodes' disks.
type sim struct {
	t      testing.TB
	rng    *rand.Rand
	table  Cluster
	config []View
	silent map[string]time.Duration
	fill   map[string]time.Duration // how long a nonvoter has been filled, by replica ID
	last   int                      // replica number
	plans  int
	late   []Step // that a driver which has lost its place may yet carry out
	hurt   bool   // damaged replicas still vote
}

const round = time.Second

func newSim(t testing.TB, rng *rand.Rand, nodes, ranges, replicas int) *sim {
	s := &sim{
		t: t, rng: rng, silent: make(map[string]time.Duration), fill: make(map[string]time.Duration),
		table: Cluster{Replicas: replicas, Grace: 10 * time.Minute, Moving: 4},
	}
	for range nodes {
		s.join()
	}
	for i := range ranges {
		r := Range{ID: uint32(i)}
		v := View{Index: 1, Load: float64(1 + rng.IntN(10))}
		for j := range min(replicas, nodes) {
			replica := s.number(s.table.Nodes[(i+j)%nodes].ID)
			r.Replicas = append(r.Replicas, replica)
			v.Servers = append(v.Servers, Server{Replica: replica, Voter: true})
		}
		v.Leader = r.Replicas[0].ID
		s.table.Ranges, s.config = append(s.table.Ranges, r), append(s.config, v)
	}
	return s
}

func (s *sim) join() string {
	id := fmt.Sprintf("n%02d", len(s.table.Nodes))
	s.table.Nodes = append(s.table.Nodes, Node{ID: id})
	return id
}

func (s *sim) number(node string) Replica {
	s.last++
	return Replica{ID: fmt.Sprintf("%s/%d", node, s.last), Node: node}
}

// lives reports whether a node runs.
func (s *sim) lives(node string) bool { return s.silent[node] == 0 }

// quorum reports whether the range has a majority.
func (s *sim) quorum(i int) bool {
	voters, live := 0, 0
	for _, server := range s.config[i].Servers {
		if server.Voter {
			voters++
			if s.lives(server.Node) && (s.hurt || !s.table.Ranges[i].damaged(server.Replica)) {
				live++
			}
		}
	}
	return live > voters/2
}

// see returns the cluster as a driver sees it: views of ranges that have a leader.
func (s *sim) see() Cluster {
	c := s.table
	c.Nodes, c.Ranges = slices.Clone(c.Nodes), slices.Clone(c.Ranges)
	for i := range c.Nodes {
		c.Nodes[i].Silent = s.silent[c.Nodes[i].ID]
	}
	for i := range c.Ranges {
		if c.Ranges[i].View = nil; !s.quorum(i) {
			continue
		}
		v := s.config[i]
		v.Servers = slices.Clone(v.Servers)
		for j := range v.Servers {
			if !v.Servers[j].Voter {
				v.Servers[j].Caught = s.fill[v.Servers[j].ID] - 5*time.Second
			}
		}
		c.Ranges[i].View = &v
	}
	return c
}

// carryOut does a step, unless it comes too late for that.
func (s *sim) carryOut(step Step) {
	i := int(step.Range)
	r, v := &s.table.Ranges[i], &s.config[i]
	same := func(x Replica) bool { return x.ID == step.Replica.ID }
	server := slices.IndexFunc(v.Servers, func(x Server) bool { return same(x.Replica) })
	switch step.Kind {
	case Plan:
		s.plans++
		r.Joining = append(slices.Clone(r.Joining), s.number(step.Replica.Node))
		return
	case Promote:
		if at := slices.IndexFunc(r.Joining, same); at >= 0 {
			r.Joining, r.Replicas = slices.Delete(slices.Clone(r.Joining), at, at+1), append(slices.Clone(r.Replicas), step.Replica)
		}
		return
	case Forget:
		r.Joining = slices.DeleteFunc(slices.Clone(r.Joining), same)
		r.Replicas = slices.DeleteFunc(slices.Clone(r.Replicas), same)
		r.Damaged = slices.DeleteFunc(slices.Clone(r.Damaged), func(id string) bool { return id == step.Replica.ID })
		return
	case Prefer:
		if at := slices.IndexFunc(r.Replicas, same); at >= 0 {
			r.Replicas = slices.Clone(r.Replicas)
			r.Replicas[0], r.Replicas[at] = r.Replicas[at], r.Replicas[0]
		}
		return
	}
	if step.Index != v.Index || !s.quorum(i) {
		return // refused
	}
	v.Servers = slices.Clone(v.Servers)
	switch step.Kind {
	case AddNonvoter:
		v.Servers = append(v.Servers, Server{Replica: step.Replica})
	case AddVoter:
		if s.fill[step.Replica.ID] < 8*time.Second {
			s.t.Fatalf("%+v: it has been filled for %s only", step, s.fill[step.Replica.ID])
		}
		v.Servers[server].Voter = true
	case Remove:
		v.Servers = slices.Delete(v.Servers, server, server+1)
	}
	v.Index++
	if !s.quorum(i) {
		s.t.Fatalf("%+v leaves range %d without a majority: %+v", step, i, v.Servers)
	}
}

// advance lets time go by.
func (s *sim) advance(d time.Duration) {
	for node, silent := range s.silent {
		if silent > 0 {
			s.silent[node] += d
		}
	}
	for i, v := range s.config {
		for _, server := range v.Servers {
			if !server.Voter && s.lives(server.Node) && s.quorum(i) {
				s.fill[server.ID] += d
			}
		}
	}
}

// turn lets a driver look and act once. A driver may die: then some of its steps come
// late, or never.
func (s *sim) turn(lossy bool) (steps []Step) {
	c := s.see()
	steps = Next(c)
	seen := make(map[uint32]bool)
	for _, step := range steps {
		if seen[step.Range] {
			s.t.Fatalf("two steps of range %d: %+v", step.Range, steps)
		}
		seen[step.Range] = true
	}
	moving := 0
	for _, step := range steps {
		switch {
		case lossy && s.rng.IntN(4) == 0:
		case lossy && step.Kind != Plan && s.rng.IntN(4) == 0:
			s.late = append(s.late, step)
		default:
			s.carryOut(step)
		}
	}
	for _, r := range s.table.Ranges {
		moving += len(r.Joining)
		if len(r.Joining) > 1 {
			s.t.Fatalf("range %d gets two replicas at once: %+v", r.ID, r.Joining)
		}
	}
	if moving > c.Moving {
		s.t.Fatalf("%d ranges get replicas at once, want %d at most", moving, c.Moving)
	}
	if lossy && len(s.late) > 0 && s.rng.IntN(3) == 0 {
		s.carryOut(s.late[0])
		s.late = s.late[1:]
	}
	s.advance(round)
	return steps
}

// settle turns until nothing is to be done any more.
func (s *sim) settle() {
	s.t.Helper()
	for range 5000 {
		if len(s.turn(false)) == 0 && Settled(s.see()) {
			return
		}
	}
	s.t.Fatalf("not settled: next %+v of %+v", Next(s.see()), s.see())
}

// check wants every range to lie as it should.
func (s *sim) check() {
	s.t.Helper()
	counts, leads, members := make(map[string]int), make(map[string]int), 0
	for _, n := range s.table.Nodes {
		if n.State == Member && s.lives(n.ID) {
			counts[n.ID], leads[n.ID] = 0, 0
			members++
		}
	}
	for i, r := range s.table.Ranges {
		var servers []Replica
		for _, server := range s.config[i].Servers {
			if servers = append(servers, server.Replica); !server.Voter {
				s.t.Errorf("range %d: %s has no vote", i, server.ID)
			}
		}
		byID := func(a, b Replica) int { return cmp.Compare(a.ID, b.ID) }
		table := slices.SortedFunc(slices.Values(r.Replicas), byID)
		slices.SortFunc(servers, byID)
		if !slices.Equal(table, servers) || len(r.Joining) > 0 || len(r.Damaged) > 0 {
			s.t.Errorf("range %d: table %+v and %+v, damaged %v, raft %+v", i, table, r.Joining, r.Damaged, servers)
		}
		if want := min(s.table.Replicas, members); len(r.Replicas) != want {
			s.t.Errorf("range %d has %d replicas, want %d", i, len(r.Replicas), want)
		}
		for _, replica := range r.Replicas {
			if _, may := counts[replica.Node]; !may {
				s.t.Errorf("range %d is still on %s", i, replica.Node)
			}
			counts[replica.Node]++
		}
		leads[r.Replicas[0].Node]++
	}
	even := func(what string, counts map[string]int, within int) {
		least, most := len(s.table.Ranges), 0
		for _, n := range counts {
			least, most = min(least, n), max(most, n)
		}
		if most-least > within {
			s.t.Errorf("%s are not even: %v", what, counts)
		}
	}
	even("replicas", counts, 1)
	even("preferred leaders", leads, 2)
}

// TestAnyTurn: joins, deaths, drains and removals at any instant, steps that are lost or
// come late: no step ends a majority, and when nodes rest all is in its place.
func TestAnyTurn(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 18))
			s := newSim(t, rng, 3+rng.IntN(3), 1+rng.IntN(24), 3)
			for range 30 + rng.IntN(100) {
				s.event()
				for range rng.IntN(12) {
					s.turn(true)
				}
				if rng.IntN(5) == 0 {
					s.advance(time.Duration(rng.IntN(900)) * time.Second)
				}
			}
			for id, silent := range s.silent {
				if silent > 0 && s.node(id).State != Removed {
					s.silent[id] = 0
				}
			}
			s.late = nil
			s.settle()
			s.check()
		})
	}
}

func (s *sim) node(id string) *Node {
	return &s.table.Nodes[slices.IndexFunc(s.table.Nodes, func(n Node) bool { return n.ID == id })]
}

// votes reports whether a replica on a node has a vote.
func (s *sim) votes(node string) bool {
	return slices.ContainsFunc(s.config, func(v View) bool {
		return slices.ContainsFunc(v.Servers, func(x Server) bool { return x.Voter && x.Node == node })
	})
}

// event changes a node. What an operator may not do, is not done: a removal of a node
// that lives, a drain that leaves too few. At most one node is dead that has votes, or one
// replica is damaged or not there again.
func (s *sim) event() {
	members, dead := 0, 0
	for _, n := range s.table.Nodes {
		if n.State == Member {
			members++
		}
		if !s.lives(n.ID) && (n.State != Removed || s.votes(n.ID)) {
			dead++
		}
	}
	for i, r := range s.table.Ranges {
		voters := 0
		for _, server := range s.config[i].Servers {
			if server.Voter {
				voters++
			}
		}
		dead += len(r.Damaged) + max(0, s.table.Replicas-voters)
	}
	n := &s.table.Nodes[s.rng.IntN(len(s.table.Nodes))]
	switch s.rng.IntN(6) {
	case 0:
		if members < 7 {
			s.join()
		}
	case 1:
		if n.State != Removed && s.lives(n.ID) && dead == 0 {
			s.silent[n.ID] = 1
		}
	case 2:
		if n.State != Removed {
			s.silent[n.ID] = 0
		}
	case 3:
		if n.State == Member && members > 3 {
			n.State = Draining
		}
	case 4:
		if n.State != Removed && !s.lives(n.ID) && (members > 3 || n.State == Draining) {
			n.State = Removed
		}
	case 5:
		if dead == 0 {
			s.damage(s.rng.IntN(len(s.table.Ranges)))
		}
	}
}

// damage damages a replica of a range, if it leaves a majority.
func (s *sim) damage(i int) {
	r := &s.table.Ranges[i]
	all := slices.Concat(r.Replicas, r.Joining)
	before := r.Damaged
	r.Damaged = append(slices.Clone(before), all[s.rng.IntN(len(all))].ID)
	if !s.quorum(i) {
		r.Damaged = before
	}
}

// TestJoin: a fourth node gets its part and nothing else moves.
func TestJoin(t *testing.T) {
	s := newSim(t, rand.New(rand.NewPCG(1, 1)), 3, 16, 3)
	s.join()
	s.settle()
	s.check()
	if s.plans != 12 { // a quarter of 48
		t.Errorf("%d replicas were made, want 12", s.plans)
	}
}

// TestGrowth: the ranges of one node get replicas on the two that join it.
func TestGrowth(t *testing.T) {
	s := newSim(t, rand.New(rand.NewPCG(1, 2)), 1, 8, 3)
	s.join()
	s.join()
	s.settle()
	s.check()
	if s.plans != 16 {
		t.Errorf("%d replicas were made, want 16", s.plans)
	}
}

// TestDead: a node is replaced when it has been dead for long, not before, and only
// while a majority lives.
func TestDead(t *testing.T) {
	for _, test := range []struct {
		dead  []string
		after time.Duration
		plans int
	}{
		{[]string{"n01"}, 9 * time.Minute, 0},
		{[]string{"n01"}, 11 * time.Minute, 6},
		{[]string{"n01", "n02"}, 11 * time.Minute, 0},
	} {
		s := newSim(t, rand.New(rand.NewPCG(1, 3)), 4, 8, 3)
		for _, id := range test.dead {
			s.silent[id] = test.after
		}
		for range 50 {
			s.turn(false)
		}
		for range 50 {
			if s.silent["n01"] < s.table.Grace {
				break
			}
			s.turn(false)
		}
		if s.plans != test.plans {
			t.Errorf("%v dead for %s: %d replicas were made, want %d", test.dead, test.after, s.plans, test.plans)
		}
	}
}

// TestDamaged: a damaged replica goes before the one that takes its place is planned, on the
// same node where no other one has fewer; the only one of a range stays.
func TestDamaged(t *testing.T) {
	s := newSim(t, rand.New(rand.NewPCG(1, 6)), 3, 8, 3)
	victim := s.table.Ranges[3].Replicas[1]
	s.table.Ranges[3].Damaged = []string{victim.ID}
	if Settled(s.see()) {
		t.Error("settled with a damaged replica")
	}
	for _, want := range []Kind{Remove, Forget, Plan} {
		if steps := s.turn(false); len(steps) != 1 || steps[0].Kind != want || steps[0].Replica.Node != victim.Node || steps[0].Range != 3 {
			t.Fatalf("steps %+v, want %s on %s", steps, want, victim.Node)
		}
	}
	s.settle()
	s.check()
	if s.plans != 1 {
		t.Errorf("%d replicas were made, want 1", s.plans)
	}
	alone := newSim(t, rand.New(rand.NewPCG(1, 7)), 1, 2, 3)
	alone.table.Ranges[0].Damaged = []string{alone.table.Ranges[0].Replicas[0].ID}
	if steps := Next(alone.see()); len(steps) > 0 {
		t.Errorf("steps %+v with the only replica damaged", steps)
	}
	two := newSim(t, rand.New(rand.NewPCG(1, 8)), 3, 1, 3)
	two.table.Ranges[0].Damaged = []string{two.table.Ranges[0].Replicas[0].ID, two.table.Ranges[0].Replicas[1].ID}
	two.config[0].Leader = two.table.Ranges[0].Replicas[2].ID
	c := two.see()
	c.Ranges[0].View = &two.config[0] // a leader that has not noticed yet
	if steps := Next(c); len(steps) > 0 {
		t.Errorf("steps %+v with two of three replicas damaged", steps)
	}
}

// TestDamagedVotes: a range of which one replica is whole goes on as long as damaged ones vote; a
// fourth node takes the place of the other ones, first of that which is dead.
func TestDamagedVotes(t *testing.T) {
	for _, test := range []struct{ damaged, dead []int }{
		{damaged: []int{2}, dead: []int{1}},
		{damaged: []int{1, 2}},
		{damaged: []int{1, 2}, dead: []int{1}},
		{damaged: []int{1, 2}, dead: []int{2}},
	} {
		s := newSim(t, rand.New(rand.NewPCG(1, 9)), 4, 1, 3)
		s.hurt = true
		replicas := slices.Clone(s.table.Ranges[0].Replicas)
		for _, i := range test.damaged {
			s.table.Ranges[0].Damaged = append(s.table.Ranges[0].Damaged, replicas[i].ID)
		}
		for _, i := range test.dead {
			s.silent[replicas[i].Node] = s.table.Grace
		}
		s.settle()
		s.check()
	}
}

// TestJoinAndDie: a node that joins and dies, ten times, leaves no replica behind.
func TestJoinAndDie(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	s := newSim(t, rng, 3, 8, 3)
	for range 10 {
		id := s.join()
		for range 3 + rng.IntN(20) {
			s.turn(false)
		}
		s.silent[id] = 1
		for range 40 {
			s.turn(false)
		}
		s.node(id).State = Removed
		s.settle()
		s.check()
	}
	if s.plans == 0 {
		t.Error("nothing was ever planned")
	}
}

// TestLoad: of the ranges that may move, one goes that leaves the loads most alike.
func TestLoad(t *testing.T) {
	s := newSim(t, rand.New(rand.NewPCG(1, 5)), 1, 4, 1)
	for i, load := range []float64{1, 9, 5, 5} {
		s.config[i].Load = load
	}
	s.join()
	s.settle()
	load := make(map[string]float64)
	for i, r := range s.table.Ranges {
		load[r.Replicas[0].Node] += s.config[i].Load
	}
	if load["n00"] != 10 || load["n01"] != 10 {
		t.Errorf("loads %v, want 10 each", load)
	}
}

// TestLostRanges: ranges that have lost their majority, with replicas under way to them, hold
// up no other range: all of those get replicas for the ones on the two nodes that are dead.
func TestLostRanges(t *testing.T) {
	s := newSim(t, rand.New(rand.NewPCG(1, 6)), 6, 12, 3)
	s.silent["n01"], s.silent["n02"] = time.Hour, time.Hour
	lost := 0
	for i := range s.table.Ranges {
		if !s.quorum(i) {
			s.table.Ranges[i].Joining = []Replica{s.number("n04")}
			lost++
		}
	}
	if lost != s.table.Moving {
		t.Fatalf("%d ranges are lost, want %d", lost, s.table.Moving)
	}
	for range 1000 {
		c := s.see()
		for _, step := range Next(c) {
			s.carryOut(step)
		}
		s.advance(round)
	}
	for i, r := range s.table.Ranges {
		for _, replica := range r.Replicas {
			if s.quorum(i) && !s.lives(replica.Node) {
				t.Errorf("range %d is still on %s", i, replica.Node)
			}
		}
	}
}

// TestDeadVoterFirst: a dead voter goes before the replica that is made for it gets a vote:
// with both of them, the death of the new one, too, would end the majority.
func TestDeadVoterFirst(t *testing.T) {
	for _, state := range []State{Member, Draining, Removed} {
		s := newSim(t, rand.New(rand.NewPCG(1, 7)), 4, 8, 3)
		s.silent["n01"], s.node("n01").State = time.Hour, state
		given := 0
		for range 200 {
			for _, step := range s.turn(false) {
				if step.Kind != AddVoter {
					continue
				}
				given++
				if servers := s.config[step.Range].Servers; slices.ContainsFunc(servers, func(x Server) bool { return x.Voter && x.Node == "n01" }) {
					t.Errorf("state %d: range %d: %s gets a vote, and n01 has one: %+v", state, step.Range, step.Replica.ID, servers)
				}
			}
		}
		if given != 6 {
			t.Errorf("state %d: %d votes were given, want 6", state, given)
		}
		s.check()
	}
}
