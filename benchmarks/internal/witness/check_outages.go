package witness

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// checkGap holds that a gap follows what has arrived.
func (c *checker) checkGap(delivery *Delivery, record *SubscribeRecord, sink *arrivals) {
	gap := delivery.Gap
	if expected := c.expected(record, sink); expected != 0 && gap.From > expected {
		c.violated(RuleOrder, "%s got a gap of the versions %d to %d, want %d first", delivery.Subscription, gap.From, gap.To, expected)
	}
	if delivery.Answer/100 != 2 {
		return // the node has not told it
	}
	for version := gap.From; version <= gap.To; version++ {
		sink.answered[version] = true
	}
	sink.last = max(sink.last, gap.To)
	sink.addGap(*gap)
}

// addGap notes a gap. One that is sent again, since the answer to it was not saved, may end later
// than before, and another one may follow it at once: an update that was detected before the
// endpoint was revived may be committed seconds later, while its range elects a leader.
func (a *arrivals) addGap(gap api.Gap) {
	for i, known := range a.gaps {
		if gap.From <= known.To+1 && known.From <= gap.To+1 {
			a.gaps[i] = api.Gap{From: min(known.From, gap.From), To: max(known.To, gap.To)}
			return
		}
	}
	a.gaps = append(a.gaps, gap)
}

// checkGaps holds that a subscription is told of one gap at most for each time that its
// endpoint was given up, and that no gap covers what was committed after it was revived.
func (c *checker) checkGaps(sinks map[string]*arrivals) {
	for label, sink := range sinks {
		record := c.byLabel[label]
		var lost []*Outage
		for _, o := range c.Outages {
			if o.Endpoint == record.Endpoint && o.gaveUp() {
				lost = append(lost, o)
			}
		}
		if len(sink.gaps) > len(lost) {
			c.violated(RuleGap, "%s got the gaps %v; its endpoint %s was given up %d times", sink.subscription, sink.gaps, record.Endpoint, len(lost))
		}
		for _, gap := range sink.gaps {
			update := c.versions[record.Channel][gap.To]
			if update != nil && !slices.ContainsFunc(lost, func(o *Outage) bool { return o.Revived == 0 || !update.DetectedAt.After(c.Began.Add(o.Revived)) }) {
				c.violated(RuleGap, "%s got a gap up to version %d, detected at %s, when its endpoint %s had been revived",
					sink.subscription, gap.To, update.DetectedAt.Sub(c.Began), record.Endpoint)
			}
		}
	}
}

// How a node alone tries an endpoint that fails (docs/contract.md), and what several may
// do beside that.
const (
	secondStep = 4500 * time.Millisecond // after the first failure, at the earliest
	thirdStep  = 4*time.Minute + 30*time.Second
	burstMost  = 8                // requests of one node under way at a time
	burstLasts = time.Second      // from the first of them to the last
	turnLasts  = 10 * time.Second // leaders change until so long after a turn
)

// Strain is what an outage had its endpoint bear.
type Strain struct {
	*Outage
	Requests int // that failed
	Nodes    int // that made them
	First    int // of Requests, those of processes that could not know that the endpoint fails
	Biggest  int // most of First of one process
	Later    int // the others
	Turns    int // in which leaders may have changed
}

// Limit returns how many of the later requests there may be: the steps of the schedule
// after the first one, and one for each turn.
func (s Strain) Limit() int {
	steps := 0
	for _, step := range []time.Duration{secondStep, thirdStep} {
		if s.To-s.From >= step {
			steps++
		}
	}
	return steps + s.Turns
}

func (s Strain) String() string {
	return fmt.Sprintf("%s: %d requests of %d nodes, %d of them later than each process's first ones, of at most %d (%d turns)",
		s.Outage, s.Requests, s.Nodes, s.Later, s.Limit(), s.Turns)
}

// Strains returns what each outage that is over had its endpoint bear.
func Strains(h *History) (strains []Strain) {
	for _, o := range h.Outages {
		if o.To != 0 {
			strains = append(strains, strain(h, o))
		}
	}
	return strains
}

// strain counts an outage's requests. A process is told by a failure of its own, or by a
// question that it has a reason to ask, that the endpoint fails: its first requests, which
// are under way together, are not the schedule's.
func strain(h *History, o *Outage) Strain {
	type process struct {
		from  string
		older int
	}
	s, nodes := Strain{Outage: o}, make(map[string]bool)
	began, bursts := make(map[process]Instant), make(map[process]int)
	for i := range h.Deliveries {
		d := &h.Deliveries[i]
		if d.Label != o.Endpoint || d.Answer/100 == 2 || d.Type == api.MessageTest || d.At < o.From || d.At > o.To {
			continue
		}
		p := process{d.From, h.older(d)}
		if _, known := began[p]; !known {
			began[p] = d.At
		}
		s.Requests++
		nodes[d.From] = true
		if d.At-began[p] > burstLasts {
			s.Later++
			continue
		}
		bursts[p]++
		s.First, s.Biggest = s.First+1, max(s.Biggest, bursts[p])
	}
	s.Nodes = len(nodes)
	for _, turn := range h.Turns {
		if turn >= o.From-turnLasts && turn <= o.To {
			s.Turns++
		}
	}
	return s
}

// older returns how many processes of the node that sent a message came before the one
// that did.
func (h *History) older(d *Delivery) (n int) {
	for _, p := range h.Processes {
		if p.From == d.From && p.At <= d.At {
			n++
		}
	}
	return n
}

// checkSpared holds that an endpoint that fails is tried as one node would try it.
func (c *checker) checkSpared() {
	for _, s := range Strains(c.History) {
		if s.Later > s.Limit() || s.Biggest > burstMost {
			c.violated(RuleSpared, "%s; %d at once of one process, of at most %d%s", s, s.Biggest, burstMost, c.requestsOf(s.Outage))
		}
	}
}

// requestsOf tells when the requests of an outage came, and of which node.
func (c *checker) requestsOf(o *Outage) (text string) {
	var came []Dated
	for i := range c.Deliveries {
		if d := &c.Deliveries[i]; d.Label == o.Endpoint && d.At >= o.From && d.At <= o.To {
			came = append(came, Dated{d.At, fmt.Sprintf("%s %s %s, answered %d", d.From, d.Type, d.WebhookID, d.Answer)})
		}
	}
	for _, turn := range c.Turns {
		if turn >= o.From-turnLasts && turn <= o.To {
			came = append(came, Dated{turn, "a turn"})
		}
	}
	slices.SortStableFunc(came, func(a, b Dated) int { return cmp.Compare(a.At, b.At) })
	for _, one := range came {
		text += fmt.Sprintf("\n    %s %s", one.At.Round(time.Millisecond), one.Line)
	}
	return text
}
