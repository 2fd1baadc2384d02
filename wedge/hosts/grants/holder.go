package grants

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Holder is what a node was granted by the leaders of one range.
type Holder struct {
	number uint64 // of the latest question
	hosts  map[channel.ID]*held
}

// held is what is granted of one host's cap, and the latest question about it.
type held struct {
	part     int64
	until    time.Time
	need     int64
	told     int64 // that it held, with the latest question
	asked    time.Time
	number   uint64
	answered bool
	needed   time.Time // when the node last needed any
	spare    bool      // reported to the leader as needed no more
}

// renewal is after how long a grant is asked for again.
const renewal = Lease / 6

// idle is after how long without need a grant is given back.
const idle = 2 * time.Second

// retry is after how long a question is asked again that was not answered.
const retry = time.Second

// NewHolder returns a holder whose questions have numbers above one, which a node
// that starts again must not have used before.
func NewHolder(above uint64) *Holder {
	return &Holder{number: above, hosts: make(map[channel.ID]*held)}
}

// Part returns a holder of what is held of some hosts, which none asks for any more here. Answers
// to questions of before are not heeded.
func (h *Holder) Part(of func(host channel.ID) bool) *Holder {
	part := NewHolder(h.number)
	for host, one := range h.hosts {
		if of(host) {
			mine := *one
			mine.answered, mine.asked, mine.number = false, time.Time{}, 0
			part.hosts[host] = &mine
		}
	}
	return part
}

// Ask returns a question about those hosts of which something is to be asked, at most
// so many, and its number.
func (h *Holder) Ask(demands []channel.Demand, most int, now time.Time) (number uint64, asks []Ask) {
	h.number++
	for _, d := range demands {
		if len(asks) == most {
			break
		}
		one := h.hosts[d.Host]
		if one == nil {
			one = &held{}
			h.hosts[d.Host] = one
		}
		if one.due(d.Part, now) {
			asks = append(asks, h.ask(d, one, now))
		}
	}
	for host, one := range h.hosts {
		if one.spare && len(asks) < most {
			asks = append(asks, h.ask(channel.Demand{Host: host}, one, now))
		}
	}
	return h.number, asks
}

func (h *Holder) ask(d channel.Demand, one *held, now time.Time) Ask {
	one.need, one.told, one.asked, one.number, one.answered, one.spare = d.Part, one.holds(now), now, h.number, false, false
	return Ask{Host: d.Host, Need: d.Part, Holds: one.told}
}

// due reports that a question was not answered, or a while ago, that a quarter more is
// needed than was asked for, or that the leader does not know yet that the node has heard
// of getting less, which others wait for.
func (h *held) due(need int64, now time.Time) bool {
	if !h.answered {
		return now.Sub(h.asked) >= retry
	}
	return now.Sub(h.asked) >= renewal || need > h.need+h.need/4 || h.part < h.told-h.told/16
}

func (h *held) holds(now time.Time) int64 {
	if now.Before(h.until) {
		return h.part
	}
	return 0
}

// Take returns what follows from an answer, as [Table.Answer] returned it.
func (h *Holder) Take(number uint64, shares []Share, kept bool, now time.Time) (grants []channel.Grant) {
	for _, s := range shares {
		one := h.hosts[s.Host]
		if one == nil || one.number != number || !now.Before(one.asked.Add(Lease)) {
			continue
		}
		part := s.Part
		if kept {
			part = min(part, one.holds(now))
		}
		one.part, one.until, one.answered = part, one.asked.Add(Lease), true
		grants = append(grants, channel.Grant{Host: s.Host, Part: part, Until: one.until})
	}
	return grants
}

// Tell returns what the node holds, and the number of the latest question. No answer to
// that and to earlier ones is heeded from now on; the node asks again at once.
func (h *Holder) Tell(now time.Time) (number uint64, held []Share) {
	for host, one := range h.hosts {
		one.answered, one.asked = false, time.Time{}
		if part := one.holds(now); part > 0 {
			held = append(held, Share{host, part})
		}
	}
	return h.number, held
}

// Lapse returns the ends of grants that are over, or that were not needed for a while: the
// next question gives these back.
func (h *Holder) Lapse(demands []channel.Demand, now time.Time) (grants []channel.Grant) {
	for _, d := range demands {
		if one := h.hosts[d.Host]; one != nil {
			one.needed, one.spare = now, false
		}
	}
	for host, one := range h.hosts {
		one.spare = one.spare || one.holds(now) > 0 && now.Sub(one.needed) >= idle
		if one.part > 0 && (one.spare || !now.Before(one.until)) {
			grants = append(grants, channel.Grant{Host: host, Until: now})
			one.part, one.need = 0, 0
		}
		if !now.Before(one.until) && now.Sub(one.asked) > Lease {
			delete(h.hosts, host)
		}
	}
	return grants
}
