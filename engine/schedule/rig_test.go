package schedule

import (
	"fmt"
	"iter"
	"maps"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

const halfHour = 30 * time.Minute

// site is what the tests keep of a channel.
type site struct {
	i       int
	version uint64
	polled  bool
}

// rig is a schedule with its channels, by their numbers.
type rig struct {
	*Schedule[site]
	targets map[int]*Target[site]
}

// newRig returns a schedule with the defaults of an engine where c says nothing.
func newRig(c Config) *rig {
	fill := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&c.Interval, halfHour)
	fill(&c.Floor, min(5*time.Minute, c.Interval))
	if c.Workers == 0 {
		c.Workers = 1024
	}
	if c.HostParallel == 0 {
		c.HostParallel = 2
	}
	r := &rig{targets: map[int]*Target[site]{}}
	r.Schedule = New(c, func(t *Target[site], stranded bool) {
		t.Channel.polled = t.Channel.polled || stranded
		t.SetFirst(t.Channel.version == 0 && !t.Channel.polled)
	})
	return r
}

// testURL spreads channels over ten hosts.
func testURL(i int) string { return fmt.Sprintf("http://host%d.example/%d", i%10, i) }

func (r *rig) hostOf(i int) *Host[site] {
	return r.Host(channel.HostID(channel.Host(testURL(i))), func() bool { return false })
}

// get returns a channel, which it makes without an order.
func (r *rig) get(i int) *Target[site] {
	t := r.targets[i]
	if t == nil {
		t = NewTarget[site](channel.IDOf(testURL(i)))
		t.Channel.i = i
		r.targets[i] = t
	}
	return t
}

// order orders a channel at a poll an interval; version 0 is no content.
func (r *rig) order(i int, version uint64, now int64) *Target[site] {
	return r.orderAt(i, version, overlay.Rate{Polls: 1, Intervals: 1}, now)
}

func (r *rig) orderAt(i int, version uint64, rate overlay.Rate, now int64) *Target[site] {
	t := r.get(i)
	if t.Host() == nil {
		r.Attach(t, r.hostOf(i))
	}
	r.Revive(t)
	r.SetRate(t, rate, 1, 0, now)
	t.Channel.version = version
	t.SetFirst(version == 0 && !t.Channel.polled)
	if t.Idle() {
		r.Plan(t, now)
	}
	return t
}

// begin begins a poll.
func (r *rig) begin(now int64) (p *Poll[site], ok bool) {
	p = new(Poll[site])
	ok = r.Begin(p, now)
	p.Begun = time.Unix(0, now)
	return p, ok
}

// end ends a poll with an answer.
func (r *rig) end(p *Poll[site], reply Reply, result Result, now int64) {
	r.conclude(p, reply, result, now)
	r.End(p, admission.Load{Busy: result.Busy, Canceled: result.Blame == Canceled}, now)
	r.Finish(p.Target, now)
}

func (r *rig) conclude(p *Poll[site], reply Reply, result Result, now int64) {
	t := p.Target
	reply.HasContent = t.Channel.version > 0
	r.Release(p, reply, now)
	r.Asked(p, now)
	result.Status, result.RetryAfter = reply.Status, reply.RetryAfter
	if p.Verdict == pace.HostRefuses {
		result.Blame = Refused
	}
	r.Conclude(p, result, now)
	t.Channel.polled = t.Channel.polled || result.Blame != Canceled
	t.SetFirst(t.Channel.version == 0 && !t.Channel.polled)
}

// unchanged ends a poll with a 304 after a second.
func (r *rig) unchanged(p *Poll[site], now int64) {
	r.end(p, Reply{Status: 304, Took: time.Second}, Result{}, now)
}

// forget unclaims a target, and removes it if that is forgotten.
func (r *rig) forget(t *Target[site], now int64) {
	if !r.Unclaim(t) {
		delete(r.targets, t.Channel.i)
		return
	}
	r.Plan(t, now)
}

func (r *rig) all() iter.Seq[*Target[site]] { return maps.Values(r.targets) }

// endHop ends a poll whose redirect the test follows.
func (r *rig) endHop(p *Poll[site], now int64) { r.End(p, admission.Load{}, now) }
