package engine

import (
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// channels is the table of channels that are ordered, and of those that lately were:
// the schedule, and what the engine knows of each. It is pure: it takes the time, and
// does no I/O. Guarded by Engine.mu.
type channels struct {
	schedule *schedule.Schedule[channelState]
	index    *index
	rows     store.RowNumbers
	ends     ends
	interval time.Duration
	nodes    int
	floor    time.Duration
	sizes    bool // Config.Sizes
}

func newChannels(c Config) *channels {
	cs := &channels{index: newIndex(), ends: make(ends), interval: c.Interval, nodes: c.Nodes, floor: c.Floor, sizes: c.Sizes}
	cs.schedule = schedule.New(schedule.Config{
		Interval: c.Interval, Floor: c.Floor, Workers: c.Workers,
		HostParallel: c.HostParallel, HostGap: c.HostGap, PrivateHostGap: c.PrivateHostGap, Nodes: c.Nodes,
	}, cs.idle)
	return cs
}

// closest is the shortest time between polls of all pollers; the floor sees to less.
func (cs *channels) closest() time.Duration { return cs.floor / time.Duration(cs.nodes) }

// setNodes reports whether that is a change.
func (cs *channels) setNodes(nodes int, now int64) bool {
	if nodes = max(nodes, 1); nodes == cs.nodes {
		return false
	}
	cs.nodes = nodes
	cs.schedule.SetNodes(nodes, now)
	return true
}

// order adds a channel, or changes what is known of it. A target that is queued or
// busy is planned when it is idle again.
func (cs *channels) order(o *Order, now int64) {
	t := cs.index.get(o.Channel)
	if t == nil {
		t = cs.add(o.Channel)
	}
	c := &t.Channel
	if t.Host() == nil {
		cs.attach(t, o.URL)
	}
	if c.incarnation != o.Incarnation {
		c.setIncarnation(o.Incarnation)
		cs.schedule.Forgive(t)
	}
	revived := t.Dropped()
	if revived && !o.Others.IsZero() {
		t.SetOthers(o.Others.UnixNano())
	}
	cs.schedule.Revive(t)
	cs.schedule.SetRate(t, o.Rate, o.Width, o.Rank, now)
	c.candidate, c.saidRate, c.saidSize = o.Held, rateStepOf(o.Most), 0
	c.subscribers = uint32(min(o.Subscribers, math.MaxUint32))
	c.setVersion(o.Version, o.Hash)
	t.SetFirst(c.isFirst())
	cs.direct(t, o)
	if t.Idle() {
		cs.readdress(t)
		if revived || !comes(t, now) {
			cs.schedule.Plan(t, now)
		}
	}
}

// comes reports whether a slot of a target that is ordered has come: the loop is about to
// have it polled, and to plan it again would leave that slot out.
func comes(t *target, now int64) bool {
	due, ok := t.Due()
	return ok && due <= now
}

// repace moves a channel that is ordered to the slots of another rate.
func (cs *channels) repace(p *Pace, now int64) {
	t := cs.index.get(p.Channel)
	if t == nil || t.Dropped() || t.Channel.incarnation != p.Incarnation {
		return
	}
	cs.schedule.SetRate(t, p.Rate, p.Width, p.Rank, now)
	if t.Idle() && !comes(t, now) {
		cs.schedule.Plan(t, now)
	}
}

func (cs *channels) drop(id channel.ID, now int64) {
	if t := cs.index.get(id); t != nil {
		cs.schedule.Drop(t, now)
	}
}

// add makes a channel that is not ordered and not at its host yet.
func (cs *channels) add(id channel.ID) *target {
	t := schedule.NewTarget[channelState](id)
	t.Channel.loaded = true
	cs.index.put(t)
	return t
}

// idle is called by the schedule with a target that is idle again: the hop that its
// poll waited for is over.
func (cs *channels) idle(t *target, stranded bool) {
	c := &t.Channel
	if c.odd != nil && c.odd.hop != nil {
		o := *c.odd
		if stranded {
			o.lastError = strandedText(o.hop, "which asked not to be asked so soon")
			c.polled = true
			t.SetFirst(c.isFirst())
		}
		o.hop = nil
		c.setOddities(o)
	}
	if !t.Dropped() {
		cs.readdress(t)
	}
}

// realign follows a wall clock that was set by step.
func (cs *channels) realign(step, now int64) {
	for t := range cs.index.all() {
		t.Channel.shift(step, now)
	}
	cs.schedule.Realign(step, now, cs.index.all())
}

// recall notes the record of a channel, unless a poll has read it already. A channel
// without an order counts as being at the recorded version until an order comes.
func (cs *channels) recall(id channel.ID, found *store.Record, now int64) {
	t := cs.index.get(id)
	if t == nil || !t.Idle() || t.Channel.incarnation != found.Incarnation {
		return
	}
	c := &t.Channel
	if t.Dropped() && c.version == 0 {
		c.setVersion(found.Version, found.Hash)
		t.SetFirst(c.isFirst())
	}
	if c.loaded {
		return
	}
	if wait := takeRecord(t, found, now); !t.Dropped() && (wait || !comes(t, now)) {
		cs.schedule.Plan(t, now)
	}
}

// takeRecord notes what the cache has recorded of a target, and reports whether it is
// too soon to ask.
func takeRecord(t *target, found *store.Record, now int64) (wait bool) {
	said := words{fresh: found.Lifetime, aged: found.Aged, source: found.Source, hints: found.Hints}
	if !t.Channel.setRecord(found) || t.Channel.words != nil || said == (words{}) || t.LastPoll() == 0 {
		return false
	}
	setWords(t, said, said.left(), t.LastPoll())
	return t.Waits(now)
}

// orphan claims a channel of the cache that was not ordered since the start; nil when
// it is known. The placeholder keeps an order that comes now from polling before the
// channel is removed from the cache.
func (cs *channels) orphan(id channel.ID) *target {
	if cs.index.get(id) != nil {
		return nil
	}
	t := cs.add(id)
	cs.schedule.Claim(t)
	return t
}

// unclaim forgets a claimed target whose part of the cache is purged, unless an
// order came meanwhile: then it starts from nothing.
func (cs *channels) unclaim(t *target, now int64) {
	if !cs.schedule.Unclaim(t) {
		cs.index.remove(t.ID)
		cs.rows.Give(t.Channel.row)
		cs.ends.remove(t.Channel.redirect().final, t)
		return
	}
	t.Channel.holding, t.Channel.loaded = store.Holding{}, true
	cs.readdress(t)
	cs.schedule.Plan(t, now)
}

// begin takes the next poll; ok is false when there is none, or no worker for it.
func (cs *channels) begin(now int64) (p poll, ok bool) {
	if !cs.schedule.Begin(&p.Poll, now) {
		return p, false
	}
	t := p.Target
	p.see(t)
	if t.Channel.row == 0 {
		t.Channel.row = cs.rows.Take()
	}
	p.row, p.noted = t.Channel.row, channelRow(t)
	return p, true
}
