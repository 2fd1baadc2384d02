package engine

import (
	"context"
	"time"
)

// moveSettled is for how many intervals a target must have stood before the owner is
// told of it, so that targets that change with each poll, or come and go, are not
// reported.
const moveSettled = 8

// reportMove tells the owner what a poll has shown of where its channel has moved,
// when that is news.
func (a *asker) reportMove(ctx context.Context, p *poll, r *result) {
	if p.redirect == nil && p.hop == nil {
		return
	}
	move := p.move(r)
	if !p.isNews(&move, r, moveSettled*a.config.Interval) {
		return
	}
	a.engine.releaseHost(p, r)
	ctx, cancel := context.WithTimeout(ctx, a.config.ReportTimeout)
	defer cancel()
	if err := a.owner.Moved(ctx, move); err != nil {
		a.metrics.moveErrors.Inc() // the next poll shows it again
		return
	}
	a.metrics.moves.Inc()
}

// move returns what a poll that ends with r shows.
func (p *poll) move(r *result) Move {
	return Move{
		Channel: p.id, Incarnation: p.incarnation, To: p.movedTo(), Since: time.Unix(0, p.movedSince()), Kind: r.kind,
		Foreign: r.kind != 0 && p.holding.Kind != 0 && r.kind != p.holding.Kind,
		Learned: p.asksLearned(), At: p.Begun,
	}
}

// isNews reports a move that the owner does not know.
func (p *poll) isNews(m *Move, r *result, settled time.Duration) bool {
	var c redirectState
	if p.redirect != nil {
		c = *p.redirect
	}
	doubted := c.known != "" && c.again == 0
	switch {
	case !r.answered:
		return false
	case p.asksLearned():
		return m.Foreign || m.To != ""
	case c.ask != "": // which fails
		return m.To != c.known
	case m.To == "":
		return c.known != ""
	case m.Foreign || doubted:
		return !doubted
	case m.To != c.known:
		return m.At.Sub(m.Since) >= settled
	}
	return !m.At.Before(time.Unix(0, c.again))
}
