package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// Held is what a node holds of the caps of a range's hosts, and how many channels it owns
// of those whose caps it divides.
type Held struct {
	Number uint64         `json:"number"` // of questions; those above have been asked since
	Shares []grants.Share `json:"shares"`
	Owned  []channel.Led  `json:"owned,omitempty"`
}

// The pauses between attempts to ask a node what it holds.
const (
	firstHeldPause = 50 * time.Millisecond
	lastHeldPause  = 2 * time.Second
)

// openTable asks all nodes what they hold of a range's hosts, so that the table opens
// before all leases of the leader before would be over.
func (n *Node) openTable(r channel.Range, t *table) {
	n.begin(func(context.Context) { n.told(r, t, n.config.Self, n.held(r)) })
	for _, node := range n.config.Others() {
		n.begin(func(ctx context.Context) { n.hear(ctx, r, t, node) })
	}
}

// hear asks a node until it has told or the table has opened.
func (n *Node) hear(ctx context.Context, r channel.Range, t *table, node string) {
	for pause := firstHeldPause; n.waits(r, t); pause = min(2*pause, lastHeldPause) {
		held, err := n.askHeld(ctx, node, r)
		if err == nil {
			n.told(r, t, node, held)
			return
		}
		n.metrics.failures.Inc()
		if !sleep(ctx, pause) {
			return
		}
	}
}

// waits reports whether a table is that of the range's term, and does not grant yet.
func (n *Node) waits(r channel.Range, t *table) bool {
	n.shares.mu.Lock()
	defer n.shares.mu.Unlock()
	return n.shares.tables.At(r.From) == t && time.Now().Before(t.Opens())
}

// told accepts what a node holds, if the table is that of the range's term still: in
// another term, other leaders may have granted meanwhile.
func (n *Node) told(r channel.Range, t *table, node string, held Held) {
	n.shares.mu.Lock()
	defer n.shares.mu.Unlock()
	if n.shares.tables.At(r.From) != t {
		return
	}
	now := time.Now()
	t.Told(node, held.Number, held.Shares, now)
	t.counts.Tell(node, held.Owned, now)
	if !now.Before(t.Opens()) {
		t.counts.Open(now)
	}
}

func (n *Node) askHeld(ctx context.Context, node string, r channel.Range) (held Held, err error) {
	content, err := n.config.Held(ctx, node, r.ID)
	if err != nil {
		return held, err
	}
	if err := json.Unmarshal(content, &held); err != nil {
		return held, n.unsound(fmt.Errorf("decode what node %q holds: %w", node, err))
	}
	for _, s := range held.Shares {
		if !r.Has(s.Host.Bucket()) || s.Part <= 0 || s.Part > grants.Pool {
			return held, n.unsound(fmt.Errorf("node %q says it holds %d millionths of the cap of host %s", node, s.Part, s.Host))
		}
	}
	if err := checkOwned(r, held.Owned); err != nil {
		return held, n.unsound(fmt.Errorf("node %q %w", node, err))
	}
	return held, nil
}

func (n *Node) unsound(err error) error {
	n.metrics.invalid.Inc()
	return err
}

// ServeHeld tells the new leader of a range, by its ID, what this node holds of the caps of
// its hosts, and what it owns. From then on the node heeds no answer of a leader before.
func (n *Node) ServeHeld(id uint64) ([]byte, error) {
	n.followSplits()
	for _, r := range n.config.Ranges() {
		if uint64(r.ID) == id {
			return json.Marshal(n.held(r))
		}
	}
	return nil, n.unsound(fmt.Errorf("there is no range %d", id))
}

func (n *Node) held(r channel.Range) (held Held) {
	a := n.shares.askers.Load().At(r.From)
	a.mu.Lock()
	defer a.mu.Unlock()
	held.Number, held.Shares = a.holder.Tell(time.Now())
	held.Owned = a.allOwned()
	return held
}
