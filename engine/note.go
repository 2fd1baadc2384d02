package engine

import "github.com/seed-91e7e7c1/corona/engine/store"

// writeBegin writes down that a channel, and a host that a redirect led to, is asked
// now: before it is.
func (e *Engine) writeBegin(p *poll) {
	p.noted.LastPoll = p.Begun.UnixNano()
	e.ledger.WriteChannel(p.row, &p.noted)
	if p.hop != nil {
		e.writeHost(p.Host)
	}
}

// noteEnd writes down what a concluded poll has taught of its channel and its host,
// and reports to the owner what that is to know.
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
}

// writeHost writes down what is known of a host. Several polls may be about to: the
// lock lets none write what another has overtaken.
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

// load fetches from the cache what it holds of the poll's channel, once after a
// start: content of another version than the current one counts for nothing. What
// the origin said of when to ask again may come to light only now: wait reports
// that it is too soon.
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
