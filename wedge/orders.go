package wedge

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// parts are the items for each node, of one range.
type parts map[string][]any

// Order implements [primary.Poller].
func (o *Owner) Order(orders ...engine.Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for i := range orders {
		order := &orders[i]
		before := o.mu.seats.get(order.Channel)
		l, now := o.reseat(sent, order.Channel, o.choose(order.Channel, order.Width))
		for rank, node := range now {
			told := *order
			told.Width, told.Rank = len(now), rank
			if !slices.Contains(before, node) {
				told.Holder = o.holder(node, before, now)
				if (l.partial || len(before) > 0) && o.mu.members.roster().shares(node) {
					told.Others = time.Now().Add(o.config.handover())
				}
			}
			sent[l].add(node, told)
		}
	}
	o.send(sent)
}

// choose returns the nodes that are to poll a channel, of those that have a session of its range.
// A node that has come since the last Begin has none, nor one that has gone: an order to it would be
// lost, and seats would no longer say who polled the channel before. o.mu is held.
func (o *Owner) choose(id channel.ID, width int) []string {
	l := o.mu.led.At(id.Bucket())
	if l == nil {
		return nil
	}
	return l.roster.choose(id, width)
}

// holder returns a node that may hold the current version of a channel which node comes
// to poll: one that polled it before, if possible one that goes on; else another of its
// pollers, of which nothing is known; else this node, whose owner keeps what it saw last.
// o.mu is held.
func (o *Owner) holder(node string, before, now []string) string {
	for _, nodes := range [][]string{before, now} {
		other := ""
		for _, one := range nodes {
			if one == node || !o.mu.members.roster().has(one) {
				continue
			}
			if other == "" || slices.Contains(now, one) {
				other = one
			}
		}
		if other != "" {
			return other
		}
	}
	return o.config.Self
}

// sharesEgress reports that other nodes poll from this node's address.
func (o *Owner) sharesEgress() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.members.roster().shares(o.config.Self)
}

// Repace implements [primary.Poller].
func (o *Owner) Repace(paces ...engine.Pace) (whole []channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for _, pace := range paces {
		before, chosen := o.mu.seats.get(pace.Channel), o.choose(pace.Channel, pace.Width)
		if slices.ContainsFunc(chosen, func(node string) bool { return !slices.Contains(before, node) }) {
			whole = append(whole, pace.Channel)
			continue // the order tells newcomers by the seats of before
		}
		l, now := o.reseat(sent, pace.Channel, chosen)
		for rank, node := range now {
			pace.Width, pace.Rank = len(now), rank
			sent[l].add(node, pace)
		}
	}
	o.send(sent)
	return whole
}

// Drop implements [primary.Poller].
func (o *Owner) Drop(ids ...channel.ID) {
	defer o.reports.bases.shelf.Remove(ids...)
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := make(map[*lead]parts)
	for _, id := range ids {
		o.reseat(sent, id, nil)
	}
	o.send(sent)
}

// reseat gives a channel the pollers that were chosen, and has those drop it that poll it no
// more. It returns them by rank. A channel of a range that this node does not order gets none.
// o.mu is held.
func (o *Owner) reseat(sent map[*lead]parts, id channel.ID, chosen []string) (l *lead, now []string) {
	if l = o.mu.led.At(id.Bucket()); l == nil {
		return nil, nil
	}
	if sent[l] == nil {
		sent[l] = make(parts)
	}
	before := o.mu.seats.get(id)
	now = overlay.Reseat(before, chosen)
	for _, node := range before {
		if !slices.Contains(now, node) {
			sent[l].add(node, id)
		}
	}
	o.mu.seats.set(id, now)
	return l, now
}

func (p parts) add(node string, item any) { p[node] = append(p[node], item) }

// send passes items on. o.mu is held.
func (o *Owner) send(sent map[*lead]parts) {
	for l, parts := range sent {
		for node, items := range parts {
			switch box := o.mu.boxes[node]; {
			case node == o.config.Self:
				o.toSelf(l, batch{items: items})
			case box != nil:
				box.add(l.Range, items)
			}
		}
	}
}

// toSelf has this node's own poller obey. o.mu is held.
func (o *Owner) toSelf(l *lead, b batch) {
	l.sequence++
	b.Session = l.session(l.sequence)
	o.local.obey(o.config.Self, b)
}
