package engine

import "github.com/seed-91e7e7c1/corona/engine/store"

// writeBegin writes the ledger's rows of a channel, and of a host that a redirect led
// to, before they are asked.
func (e *Engine) writeBegin(p *poll) {
	p.noted.LastPoll = p.Begun.UnixNano()
	e.ledger.WriteChannel(p.row, &p.noted)
	if p.hop != nil {
		e.writeHost(p.Host)
	}
}

// noteEnd writes what a concluded poll has shown of its channel and its host to the
// ledger, and tells the owner of its least interval and size, and the other pollers until
// when the origin wants to be spared.
func (e *Engine) noteEnd(p *poll) {
	e.ledger.WriteChannel(p.row, &p.noted)
	if p.HostNews {
		e.writeHost(p.Host)
	}
	if p.reportInterval {
		e.owner.Bound(p.id, p.noted.Incarnation, p.minInterval)
	}
	if p.reportSize {
		e.owner.Sized(p.id, p.noted.Incarnation, int64(p.noted.Size))
	}
	if p.reportSpare {
		e.tellSpare(p)
	}
}

// writeHost writes a host's row. Several polls may do so at a time: the lock keeps an
// older state from overwriting a newer one.
func (e *Engine) writeHost(h *host) {
	e.hostRows.Lock()
	defer e.hostRows.Unlock()
	e.mu.Lock()
	if h.Row == 0 {
		h.Row = e.mu.channels.rows.Take()
	}
	number, row := h.Row, hostRow(h)
	e.mu.Unlock()
	e.ledger.WriteHost(number, &row)
}

// load reads the record of the poll's channel from the cache, once after a start;
// content of another version than the current one is ignored. Only now may it be known
// when the origin wants to be asked again: wait reports that it is too soon.
func (e *Engine) load(p *poll) (wait bool) {
	found, ok, err := e.cache.Record(p.id)
	e.cache.Failed("read record", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok {
		found = store.Record{}
	}
	wait = takeRecord(p.Target, &found, wallNow())
	p.see(p.Target)
	return wait
}
