package witness

import (
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// newOutages is the story with two subscriptions, X and Y, that share an endpoint. It
// fails from 13 to 19 s, and answers 410 from 20 to 22 s.
func newOutages() *story {
	s := newStory()
	for _, id := range []string{"X", "Y"} {
		record := &SubscribeRecord{Key: "key-" + id, Label: "shared-" + id, Endpoint: "shared", Sink: api.Sink{Type: api.SinkWebhook, URL: "http://sink/shared"}}
		record.Attempts = []Attempt{ack(2, 2.1, id, record, 2)}
		s.Subscribes, s.Listing = append(s.Subscribes, record), append(s.Listing, *record.Attempts[0].Subscription)
	}
	s.Outages = []*Outage{
		{Endpoint: "shared", Answer: 503, From: at(13), To: at(19)},
		{Endpoint: "shared", Answer: 410, From: at(20), To: at(22), Revived: at(22.5)},
	}
	s.share(13.1, "n1", "X", 2, 503)
	s.share(13.2, "n1", "X", 2, 503) // beside the first
	s.share(13.3, "n2", "Y", 2, 503)
	s.share(17.9, "n1", "X", 2, 503) // the schedule's second step
	s.Deliveries = append(s.Deliveries, Delivery{At: at(19.1), From: "n3", Label: "shared", WebhookID: "t", Signed: true, Type: api.MessageTest, Subscription: "X", Answer: 200})
	s.share(19.2, "n1", "X", 2, 200)
	s.share(19.3, "n2", "Y", 2, 200)
	s.share(20.1, "n1", "X", 3, 410)
	s.gap(23.6, "X", 3, 4)
	s.gap(23.7, "Y", 3, 4)
	s.gap(23.8, "Y", 3, 4) // killed before it noted the answer
	return s
}

// Where the deliveries of newOutages are, after those of the story.
const (
	firstOfX = 8 + iota
	besideIt
	firstOfY
	secondStepOfX
	testOfX
	takenOfX
	takenOfY
	goneOfX
	gapOfX
	gapOfY
	gapAgain
)

func (s *story) share(seconds float64, from, subscription string, version uint64, answer int) {
	s.Deliveries = append(s.Deliveries, Delivery{At: at(seconds), From: from, Label: "shared", WebhookID: subscription + string('0'+rune(version)), Signed: true,
		Type: api.MessageUpdated, Subscription: subscription, Update: s.updates[version-2], Answer: answer})
}

func (s *story) gap(seconds float64, subscription string, from, to uint64) {
	s.Deliveries = append(s.Deliveries, Delivery{At: at(seconds), From: "n1", Label: "shared", WebhookID: subscription + "gap", Signed: true,
		Type: api.MessageGap, Subscription: subscription, Gap: &api.Gap{From: from, To: to}, Answer: 200})
}

func (s *story) secondGap(subscription string, from, to uint64) {
	s.gap(25, subscription, from, to)
	s.Deliveries[len(s.Deliveries)-1].WebhookID = subscription + "gap2"
}

func TestCheckAcceptsOutages(t *testing.T) {
	for name, excuse := range map[string]func(s *story){
		"as it is":                                            func(*story) {},
		"a keeper that changes":                               func(s *story) { s.Turns = []Instant{at(15)}; s.share(18.5, "n2", "Y", 2, 503) },
		"a process that does not know":                        func(s *story) { s.Processes = []Process{{at(15), "n2"}}; s.share(16, "n2", "Y", 2, 503) },
		"an outage that is not over":                          func(s *story) { s.Outages[0].To = 0; s.share(18.5, "n2", "Y", 2, 503) },
		"a gap that was refused, then one":                    func(s *story) { s.Deliveries[gapOfY].Answer, s.Deliveries[gapOfY].Gap = 500, &api.Gap{From: 3, To: 3} },
		"a gap from what was not saved":                       func(s *story) { s.Deliveries[gapOfX].Gap = &api.Gap{From: 2, To: 4} },
		"a gap that ends later when it is sent again":         func(s *story) { s.secondGap("X", 3, 5) },
		"a gap of what was committed after the one before it": func(s *story) { s.secondGap("X", 5, 5) },
	} {
		s := newOutages()
		excuse(s)
		for _, violation := range Check(s.History, s.Snapshot) {
			t.Errorf("%s: %s", name, violation)
		}
	}
}

func TestCheckFindsOutages(t *testing.T) {
	for _, test := range []checkTest{
		{"a node that goes on", RuleSpared, false, func(s *story) { s.share(15, "n1", "X", 2, 503) }},
		{"a node that goes on, long after leaders changed", RuleSpared, false, func(s *story) {
			s.Outages[0].From, s.Outages[0].To, s.Turns = at(13), at(60), []Instant{at(-3)}
			s.Deliveries[takenOfX].At, s.Deliveries[takenOfY].At = at(60.1), at(60.2)
			s.share(40, "n1", "X", 2, 503)
		}},
		{"a second step of each node", RuleSpared, false, func(s *story) { s.share(17.9, "n2", "Y", 2, 503) }},
		{"a step before its time", RuleSpared, false, func(s *story) { s.Outages[0].To, s.Deliveries[secondStepOfX].At = at(17.4), at(17) }},
		{"many requests at once", RuleSpared, false, func(s *story) {
			for range burstMost - 1 {
				s.share(13.3, "n1", "X", 2, 503)
			}
		}},
		{"two gaps of one outage", RuleGap, false, func(s *story) {
			s.Deliveries[gapOfX].Gap = &api.Gap{From: 3, To: 3}
			s.share(24, "n1", "X", 4, 200)
			s.secondGap("X", 5, 5)
		}},
		{"a gap without an outage of 410", RuleGap, false, func(s *story) { s.Outages[1].Answer = 500 }},
		{"a gap after the endpoint was revived", RuleGap, false, func(s *story) { s.Outages[1].Revived = at(6) }},
		{"a gap of an endpoint of its own", RuleKind, false, func(s *story) {
			s.gap(25, "A", 3, 4)
			s.Deliveries[len(s.Deliveries)-1].Label = "a"
		}},
		{"an update missing before a gap", RuleOrder, false, func(s *story) { s.Deliveries[gapOfY].Gap = &api.Gap{From: 4, To: 4} }},
		{"an update that was refused, then missing", RuleUndelivered, true, func(s *story) { s.Deliveries[gapOfX].Gap = &api.Gap{From: 4, To: 4} }},
		{"what a gap covers comes after it", RuleOrder, false, func(s *story) { s.share(25, "n1", "Y", 3, 200) }},
		{"an update missing without a gap", RuleUndelivered, true, func(s *story) { s.Deliveries = s.Deliveries[:gapOfY] }},
		{"a message of a subscription that shares another endpoint", RuleUnasked, false, func(s *story) { s.Deliveries[takenOfX].Label = "shared-2" }},
	} {
		test.run(t, newOutages())
	}
}

// What an outage had to bear is counted by process.
func TestStrain(t *testing.T) {
	s := newOutages()
	s.Turns = []Instant{at(-3), at(14), at(19.5)}
	got := Strains(s.History)
	for i := range got {
		got[i].Outage = nil
	}
	want := []Strain{{Requests: 4, Nodes: 2, First: 3, Biggest: 2, Later: 1, Turns: 1}, {Requests: 1, Nodes: 1, First: 1, Biggest: 1, Turns: 2}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
