package engine

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Demands returns the hosts of whose caps this node needs more than each node may take
// unasked.
func (e *Engine) Demands() []channel.Demand {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.channels.schedule.Demands()
}

// Grant lets this node take more of the caps of hosts, or less. A host that is not known
// here needs none.
func (e *Engine) Grant(grants ...channel.Grant) {
	const chunk = 256 // as in Order
	for some := range slices.Chunk(grants, chunk) {
		e.grantSome(some)
	}
}

func (e *Engine) grantSome(grants []channel.Grant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for _, g := range grants {
		e.mu.channels.schedule.Grant(g.Host, g.Part, now+int64(time.Until(g.Until)), now)
	}
	e.dispatch(now) // a host may get more requests at a time
	e.wakeIfSooner()
}

// SetNodes changes [Config.Nodes]: a node has joined the cluster, or left it.
func (e *Engine) SetNodes(nodes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := wallNow(); e.mu.channels.setNodes(nodes, now) {
		e.dispatch(now)
		e.wakeIfSooner()
	}
}
