package engine

import (
	"cmp"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// follow queues the target of an ended poll where a redirect has led it.
func (cs *channels) follow(p *poll, r *result, now int64) {
	c, next := &p.Target.Channel, p.beyond(r)
	o := c.oddities()
	o.hop = next
	c.setOddities(o)
	wait := pace.RetryAfter(r.retryAfter)
	if !cs.schedule.Follow(p.Target, cs.hostOf(next.url), wait, now) && wait.After > 0 {
		o = c.oddities()
		o.lastError = strandedText(next, "the origin asked not to come before")
		c.setOddities(o)
	}
}

// strandedText says why a poll has ended at a redirect.
func strandedText(h *hop, why string) string {
	return clipProblem("redirected to " + channel.Host(h.url) + ", " + why)
}

// attach has polls of a channel ask a URL first.
func (cs *channels) attach(t *target, url string) {
	t.Channel.url = url
	cs.schedule.Attach(t, cs.hostOf(url))
}

// hostOf returns the host of a URL.
func (cs *channels) hostOf(url string) *host {
	name := channel.Host(url)
	return cs.schedule.Host(channel.HostID(name), func() bool { return guard.IsPrivate(name) })
}

// setRedirect replaces what is known, and keeps the index of where channels end.
func (cs *channels) setRedirect(t *target, next redirectState) {
	before := t.Channel.redirect()
	if before == next {
		return
	}
	o := t.Channel.oddities()
	o.redirect = nil
	if next != (redirectState{}) {
		kept := next // next itself stays off the heap: most have none
		o.redirect = &kept
	}
	t.Channel.setOddities(o)
	if before.final != next.final {
		cs.ends.remove(before.final, t)
		cs.ends.add(next.final, t)
	}
}

// direct notes where an order wants a channel to be asked.
func (cs *channels) direct(t *target, o *Order) {
	next := t.Channel.redirect()
	next.ask, next.known, next.again = o.Ask, o.MovedTo, 0
	if !o.MovedAgain.IsZero() {
		next.again = o.MovedAgain.UnixNano()
	}
	cs.setRedirect(t, next)
}

// readdress brings an idle target to the host of the URL that is to be asked: while
// that of the order fails, the channel's own every other time. Whichever answers
// shows which stands; where both fail, nothing is unlearned.
func (cs *channels) readdress(t *target) {
	if t.Channel.odd == nil {
		return // nearly all lead nowhere else
	}
	state, own := t.Channel.redirect(), t.Channel.own()
	url := cmp.Or(state.ask, own)
	if t.Failures()%2 == 1 {
		url = own
	}
	if url == t.Channel.url {
		return
	}
	cs.attach(t, url)
	if state.own = own; url == own {
		state.own = ""
	}
	cs.setRedirect(t, state)
}

// noteEnd notes where redirects have led a poll that ended.
func (cs *channels) noteEnd(t *target, p *poll) {
	if p.hop == nil && (t.Channel.odd == nil || t.Channel.odd.redirect == nil) {
		return
	}
	next := t.Channel.redirect()
	next.final, next.since = otherURL(p.url, p.own), p.movedSince()
	next.moved = p.movedTo()
	cs.setRedirect(t, next)
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
func (cs *channels) sameAs(t *target) (same channel.ID) {
	final := t.Channel.redirect().final
	if final == "" {
		return channel.ID{}
	}
	id := channel.IDOf(final)
	if other := cs.index.get(id); other != nil && !other.Dropped() && other.Channel.redirect().final == "" {
		return id
	}
	for other := range cs.ends[id] {
		if other != t && !other.Dropped() && (same == channel.ID{} || other.ID.Compare(same) < 0) {
			same = other.ID
		}
	}
	return same
}
