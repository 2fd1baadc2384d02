package engine

import (
	"context"
	"time"
)

// syncDelay is how long a record may wait to be safe from a kill. Losing it costs a
// full GET.
const syncDelay = time.Second

// syncRecords puts the cache's records on disk, many at a time, until the context
// ends.
func (e *Engine) syncRecords(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.cache.unsynced:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(syncDelay):
			e.cacheFailed("sync records", e.cache.sync())
		}
	}
}

// noteBegin writes down that a channel, and a host that a redirect led to, is asked
// now: before it is.
func (e *Engine) noteBegin(p *poll) {
	p.noted.lastPoll = p.begun.UnixNano()
	e.ledger.writeChannel(p.row, &p.noted)
	if p.hop != nil {
		e.noteHost(p.host)
	}
}

// note writes down what a concluded poll has taught of its channel and its host,
// and tells the owner what that is to know.
func (e *Engine) note(p *poll) {
	e.ledger.writeChannel(p.row, &p.noted)
	if p.atHost {
		e.noteHost(p.host)
	}
	if p.bound {
		e.owner.Bound(p.id, p.noted.incarnation, p.least)
	}
	if p.resized {
		e.owner.Sized(p.id, p.noted.incarnation, int64(p.noted.size))
	}
}

// noteHost writes down what is known of a host. Several polls may be about to: the
// lock lets none write what another has overtaken.
func (e *Engine) noteHost(h *host) {
	e.hostRows.Lock()
	defer e.hostRows.Unlock()
	e.mu.Lock()
	if h.row == 0 {
		h.row = e.mu.schedule.rows.take()
	}
	number, row := h.row, hostRow{id: h.id, freeAt: h.freeAt, rest: h.rest}
	e.mu.Unlock()
	e.ledger.writeHost(number, &row)
}
