package fetcher

import (
	"context"
	"slices"
	"time"
)

// host is what is going on at one origin. The pool's lock guards it.
//
// The cap per host is one of fetches that have their turn: each uses one connection
// at a time, and dials only when none is idle. So an origin never has more
// connections open than it has turns.
type host struct {
	origin  string
	busy    int             // fetches that have their turn, at most the pool's perHost
	waiting []chan struct{} // those that wait for one, first come, first served
	idle    []*conn         // oldest first
}

// enter waits for a turn of an origin until the deadline.
func (p *pool) enter(ctx context.Context, deadline time.Time, origin string) (*host, error) {
	p.mu.Lock()
	h := p.mu.hosts[origin]
	if h == nil {
		h = &host{origin: origin}
		p.mu.hosts[origin] = h
	}
	if h.busy < p.perHost {
		h.busy++
		p.mu.Unlock()
		return h, nil
	}
	turn := make(chan struct{}, 1)
	h.waiting = append(h.waiting, turn)
	p.mu.Unlock()

	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-turn:
		return h, nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, p.renounce(h, turn)
}

// renounce takes back the wish for a turn, which may be granted in this moment.
func (p *pool) renounce(h *host, turn chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(h.waiting, turn); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
	} else {
		p.pass(h)
	}
	return fail(Busy, "all %d connections to the host are in use", p.perHost)
}

// leave ends a turn.
func (p *pool) leave(h *host) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass(h)
}

// pass gives a turn to the next one, if there is one. The lock must be held.
func (p *pool) pass(h *host) {
	if len(h.waiting) > 0 {
		h.waiting[0] <- struct{}{}
		h.waiting = slices.Delete(h.waiting, 0, 1)
		return
	}
	h.busy--
	p.forget(h)
}

// forget removes a host at which nothing is going on. The lock must be held.
func (p *pool) forget(h *host) {
	if h.busy == 0 && len(h.idle) == 0 {
		delete(p.mu.hosts, h.origin)
	}
}
