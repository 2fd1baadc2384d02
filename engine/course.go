package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// course is where a channel leads other than to its URL: most have none. It is
// replaced as a whole, never changed.
type course struct {
	own   string // the channel's URL, while target.url is another
	final string // where the last poll ended; empty: at the channel's URL
	moved string // where permanent redirects alone led it; empty: nowhere
	since int64  // when they first led there, without a break

	// By the last order:
	ask   string // to be asked instead of the channel's URL; empty: none
	known string // where the owner knows that permanent redirects lead
	again int64  // when the owner wants to hear of that again; 0: never
}

// Move is what a poll showed of where a channel has moved.
type Move struct {
	Channel     channel.ID
	Incarnation uint64
	To          string      // where permanent redirects (301, 308) alone lead; empty: they lead nowhere
	Since       time.Time   // when a poll was led there first, without another in between that was not
	Kind        deltas.Kind // of the document at the end of all redirects; 0: not known
	Foreign     bool        // that is another kind than what was current before the poll
	Learned     bool        // the poll began at the learned URL instead of the channel's own
	At          time.Time   // when the poll began
}

// courseOf returns what is known of where a target leads.
func (t *target) courseOf() course {
	if c := t.oddities().course; c != nil {
		return *c
	}
	return course{}
}

// own returns the channel's URL, of which its ID is made.
func (t *target) own() string { return cmp.Or(t.courseOf().own, t.url) }

// setCourse replaces what is known, and keeps the index of where channels end.
func (s *schedule) setCourse(t *target, next course) {
	before := t.courseOf()
	if before == next {
		return
	}
	odd := t.oddities()
	odd.course = nil
	if next != (course{}) {
		kept := next // next itself stays off the heap: most have none
		odd.course = &kept
	}
	t.setOddities(odd)
	if before.final != next.final {
		s.ends.remove(before.final, t)
		s.ends.add(next.final, t)
	}
}

// direct takes in where an order wants a target to be asked.
func (s *schedule) direct(t *target, o *Order) {
	next := t.courseOf()
	next.ask, next.known, next.again = o.Ask, o.MovedTo, 0
	if !o.MovedAgain.IsZero() {
		next.again = o.MovedAgain.UnixNano()
	}
	s.setCourse(t, next)
}

// readdress brings an idle target to the host of the URL that is to be asked: while
// that of the order fails, the channel's own every other time. Whichever answers
// shows what holds; where both fail, nothing is unlearned.
func (s *schedule) readdress(t *target) {
	c := t.courseOf()
	own := t.own()
	url := cmp.Or(c.ask, own)
	if t.failures%2 == 1 {
		url = own
	}
	if url == t.url {
		return
	}
	s.tie(t.host, -1)
	s.attach(t, url)
	if c.own = own; url == own {
		c.own = ""
	}
	s.setCourse(t, c)
}

// arrive notes where a poll has ended.
func (s *schedule) arrive(t *target, p *poll) {
	if t.oddities().course == nil && p.hop == nil {
		return
	}
	c := t.courseOf()
	c.final, c.since = otherURL(p.url, p.own), p.movedSince()
	c.moved = p.movedTo()
	s.setCourse(t, c)
}

// movedSince returns when permanent redirects first led to where they lead now; 0
// where they lead nowhere.
func (p *poll) movedSince() int64 {
	switch to := p.movedTo(); {
	case to == "":
		return 0
	case p.course != nil && p.course.moved == to:
		return p.course.since
	}
	return p.begun.UnixNano()
}

// asksLearned reports that the poll began at another URL than the channel's.
func (p *poll) asksLearned() bool { return p.course != nil && p.course.own != "" }

// hasLearned reports that the order names another URL than the channel's. It may be
// that one's turn, while the other fails.
func (p *poll) hasLearned() bool { return p.course != nil && p.course.ask != "" }

// movedTo returns where permanent redirects alone have led the poll.
func (p *poll) movedTo() string {
	if p.hop == nil {
		return ""
	}
	return p.hop.moved
}

// tellMoved tells the owner what a poll has shown of where its channel has moved,
// when that is news.
func (e *Engine) tellMoved(ctx context.Context, p *poll, r *result) {
	if p.course == nil && p.hop == nil {
		return
	}
	move := p.move(r)
	if !p.isNews(&move, r, movedSettles*e.config.Interval) {
		return
	}
	e.releaseHost(p, r)
	ctx, cancel := context.WithTimeout(ctx, e.config.ReportTimeout)
	defer cancel()
	if err := e.owner.Moved(ctx, move); err != nil {
		e.metrics.moveErrors.Inc() // the next poll shows it again
		return
	}
	e.metrics.moves.Inc()
}

// movedSettles is for how many intervals a target must have held before the owner
// hears of it: one that is another in each poll, or comes and goes, is no news.
const movedSettles = 8

// move returns what a poll that ends with r shows.
func (p *poll) move(r *result) Move {
	return Move{
		Channel: p.id, Incarnation: p.incarnation, To: p.movedTo(), Since: time.Unix(0, p.movedSince()), Kind: r.kind,
		Foreign: r.kind != 0 && p.holding.Kind != 0 && r.kind != p.holding.Kind,
		Learned: p.asksLearned(), At: p.begun,
	}
}

// isNews reports a move that the owner does not know.
func (p *poll) isNews(m *Move, r *result, settled time.Duration) bool {
	var c course
	if p.course != nil {
		c = *p.course
	}
	doubted := c.known != "" && c.again == 0
	switch {
	case !r.heard:
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

// ends knows which channels end at a URL that is not their own, by its ID.
type ends map[channel.ID]map[*target]struct{}

func (e ends) add(final string, t *target) {
	if final == "" {
		return
	}
	id := channel.IDOf(final)
	if e[id] == nil {
		e[id] = make(map[*target]struct{}, 1)
	}
	e[id][t] = struct{}{}
}

func (e ends) remove(final string, t *target) {
	if final == "" {
		return
	}
	id := channel.IDOf(final)
	delete(e[id], t)
	if len(e[id]) == 0 {
		delete(e, id)
	}
}

// sameAs returns another channel that ends where t does: the one whose URL that is,
// or the first of the others; zero when there is none.
func (s *schedule) sameAs(t *target) (same channel.ID) {
	final := t.courseOf().final
	if final == "" {
		return channel.ID{}
	}
	id := channel.IDOf(final)
	if other := s.targets.get(id); other != nil && !other.dropped && other.courseOf().final == "" {
		return id
	}
	for other := range s.ends[id] {
		if other != t && !other.dropped && (same == channel.ID{} || other.id.Compare(same) < 0) {
			same = other.id
		}
	}
	return same
}
