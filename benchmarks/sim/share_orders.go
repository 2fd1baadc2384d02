package sim

import (
	"fmt"
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
	orders "github.com/seed-91e7e7c1/corona/wedge"
)

// ordered is what orders of some channels come to.
type ordered struct {
	seats []seat
	sums  sums
}

// order gives the channels of the sampled node their pollers, as its owner would.
func (sh *share) order(j *job) error {
	nodes := make([]channel.ID, sh.options.Nodes)
	for n := range nodes {
		nodes[n] = overlay.NodeID(nodeName(n))
	}
	parts := make([]ordered, scaleChunks)
	err := j.inParallel(scaleChunks, func(n int) {
		parts[n].seats = make([]seat, len(nodes))
		from, to := sh.chunk(n, len(sh.own))
		for i := from; i < to; i++ {
			sh.orderOne(&parts[n], i, nodes)
		}
		j.step()
	})
	for i := range parts { // always in this order: sums of fractions depend on it
		sh.sums.add(&parts[i].sums)
		for n, s := range parts[i].seats {
			sh.seats[n].channels += s.channels
			sh.seats[n].polls += s.polls
		}
	}
	return err
}

func nodeName(n int) string { return fmt.Sprintf("node-%d", n) }

// orderOne adds an own channel.
func (sh *share) orderOne(part *ordered, i int, nodes []channel.ID) {
	m, rate := &sh.own[i], sh.rates[i]
	pollers := overlay.Pollers(m.id, nodes, overlay.WidthOf(rate, sh.config.Interval, sh.config.Floor))
	width := float64(len(pollers))
	for _, node := range pollers {
		part.seats[node].channels++
		part.seats[node].polls += rate.Float() / width
	}
	gap := sh.config.Interval.Seconds() / rate.Float()
	seen := -math.Expm1(-gap/m.updateInterval) / gap // updates between two polls are one change
	s := &part.sums
	s.subscribers += m.subscribers
	s.load += rate.Float()
	s.wait += m.subscribers * gap / 2
	s.width += width
	s.changes += seen
	s.told += seen * (width - 1)
	last := len(pollers) - 1
	s.orders += width * float64(orders.ItemBytes(engine.Order{
		Channel: m.id, Incarnation: 1, URL: string(fmt.Append(sh.url(nil), m.number)), Rate: rate, Width: len(pollers), Rank: last,
		Version: 1, Hash: [16]byte(m.id[:16]), Subscribers: uint64(m.subscribers), Holder: nodeName(pollers[0]),
	}))
	s.paces += width * float64(orders.ItemBytes(engine.Pace{Channel: m.id, Incarnation: 1, Rate: rate, Width: len(pollers), Rank: last}))
}

func (s *sums) add(other *sums) {
	s.subscribers += other.subscribers
	s.load += other.load
	s.wait += other.wait
	s.width += other.width
	s.changes += other.changes
	s.told += other.told
	s.orders += other.orders
	s.paces += other.paces
}

// size returns what the plan says.
func (sh *share) size() Size {
	n, s := float64(len(sh.own)), &sh.sums
	return Size{
		Nodes: sh.options.Nodes, Channels: sh.channels, Subscriptions: sh.subscribers, Ranges: sh.ranges,
		Load: s.load / n, Budget: s.subscribers / n, Detection: s.wait / s.subscribers, Width: s.width / n,
	}
}
