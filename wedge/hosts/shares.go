package hosts

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// Question asks the leader of a range for parts of the caps of its hosts.
type Question struct {
	Node   string       `json:"node"` // that asks
	Number uint64       `json:"number"`
	Asks   []grants.Ask `json:"asks"`

	// Owned is how many channels the node owns of hosts whose caps it divides; 0: none any
	// more.
	Owned []channel.Led `json:"owned,omitempty"`
}

// Answer is what the leader grants, and how many channels all nodes own of the hosts that
// were asked about. What is not in it is not granted now, or not known.
type Answer struct {
	Shares []grants.Share `json:"shares"`
	Kept   bool           `json:"kept"` // they are what the node held
	All    []channel.Led  `json:"all,omitempty"`
}

// shares is what this node takes of hosts' caps, and what it grants of those whose
// ranges it leads.
type shares struct {
	askers atomic.Pointer[channel.ByRange[*asker]]
	began  uint64 // no earlier run has asked so often

	mu     sync.Mutex
	tables channel.ByRange[*table] // of the ranges that this node leads
}

// table is what the leader of a range knows in a term.
type table struct {
	*grants.Table
	counts *grants.Counts
}

// asker asks the leader of one range, one question at a time.
type asker struct {
	r channel.Range

	mu     sync.Mutex
	holder *grants.Holder
	busy   bool
	over   bool                 // its range was split: others ask for its hosts
	owned  map[channel.ID]int64 // channels that this node owns, of hosts whose caps could be passed
	all    map[channel.ID]int64 // that all nodes own, as far as they were told
	left   []channel.Led        // hosts that it owns no channels of any more
	untold []channel.Led        // of both, that the leader is to be told now
	told   time.Time            // when all of owned was to be told
}

func (s *shares) init() {
	s.began = uint64(time.Now().UnixMicro())
	s.askers.Store(new(channel.ByRange[*asker]))
}

// lookEvery is how often a node looks whether it needs more of a host's cap.
const lookEvery = 250 * time.Millisecond

// tellEvery is how often it tells how many channels it owns of hosts whose caps could be
// passed.
const tellEvery = grants.Lease / 3

// keepShares asks for what the engine needs of hosts' caps until ctx is done, and tells it how
// many nodes there are.
func (n *Node) keepShares(ctx context.Context) {
	for sleep(ctx, lookEvery) {
		n.engine.SetNodes(1 + len(n.config.Others()))
		n.followSplits()
		demands, askers := make(map[*asker][]channel.Demand), n.shares.askers.Load()
		for _, d := range n.engine.Demands() {
			a := askers.At(d.Host.Bucket())
			demands[a] = append(demands[a], d)
		}
		for _, a := range askers.All() {
			if ended := a.lapse(demands[a]); len(ended) > 0 {
				n.engine.Grant(ended...)
			}
			if question := a.ask(demands[a]); !question.empty() {
				question.Node = n.config.Self
				n.begin(func(ctx context.Context) { n.askFor(ctx, a, question) })
			}
		}
	}
}

// Parts records of how many channels of hosts this node is the owner, and returns which
// part of all channels of each host that is; 0: not known. It does not wait.
func (n *Node) Parts(owned []channel.Led) (parts []float64) {
	byAsker, askers := make(map[*asker]map[channel.ID]int64), n.shares.askers.Load()
	for _, one := range owned {
		a := askers.At(one.Host.Bucket())
		if byAsker[a] == nil {
			byAsker[a] = make(map[channel.ID]int64)
		}
		byAsker[a][one.Host] = one.Channels
	}
	for _, a := range askers.All() {
		a.own(byAsker[a])
	}
	for _, one := range owned {
		parts = append(parts, askers.At(one.Host.Bucket()).part(one))
	}
	return parts
}

func (a *asker) own(owned map[channel.ID]int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for host, before := range a.owned {
		if owned[host] == 0 {
			a.left = append(a.left, channel.Led{Host: host})
		}
		if far(before, owned[host]) {
			a.told = time.Time{}
		}
	}
	for host := range owned {
		if a.owned[host] == 0 {
			a.told = time.Time{}
		}
	}
	a.owned = owned
	maps.DeleteFunc(a.all, func(host channel.ID, _ int64) bool { return owned[host] == 0 })
}

// far reports whether a number has changed so much that the leader is told
// at once.
func far(before, now int64) bool {
	change := now - before
	return max(change, -change) > before/8
}

func (a *asker) part(one channel.Led) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all[one.Host]
	if all == 0 {
		return 0
	}
	return min(float64(one.Channels)/float64(all), 1)
}

func (a *asker) lapse(demands []channel.Demand) []channel.Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil
	}
	return a.holder.Lapse(demands, time.Now())
}

// ask returns the next question, none while one is under way.
func (a *asker) ask(demands []channel.Demand) (q Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || a.over {
		return q
	}
	now := time.Now()
	q.Number, q.Asks = a.holder.Ask(demands, most, now)
	if now.Sub(a.told) >= tellEvery {
		a.tellAll(now)
	}
	n := min(len(a.untold), most)
	q.Owned, a.untold = a.untold[:n], a.untold[n:]
	a.busy = !q.empty()
	return q
}

func (q Question) empty() bool { return len(q.Asks) == 0 && len(q.Owned) == 0 }

// tellAll has the leader be told how many channels this node owns of hosts.
func (a *asker) tellAll(now time.Time) {
	a.told, a.untold, a.left = now, append(a.left, a.allOwned()...), nil
}

func (a *asker) allOwned() (all []channel.Led) {
	for host, channels := range a.owned {
		all = append(all, channel.Led{Host: host, Channels: channels})
	}
	return all
}

func (n *Node) askFor(ctx context.Context, a *asker, q Question) {
	answer, err := n.config.Ask.Shares(ctx, a.r.From, q)
	if err != nil {
		n.metrics.failures.Inc()
	}
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		return // as if the answer were lost
	}
	granted := a.holder.Take(q.Number, answer.Shares, answer.Kept, time.Now())
	for _, one := range answer.All {
		if a.owned[one.Host] > 0 { // else it is the number of the others
			a.all[one.Host] = one.Channels
		}
	}
	a.busy = false
	a.mu.Unlock()
	n.metrics.asked.Add(float64(len(q.Asks)))
	n.metrics.granted.Add(float64(len(granted)))
	n.engine.Grant(granted...)
}

// ServeShares grants a node parts of hosts' caps, at the leader of their range, which must
// have been that when the question was here already.
func (n *Node) ServeShares(r channel.Range, q Question) (Answer, error) {
	if err := n.check(r, q); err != nil {
		n.metrics.invalid.Inc()
		return Answer{}, err
	}
	n.shares.mu.Lock()
	defer n.shares.mu.Unlock()
	table := n.shares.tables.At(r.From)
	if table == nil {
		return Answer{}, fmt.Errorf("range %d is not led here any more", r.ID)
	}
	now := time.Now()
	shares, kept := table.Answer(q.Node, q.Number, q.Asks, now)
	return Answer{Shares: shares, Kept: kept, All: table.counts.Tell(q.Node, q.Owned, now)}, nil
}

// check says what no sound node asks.
func (n *Node) check(r channel.Range, q Question) error {
	if n.box(q.Node) == nil && q.Node != n.config.Self {
		return fmt.Errorf("node %q is none of this cluster", q.Node)
	}
	if len(q.Asks) > most || len(q.Owned) > most {
		return fmt.Errorf("%d and %d hosts in one question", len(q.Asks), len(q.Owned))
	}
	if err := checkOwned(r, q.Owned); err != nil {
		return err
	}
	for _, ask := range q.Asks {
		switch {
		case !r.Has(ask.Host.Bucket()):
			return errOtherRange
		case ask.Need < 0 || ask.Need > channel.WholeCap || ask.Holds < 0 || ask.Holds > channel.WholeCap:
			return fmt.Errorf("needs %d and holds %d millionths of the cap of host %s", ask.Need, ask.Holds, ask.Host)
		}
	}
	return nil
}

func checkOwned(r channel.Range, owned []channel.Led) error {
	for _, one := range owned {
		if !r.Has(one.Host.Bucket()) || one.Channels < 0 {
			return fmt.Errorf("owns %d channels of host %s", one.Channels, one.Host)
		}
	}
	return nil
}

func (s *shares) gained(r channel.Range, nodes []string) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	t := &table{grants.NewTable(nodes, now), grants.NewCounts(now)}
	s.tables.Set(r, t)
	return t
}

// RangeLost forgets what was granted of a range that this node does not lead any more.
func (n *Node) RangeLost(r channel.Range) {
	n.shares.mu.Lock()
	defer n.shares.mu.Unlock()
	n.shares.tables.Remove(r)
}
