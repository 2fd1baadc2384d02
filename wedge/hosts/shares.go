package hosts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// Question asks the leader of a range for parts of the caps of its hosts.
type Question struct {
	Node   string       `json:"node"` // that asks
	Number uint64       `json:"number"`
	Asks   []grants.Ask `json:"asks"`
}

// Answer is what the leader grants. What is not in it is not granted now.
type Answer struct {
	Shares []grants.Share `json:"shares"`
}

// shares is what this node takes of hosts' caps, and what it grants of those whose
// ranges it leads.
type shares struct {
	askers channel.ByRange[*asker]

	mu     sync.Mutex
	tables channel.ByRange[*grants.Table] // of the ranges that this node leads
}

// asker asks the leader of one range, one question at a time.
type asker struct {
	r channel.Range

	mu     sync.Mutex
	holder *grants.Holder
	busy   bool
}

func (s *shares) init(ranges []channel.Range) {
	began := uint64(time.Now().UnixMicro()) // no earlier run has asked so often
	for _, r := range ranges {
		s.askers.Set(r, &asker{r: r, holder: grants.NewHolder(began)})
	}
}

// lookEvery is how often a node looks whether it needs more of a host's cap.
const lookEvery = 250 * time.Millisecond

// keepShares asks for what the engine needs of hosts' caps until ctx is done.
func (n *Node) keepShares(ctx context.Context) {
	for sleep(ctx, lookEvery) {
		demands := make(map[*asker][]channel.Demand)
		for _, d := range n.engine.Demands() {
			a := n.shares.askers.At(d.Host.Bucket())
			demands[a] = append(demands[a], d)
		}
		for _, a := range n.shares.askers.All() {
			if ended := a.lapse(); len(ended) > 0 {
				n.engine.Grant(ended...)
			}
			if question := a.ask(demands[a]); len(question.Asks) > 0 {
				question.Node = n.config.Self
				n.begin(func(ctx context.Context) { n.askFor(ctx, a, question) })
			}
		}
	}
}

func (a *asker) lapse() []channel.Grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holder.Lapse(time.Now())
}

// ask returns the next question, none while one is under way.
func (a *asker) ask(demands []channel.Demand) (q Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || len(demands) == 0 {
		return q
	}
	q.Number, q.Asks = a.holder.Ask(demands, most, time.Now())
	a.busy = len(q.Asks) > 0
	return q
}

func (n *Node) askFor(ctx context.Context, a *asker, q Question) {
	answer, err := n.config.Ask.Shares(ctx, a.r.From, q)
	if err != nil {
		n.metrics.failures.Inc()
	}
	a.mu.Lock()
	granted := a.holder.Take(q.Number, answer.Shares, time.Now())
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
	return Answer{table.Answer(q.Node, q.Number, q.Asks, time.Now())}, nil
}

// check says what no sound node asks.
func (n *Node) check(r channel.Range, q Question) error {
	if n.others[q.Node] == nil && q.Node != n.config.Self {
		return fmt.Errorf("node %q is none of this cluster", q.Node)
	}
	if len(q.Asks) > most {
		return fmt.Errorf("%d hosts in one question", len(q.Asks))
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

func (s *shares) gained(r channel.Range) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables.Set(r, grants.NewTable(time.Now()))
}

// RangeLost forgets what was granted of a range that this node does not lead any more.
func (n *Node) RangeLost(r channel.Range) {
	n.shares.mu.Lock()
	defer n.shares.mu.Unlock()
	n.shares.tables.Remove(r)
}
