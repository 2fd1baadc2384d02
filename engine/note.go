package engine

// noteBegin writes down that a channel, and a host that a redirect led to, is asked
// now: before it is.
func (e *Engine) noteBegin(p *poll) {
	p.noted.LastPoll = p.begun.UnixNano()
	e.ledger.WriteChannel(p.row, &p.noted)
	if p.hop != nil {
		e.noteHost(p.host)
	}
}

// note writes down what a concluded poll has taught of its channel and its host,
// and tells the owner what that is to know.
func (e *Engine) note(p *poll) {
	e.ledger.WriteChannel(p.row, &p.noted)
	if p.atHost {
		e.noteHost(p.host)
	}
	if p.bound {
		e.owner.Bound(p.id, p.noted.Incarnation, p.least)
	}
	if p.resized {
		e.owner.Sized(p.id, p.noted.Incarnation, int64(p.noted.Size))
	}
}

// noteHost writes down what is known of a host. Several polls may be about to: the
// lock lets none write what another has overtaken.
func (e *Engine) noteHost(h *host) {
	e.hostRows.Lock()
	defer e.hostRows.Unlock()
	e.mu.Lock()
	if h.row == 0 {
		h.row = e.mu.schedule.rows.Take()
	}
	number, row := h.row, h.ledgerRow()
	e.mu.Unlock()
	e.ledger.WriteHost(number, &row)
}
