package engine

import (
	"slices"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Rest has hosts rest that have refused other nodes, also hosts that no order has named
// yet. A host that rests longer here goes on to.
func (e *Engine) Rest(rests ...channel.Rest) {
	const chunk = 256 // as in Order
	for some := range slices.Chunk(rests, chunk) {
		for _, h := range e.restSome(some) {
			e.writeHost(h)
		}
	}
}

// restSome returns the hosts whose rest has changed.
func (e *Engine) restSome(rests []channel.Rest) (changed []*host) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	for _, rest := range rests {
		if h := e.mu.channels.schedule.Heed(rest, now); h != nil {
			e.metrics.heeded.Inc()
			changed = append(changed, h)
		}
	}
	e.wakeIfSooner()
	return changed
}

// tellRest tells other nodes that a host rests.
func (e *Engine) tellRest(h *host) {
	if e.config.Refused == nil {
		return
	}
	e.mu.Lock()
	rest := h.Rest()
	e.mu.Unlock()
	e.config.Refused(rest)
}
