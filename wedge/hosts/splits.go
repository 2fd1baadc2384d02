package hosts

import (
	"context"
	"maps"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/wedge/hosts/grants"
)

// followSplits makes what this node keeps of each range fit the ranges that there are now. Those
// that a range was split into go on with what it had of their hosts.
func (n *Node) followSplits() {
	n.splitting.Lock()
	defer n.splitting.Unlock()
	askers, leaders := n.shares.askers.Load(), n.leaders.Load()
	table := n.config.Ranges()
	fresh := false
	for _, r := range table {
		a := askers.At(r.From)
		fresh = fresh || a == nil || a.r != r
	}
	if !fresh {
		return
	}
	var nextAskers channel.ByRange[*asker]
	var nextLeaders channel.ByRange[*outbox]
	for _, r := range table {
		a := askers.At(r.From)
		if a != nil && a.r == r {
			nextAskers.Set(r, a)
			nextLeaders.Set(r, leaders.At(r.From))
			continue
		}
		nextAskers.Set(r, n.shares.askerOf(r, a))
		nextLeaders.Set(r, n.leaderOf(r))
	}
	n.shares.askers.Store(&nextAskers)
	n.leaders.Store(&nextLeaders)
}

// askerOf returns the asker of a range that was split off another one's, nil for none.
func (s *shares) askerOf(r channel.Range, before *asker) *asker {
	a := &asker{r: r, all: make(map[channel.ID]int64)}
	if before == nil {
		a.holder = grants.NewHolder(s.began)
		return a
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	before.over = true
	moved := func(host channel.ID) bool { return r.Has(host.Bucket()) }
	a.holder, a.owned = before.holder.Part(moved), maps.Clone(before.owned)
	maps.DeleteFunc(a.owned, func(host channel.ID, _ int64) bool { return !moved(host) })
	for host, all := range before.all {
		if moved(host) {
			a.all[host] = all
		}
	}
	for _, one := range before.left {
		if moved(one.Host) {
			a.left = append(a.left, one)
		}
	}
	return a
}

// leaderOf returns the outbox for the leader of a range. What waits in it when the range is split
// goes to the leaders of its hosts.
func (n *Node) leaderOf(r channel.Range) *outbox {
	var box *outbox
	box = n.outbox(func(ctx context.Context, rests []channel.Rest) error {
		var own []channel.Rest
		for _, rest := range rests {
			if now := n.leaders.Load().At(rest.Host.Bucket()); now != box {
				now.add(rest)
			} else {
				own = append(own, rest)
			}
		}
		if len(own) == 0 {
			return nil
		}
		return n.config.Ask.Refused(ctx, r.From, encode(own, time.Now()))
	})
	return box
}
