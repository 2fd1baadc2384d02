package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// release ends a poll's request.
func (cs *channels) release(p *poll, r *result, now int64) {
	cs.schedule.Release(&p.Poll, schedule.Reply{
		Status: r.status, RetryAfter: pace.RetryAfter(r.retryAfter), Took: r.took, HasContent: p.Target.Channel.version > 0,
	}, now)
}

// conclude notes what a poll has found out, and reports whether that, or what its
// host has said, is to be written and reported before the poll is finished.
func (cs *channels) conclude(p *poll, r *result, now int64) (noteworthy bool) {
	cs.release(p, r, now)
	t := p.Target
	if r.outcome != deferred {
		cs.learn(p, r, now)
	}
	before := p.noted
	p.noted = channelRow(t)
	p.minInterval, p.reportInterval = cs.newInterval(&t.Channel)
	p.reportSize = cs.sizes && t.Channel.newSize()
	_, width, _ := t.Pace()
	p.reportSpare = width > 1 && p.noted.NotBefore > max(now, before.NotBefore)
	return p.HostNews || p.reportInterval || p.reportSize || p.noted.Differs(before)
}

// learn notes what a request has shown of its target.
func (cs *channels) learn(p *poll, r *result, now int64) {
	t := p.Target
	cs.schedule.Asked(&p.Poll, now)
	switch {
	case t.Channel.incarnation != p.incarnation:
	case r.outcome == redirected:
		t.Channel.witness(p, false)
		if after := r.retryAfter.After; after > 0 { // before that is noted and told to other pollers
			cs.schedule.Spare(t, now+int64(min(after, pace.LongestRest)), now)
		}
	default:
		cs.noteResult(t, p, r, now)
		cs.noteEnd(t, p)
	}
}

// noteResult notes what a poll of the present incarnation found out.
func (cs *channels) noteResult(t *target, p *poll, r *result, now int64) {
	c := &t.Channel
	c.noteError(t, r)
	cs.schedule.Conclude(&p.Poll, schedule.Result{
		Blame: r.outcome.blame(), RetryAfter: pace.RetryAfter(r.retryAfter), Status: r.status, Memory: r.memory, Busy: r.busy,
	}, now)
	c.polled = (c.polled || r.outcome != canceled || r.wire > 0) && !(r.noRoom && p.version == 0)
	c.status = uint16(r.status)
	if r.wire > 0 {
		c.addSize(r.wire)
	}
	if r.staged {
		c.stray = r.stray
	}
	if r.judged && r.version >= c.version {
		c.setVersion(r.version, r.hash)
		c.candidate = r.candidate
	}
	c.witness(p, r.shows(c, p))
	if c.shown && r.holding.OK {
		c.holding, c.loaded = r.holding, true
	}
	if r.forget {
		c.holding, c.loaded = store.Holding{}, true
	}
	if r.answered {
		setWords(t, r.words, r.remaining, now)
	}
	t.SetFirst(c.isFirst())
}

// shows reports a poll that showed what is current now: the version that it began
// with, or the one that the owner has made of what it brought.
func (r *result) shows(c *channelState, p *poll) bool {
	switch {
	case r.outcome == changed:
		return r.version == c.version && r.hash == c.hash
	case r.holding.OK, r.outcome == notModified, r.outcome == unchanged:
		return p.version == c.version && p.hash == c.hash
	}
	return false
}

// noteError notes what went wrong, before the schedule counts it.
func (c *channelState) noteError(t *target, r *result) {
	odd := c.oddities()
	odd.lastError = r.problem
	switch r.outcome.blame() {
	case schedule.Failed:
		if t.Failures() == 0 {
			odd.failing = t.LastPoll()
		}
	case schedule.Succeeded:
		odd.failing = 0
	}
	c.setOddities(odd)
}

// witness notes whether the last poll showed the current version, and when one did.
func (c *channelState) witness(p *poll, shown bool) {
	known := p.known
	if shown || p.version != c.version || p.hash != c.hash {
		known = 0
	}
	c.shown = shown
	c.setKnown(known)
}

// newInterval returns the time between two polls that a channel's origin asks for, and
// whether the owner has to be told, which it then counts as.
func (cs *channels) newInterval(c *channelState) (least time.Duration, news bool) {
	if c.words != nil {
		least = c.words.minInterval()
	}
	said := rateStepOf(overlay.RateOf(least, cs.interval, cs.closest()))
	news = said != c.saidRate
	c.saidRate = said
	return least, news
}

// finish ends a concluded poll. Its target is idle afterwards, or queued where a
// redirect has led it.
func (cs *channels) finish(p *poll, r *result, now int64) {
	t := p.Target
	cs.schedule.End(&p.Poll, admission.Load{Busy: r.busy, Canceled: r.outcome == canceled, Unheard: r.outcome == ownerError}, now)
	stands := t.Channel.incarnation == p.incarnation && !t.Dropped()
	if r.outcome == redirected && stands {
		cs.follow(p, r, now)
		return
	}
	if r.over && stands {
		cs.schedule.Drop(t, now)
	}
	cs.schedule.Finish(t, now)
}
