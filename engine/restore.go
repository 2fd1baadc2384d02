package engine

import (
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/engine/schedule"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// restorer gives a table the ledger's rows of an earlier run. Those that no longer
// matter are free. Times ahead of now are of a clock that was wrong: rests end after
// the longest rest.
type restorer struct {
	cs  *channels
	now int64
}

func (cs *channels) restorer(now int64) restorer { return restorer{cs, now} }

// Free implements [store.Rows].
func (r restorer) Free(number int32) { r.note(number, false) }

// Channel implements [store.Rows].
func (r restorer) Channel(number int32, row *store.ChannelRow) {
	r.note(number, r.cs.restoreChannel(number, row, r.now))
}

// Host implements [store.Rows].
func (r restorer) Host(number int32, row *store.HostRow) {
	r.note(number, r.cs.restoreHost(number, row, r.now))
}

// note counts a row, which is free if it is not in use.
func (r restorer) note(number int32, inUse bool) {
	r.cs.rows.Used(number)
	if !inUse {
		r.cs.rows.Give(number)
	}
}

// restoreChannel makes a channel that is not ordered yet: it is forgotten like any
// other, if no order comes within an interval. It reports whether the row is used.
func (cs *channels) restoreChannel(number int32, r *store.ChannelRow, now int64) bool {
	t := cs.index.get(r.ID)
	if t != nil && t.LastPoll() >= r.LastPoll {
		return false
	}
	if t == nil {
		t = cs.add(r.ID)
	}
	c := &t.Channel
	cs.rows.Give(c.row)
	cs.schedule.Restore(t, schedule.Record{
		LastPoll: r.LastPoll, NotBefore: r.NotBefore, Failures: r.Failures, Refused: r.Refused, Rate: r.Rate, Rank: r.Rank, Drift: r.Drift,
	}, now)
	c.row, c.incarnation, c.size, c.status = number, r.Incarnation, r.Size, r.Status
	c.polled, c.stray, c.shown = true, true, r.Shown
	o := oddities{}
	if r.Failures > 0 || r.Refused {
		o.lastError = statusText(int(r.Status))
	}
	c.setOddities(o)
	return true
}

func (cs *channels) restoreHost(number int32, r *store.HostRow, now int64) bool {
	h := cs.schedule.RestoreHost(schedule.HostRecord{
		ID: r.ID, FreeAt: r.FreeAt, Refusals: pace.Refusals{Until: r.Until, Last: r.Last, Good: r.Good, Count: r.Count, Denied: r.Denied},
	}, now)
	if h == nil {
		return false
	}
	h.Row = number
	return true
}

// channelRow returns what the ledger keeps of a channel.
func channelRow(t *target) store.ChannelRow {
	c, r := &t.Channel, t.Record()
	return store.ChannelRow{
		ID: t.ID, Incarnation: c.incarnation, LastPoll: r.LastPoll, NotBefore: r.NotBefore,
		Size: c.size, Status: c.status, Failures: r.Failures, Refused: r.Refused, Shown: c.shown,
		Rate: r.Rate, Rank: r.Rank, Drift: r.Drift,
	}
}

// hostRow returns what the ledger keeps of a host that has refused, or that redirects
// led to: the polls of its own channels are in theirs.
func hostRow(h *host) store.HostRow {
	r := h.Record()
	return store.HostRow{ID: r.ID, FreeAt: r.FreeAt, Until: r.Until, Last: r.Last, Good: r.Good, Count: r.Count, Denied: r.Denied}
}
