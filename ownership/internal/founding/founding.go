// Package founding lets some fresh nodes found one cluster, however their messages
// are lost, and whichever of them stop and start again.
//
// Each node keeps one promise for ever: to the node with the smallest ID of those that
// it sees, once they are as many as were expected. The node that holds the promises of
// all of them decides on the cluster's table, keeps it, and tells it to the nodes that
// promised. Two clusters would need more promises than there are nodes.
//
// A fresh node that has promised nothing and sees a cluster asks one of its nodes to take it
// in instead.
package founding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/internal/peer"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// Candidate is a node that was heard of.
type Candidate struct {
	ID, Name, Address string
	Cluster           string // empty for a fresh one
}

// Record is what a node keeps of a founding, durably.
type Record interface {
	Promise() (node string, err error) // empty: none
	SetPromise(node string) error
	Table() (*wire.Meta, error) // nil: none
	SetTable(table *wire.Meta) error
}

// Config is what a [Founding] needs; all of it is required.
type Config struct {
	Self    *wire.Node
	Support *wire.Support      // of this node's program
	Expect  int                // how many nodes found the cluster
	Seen    func() []Candidate // the other nodes that were heard of
	Peers   *peer.Node
	Kind    peer.Kind // of the calls between founders
	Record  Record
	// Decide makes the table of what all founders promised, by node ID; of the founder alone.
	Decide func(promises []*wire.Promise) *wire.Meta
	// Fits refuses the table of a cluster that this node's program cannot be of.
	Fits func(table *wire.Meta) error
	// Newest returns the newest table known, nil before there is one; Admit takes a fresh node
	// into the cluster, and returns a table with it. Both are of a node that is of a cluster.
	Newest func() *wire.Meta
	Admit  func(ctx context.Context, promise *wire.Promise) (*wire.Meta, error)
	Logger *slog.Logger
}

// Founding is a node's part in it.
type Founding struct {
	config Config

	mu struct {
		sync.Mutex
		table    *wire.Meta
		promises map[string]*wire.Promise // to this node, by the node that made it
		told     string                   // what was logged last
	}
}

// lookEvery is the pause between two looks at which nodes are there.
const lookEvery = 100 * time.Millisecond

// callWithin bounds one call of another node.
const callWithin = time.Second

var (
	errElsewhere = errors.New("this node's promise is another's")
	errWithout   = errors.New("the cluster was founded without this node")
)

// New returns a node's part in a founding, and answers the other nodes: it comes before
// the peers are served, also where the table is known.
func New(config Config) (*Founding, error) {
	f := &Founding{config: config}
	f.mu.promises = make(map[string]*wire.Promise)
	table, err := config.Record.Table()
	if err != nil {
		return nil, err
	}
	f.mu.table = table
	config.Peers.HandleOpen(config.Kind, f.answer)
	return f, nil
}

// Await returns the cluster's table as soon as it is founded.
func (f *Founding) Await(ctx context.Context) (*wire.Meta, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		table, err := f.step(ctx)
		if table != nil || err != nil {
			return table, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the other founders: %w", context.Cause(ctx))
		}
	}
}

// step does what can be done now. Its error is of the record, or of a table that does not fit.
func (f *Founding) step(ctx context.Context) (*wire.Meta, error) {
	if table := f.known(); table != nil {
		return table, nil
	}
	fresh, member := f.look()
	founder, err := f.config.Record.Promise()
	if err == nil && founder == "" && member != "" {
		return f.join(ctx, member)
	}
	if err == nil {
		founder, err = f.promise(fresh)
	}
	if err != nil || founder == "" {
		return nil, err
	}
	if founder == f.config.Self.Id {
		return f.decide()
	}
	return f.ask(ctx, founder)
}

func (f *Founding) known() *wire.Meta {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.table
}

// look returns the fresh nodes that are there, this one too, by ID, and one that is of a
// cluster, empty for none. It connects to all of them.
func (f *Founding) look() (fresh []*wire.Node, member string) {
	fresh = []*wire.Node{f.config.Self}
	var peers []peer.Peer
	var members []string
	for _, c := range f.config.Seen() {
		peers = append(peers, peer.Peer{ID: c.ID, Name: c.Name, Address: c.Address})
		if c.Cluster == "" && c.ID != f.config.Self.Id {
			fresh = append(fresh, &wire.Node{Id: c.ID, Name: c.Name, Address: c.Address})
		}
		if c.Cluster != "" {
			members = append(members, c.ID)
		}
	}
	f.config.Peers.SetPeers(peers)
	slices.SortFunc(fresh, func(a, b *wire.Node) int { return cmp.Compare(a.Id, b.Id) })
	if len(members) > 0 {
		member = members[rand.IntN(len(members))]
	}
	return fresh, member
}

// promise returns the node that this one lets found the cluster, empty while it has
// not seen all founders.
func (f *Founding) promise(fresh []*wire.Node) (string, error) {
	founder, err := f.config.Record.Promise()
	if err != nil || founder != "" {
		return founder, err
	}
	switch {
	case len(fresh) < f.config.Expect:
		f.tell("waiting for other founders of the cluster", "seen", names(fresh), "want", f.config.Expect)
		return "", nil
	case len(fresh) > f.config.Expect:
		f.tell("more fresh nodes than are to found the cluster: stop those that shall not", "seen", names(fresh), "want", f.config.Expect)
		return "", nil
	}
	founder = fresh[0].Id
	return founder, f.config.Record.SetPromise(founder)
}

func names(nodes []*wire.Node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

// tell logs what is waited for, once.
func (f *Founding) tell(message string, attrs ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := message + fmt.Sprint(attrs...); f.mu.told != text {
		f.mu.told = text
		f.config.Logger.Info(message, attrs...)
	}
}

// decide founds the cluster when all have promised.
func (f *Founding) decide() (*wire.Meta, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	promises := []*wire.Promise{f.own()}
	for _, p := range f.mu.promises {
		promises = append(promises, p)
	}
	if f.mu.table != nil || len(promises) != f.config.Expect {
		return f.mu.table, nil
	}
	slices.SortFunc(promises, func(a, b *wire.Promise) int { return cmp.Compare(a.Node.Id, b.Node.Id) })
	table := f.config.Decide(promises)
	if err := f.config.Fits(table); err != nil {
		return nil, err
	}
	if err := f.config.Record.SetTable(table); err != nil {
		return nil, err
	}
	f.mu.table = table
	return table, nil
}

// own returns what this node says of itself.
func (f *Founding) own() *wire.Promise {
	return &wire.Promise{Node: f.config.Self, Support: f.config.Support}
}

// ask brings the promise to the founder, which answers with the table when it has
// decided.
func (f *Founding) ask(ctx context.Context, founder string) (*wire.Meta, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	promise := f.own()
	promise.Expect = uint32(f.config.Expect)
	table, err := f.say(ctx, founder, promise)
	if err != nil {
		f.tell("the node that this one lets found the cluster gives no answer", "node", founder, "error", err)
		return nil, nil
	}
	return f.keep(table)
}

// joinWithin bounds a request to be taken in, which a group of the cluster commits.
const joinWithin = 5 * time.Second

// join asks a member of a cluster to take this node in, if its program can be of that.
func (f *Founding) join(ctx context.Context, member string) (*wire.Meta, error) {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	table, err := f.Newest(ctx, member)
	if err == nil {
		if err := f.config.Fits(table); err != nil {
			return nil, err
		}
		promise := f.own()
		promise.Join = true
		table, err = f.say(ctx, member, promise)
	}
	if err != nil {
		f.tell("the cluster has not taken this node in", "node", member, "error", err)
		return nil, nil
	}
	return f.keep(table)
}

// Newest asks a node for the newest table that it knows. Any node may ask: one that was
// removed hears of it by no other way.
func (f *Founding) Newest(ctx context.Context, node string) (*wire.Meta, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	table, err := f.say(ctx, node, f.own())
	if err == nil && table == nil {
		err = errors.New("it is of no cluster")
	}
	return table, err
}

// say sends a message to a node and returns the table that it answers with, nil for none.
func (f *Founding) say(ctx context.Context, to string, promise *wire.Promise) (*wire.Meta, error) {
	message, err := proto.Marshal(promise)
	if err != nil {
		return nil, fmt.Errorf("encode promise: %w", err)
	}
	answer, err := f.config.Peers.Call(ctx, to, peer.Log, f.config.Kind, 0, message)
	if err != nil || len(answer) == 0 {
		return nil, err
	}
	table := &wire.Meta{}
	if err := proto.Unmarshal(answer, table); err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	if len(table.Cluster) == 0 {
		return nil, errors.New("the answer is no table of a cluster")
	}
	return table, nil
}

// keep makes a table this node's, durably; nil is none yet.
func (f *Founding) keep(table *wire.Meta) (*wire.Meta, error) {
	if table == nil {
		return nil, nil
	}
	if err := f.config.Fits(table); err != nil {
		return nil, err
	}
	if err := f.config.Record.SetTable(table); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.table = table
	return table, nil
}

// answer takes another node's promise, or takes it into the cluster, and answers with the
// table, or nothing yet.
func (f *Founding) answer(ctx context.Context, call peer.Call) ([]byte, error) {
	promise := &wire.Promise{}
	if err := proto.Unmarshal(call.Payload, promise); err != nil {
		return nil, fmt.Errorf("decode promise: %w", err)
	}
	if n := promise.Node; n.GetId() != call.From.ID || n.GetName() != call.From.Name || n.GetAddress() == "" {
		return nil, fmt.Errorf("node %s speaks as %s at %q", call.From, n.GetId(), n.GetAddress())
	}
	if promise.Join || promise.Expect == 0 {
		return f.answerLater(ctx, promise)
	}
	if err := f.check(call.From, promise); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.table == nil {
		f.mu.promises[promise.Node.Id] = promise
		return nil, nil
	}
	if !slices.ContainsFunc(f.mu.table.Nodes, func(n *wire.Node) bool { return n.Id == promise.Node.Id }) {
		return nil, errWithout
	}
	return proto.Marshal(f.mu.table)
}

// answerLater answers a node that comes after the founding.
func (f *Founding) answerLater(ctx context.Context, promise *wire.Promise) ([]byte, error) {
	table := f.config.Newest()
	if table != nil && promise.Join {
		var err error
		if table, err = f.config.Admit(ctx, promise); err != nil {
			return nil, err
		}
	}
	if table == nil {
		return nil, nil
	}
	return proto.Marshal(table)
}

func (f *Founding) check(from peer.Identity, promise *wire.Promise) error {
	if f.known() == nil && promise.Expect != uint32(f.config.Expect) {
		return fmt.Errorf("node %s expects %d founders, this one %d", from, promise.Expect, f.config.Expect)
	}
	kept, err := f.config.Record.Promise()
	if err == nil && kept != "" && kept != f.config.Self.Id {
		err = errElsewhere
	}
	return err
}
