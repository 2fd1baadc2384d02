package witness

import (
	"slices"
	"testing"
)

const logFile = "/d/ranges/log/000007.log"

// newFaults is the story with a fault of each kind after it, and with what became
// of them by the rules.
func newFaults() *story {
	s := newStory()
	fault := func(kind string, from, to float64) *Fault {
		f := &Fault{Kind: kind, From: at(from), To: at(to)}
		s.Faults = append(s.Faults, f)
		return f
	}
	ended := func(f *Fault, seconds float64, said string) {
		f.Ended, f.To, f.Code, f.Said = at(seconds), at(seconds), 3, said
		s.Ends = append(s.Ends, at(seconds))
	}
	fault(KindENOSPC, 10, 12).Watched = true
	eio := fault(KindEIO, 40, 41)
	eio.Hits = []Hit{{at(40.5), "fdatasync", logFile}, {at(40.6), "fsync", "/d/ranges/meta/raft.db"}}
	ended(eio, 41, `level=ERROR msg="cannot go on" error="disk failed"`)
	fault(KindSlow, 50, 55).Hits = []Hit{{at(50.5), "fsync", logFile}}
	stall := fault(KindStall, 60, 71)
	stall.Hits = []Hit{{at(60.1), "fdatasync", logFile}}
	ended(stall, 71, `level=ERROR msg="cannot go on" error="disk hangs"`)
	full := fault(KindFull, 78, 90)
	full.Full, full.Watched = at(80), true
	tooFull := fault(KindFull, 119, 125)
	tooFull.Full = at(120)
	ended(tooFull, 125, "corona: not enough space")
	s.askMeanwhile()
	return s
}

// The requests of newFaults, by where the story's records end.
const (
	refused    = 5 + iota // when writes failed, and left at that
	refusedYet            // until there was space
	before                // asked for before the sync failed, answered after it
	again                 // cut before the failed sync, answered when repeated
	early                 // accepted before the node could know that the disk was full
	late                  // accepted when it no longer was
	dropped               // deleted while the disk was full
)

func (s *story) askMeanwhile() {
	noSpace := func(seconds float64) Attempt {
		return Attempt{Sent: at(seconds), Done: at(seconds + 0.1), Outcome: NoSpace, Status: 507}
	}
	ask := func(label string, attempts ...Attempt) *SubscribeRecord {
		record := &SubscribeRecord{Key: "key-" + label, Label: label, Channel: 1, Attempts: attempts}
		record.Sink = s.passing.Sink
		record.Sink.URL = "http://sink/" + label
		for i := range attempts {
			if sub := attempts[i].Subscription; sub != nil {
				sub.Sink = record.Sink
				s.Listing = append(s.Listing, *sub)
			}
		}
		s.Subscribes = append(s.Subscribes, record)
		return record
	}
	of := &SubscribeRecord{Channel: 1}
	ask("refused", noSpace(11), noSpace(11.5))
	ask("refusedYet", noSpace(11), ack(13, 13.1, "G", of, 3))
	ask("before", ack(40.4, 40.6, "H", of, 3))
	ask("again", Attempt{Sent: at(39), Done: at(39.1)}, ack(40.6, 40.7, "I", of, 3))
	ask("early", ack(80.5, 80.6, "J", of, 3))
	ask("late", ack(90.5, 90.6, "K", of, 3))
	ask("dropped", ack(70.5, 70.6, "L", of, 3)).Deletes = []Attempt{{Sent: at(86), Done: at(86.1), Outcome: Acked, Status: 204}}
	s.Listing = slices.Delete(s.Listing, len(s.Listing)-1, len(s.Listing))
}

func TestCheckAcceptsFaults(t *testing.T) {
	s := newFaults()
	for _, violation := range Check(s.History, s.Snapshot) {
		t.Error(violation)
	}
}

var faultTests = []checkTest{
	{"another code", RuleStop, false, func(s *story) { s.Faults[1].Code = 2 }},
	{"another message", RuleStop, false, func(s *story) { s.Faults[3].Said = "bye" }},
	{"writes failed, another code", RuleStop, false, func(s *story) { s.Faults[0].Ended, s.Faults[0].Code, s.Faults[0].Said = at(11), 1, "cannot go on" }},
	{"a failed sync, and it lives", RuleStop, false, func(s *story) { s.Faults[1].Ended, s.Faults[1].To = 0, at(47) }},
	{"a failed sync, and it ends late", RuleStop, false, func(s *story) { s.Faults[1].Ended = at(46) }},
	{"a sync that hangs, and it lives", RuleStop, false, func(s *story) { s.Faults[3].Ended, s.Faults[3].To = 0, at(75) }},
	{"asked after the failed sync", RuleUnsynced, false, func(s *story) { s.Subscribes[before].Attempts[0].Sent = at(40.55) }},
	{"a deletion after the failed sync", RuleUnsynced, false, func(s *story) {
		s.Subscribes[dropped].Deletes[0].Sent, s.Subscribes[dropped].Deletes[0].Done = at(40.55), at(40.6)
	}},
	{"ended by a slow disk", RuleLives, false, func(s *story) { s.Faults[2].Ended, s.Faults[2].Code, s.Faults[2].Said = at(54), 3, "cannot go on" }},
	{"ended by a full disk", RuleLives, false, func(s *story) { s.Faults[5].Said = "cannot go on" }},
	{"refused, and listed", RuleClean, false, func(s *story) {
		sub := s.Listing[len(s.Listing)-1]
		sub.ID, sub.Sink = "M", s.Subscribes[refused].Sink
		s.Listing = append(s.Listing, sub)
	}},
	{"refused, and delivered to", RuleClean, false, func(s *story) { s.Deliveries[len(s.Deliveries)-1].Label = "refused" }},
	{"accepted by a full disk", RuleFull, false, func(s *story) {
		s.Subscribes[early].Attempts[0].Sent, s.Subscribes[early].Attempts[0].Done = at(86), at(86.1)
	}},
	{"refused for want of space, long before there was none", RuleFull, false, func(s *story) {
		s.Subscribes[refused].Attempts[0].Sent, s.Subscribes[refused].Attempts[0].Done = at(9), at(9.1)
	}},
	{"refused for want of space, long after there was some", RuleFull, false, func(s *story) {
		s.Subscribes[refused].Attempts[1].Sent, s.Subscribes[refused].Attempts[1].Done = at(30), at(30.1)
	}},
	{"a conflict with a full disk that is slow", RuleFull, false, func(s *story) {
		s.Subscribes[early].Conflicts = []Attempt{{Sent: at(50), Done: at(51), Outcome: NoSpace, Status: 507}}
	}},
	{"a full disk that refuses to delete", RuleFull, false, func(s *story) {
		s.Subscribes[dropped].Deletes = append(s.Subscribes[dropped].Deletes, Attempt{Sent: at(85), Done: at(85.1), Outcome: NoSpace, Status: 507})
	}},
	{"nothing accepted after writes failed", RuleSpace, false, func(s *story) { s.Subscribes[refusedYet].Attempts = s.Subscribes[refusedYet].Attempts[:1] }},
	{"accepted late after the disk was full", RuleSpace, false, func(s *story) {
		s.Subscribes[late].Attempts[0].Sent, s.Subscribes[late].Attempts[0].Done = at(110), at(110.1)
	}},
	{"a stack", RuleNoStack, false, func(s *story) { s.Stacks = []string{"panic: oh"} }},
}

func TestCheckFindsFaults(t *testing.T) {
	for _, test := range faultTests {
		test.run(t, newFaults())
	}
}

// Where there are several nodes, others acknowledge what the one whose disk failed does
// not; what its own process must do stays.
func TestCheckFaultsOfSeveralNodes(t *testing.T) {
	for _, test := range faultTests {
		s := newFaults()
		s.Several = true
		if test.rule != RuleUnsynced {
			test.run(t, s)
			continue
		}
		test.spoil(s)
		for _, violation := range Check(s.History, s.Snapshot) {
			t.Errorf("%s: %s", test.name, violation)
		}
	}
}

// What was cut short shows nothing, and is no violation.
func TestCheckExcusesFaults(t *testing.T) {
	for name, excuse := range map[string]func(s *story){
		"killed before it could accept":         func(s *story) { s.Faults[4].Watched, s.Subscribes[late].Attempts[0].Sent = false, at(110) },
		"no call was hit":                       func(s *story) { s.Faults[1].Hits, s.Faults[1].Ended, s.Faults[1].To = nil, 0, at(49) },
		"a sync that hangs, for not so long":    func(s *story) { s.Faults[3].Ended, s.Faults[3].To = 0, at(72) },
		"a sync of the cache failed":            func(s *story) { s.Faults[1].Hits = []Hit{{at(40.1), "fdatasync", "/d/cache/000002.log"}} },
		"writes failed, and it ended by itself": func(s *story) { s.Faults[0].Ended, s.Faults[0].Code, s.Faults[0].Said = at(11), 3, "cannot go on" },
		"refused while the disk was being filled up": func(s *story) {
			s.Subscribes[refused].Attempts = []Attempt{{Sent: at(79), Done: at(79.5), Outcome: NoSpace, Status: 507}}
		},
		"accepted while the disk was being filled up, which took long": func(s *story) {
			s.Faults[4].From = at(75)
			s.Subscribes[early].Attempts[0].Sent, s.Subscribes[early].Attempts[0].Done = at(79.5), at(79.6)
		},
		"refused to delete when writes failed": func(s *story) {
			s.Subscribes[dropped].Deletes = append(s.Subscribes[dropped].Deletes, Attempt{Sent: at(11), Done: at(11.1), Outcome: NoSpace, Status: 507})
		},
	} {
		s := newFaults()
		excuse(s)
		for _, violation := range Check(s.History, s.Snapshot) {
			t.Errorf("%s: %s", name, violation)
		}
	}
}

func TestFaultLines(t *testing.T) {
	got := FaultLines(newFaults().History)
	want := []string{
		"enospc: 1 times, 0 processes ended by it; 0 calls hit; meanwhile 0 subscriptions, 0 deletions, 0 webhooks; 1.1s until the next subscription at most",
		"eio: 1 times, 1 processes ended by it; 2 calls hit; 500ms from the first to the end at most; meanwhile 2 subscriptions, 0 deletions, 0 webhooks",
		"slow: 1 times, 0 processes ended by it; 1 calls hit; meanwhile 0 subscriptions, 0 deletions, 0 webhooks",
		"stall: 1 times, 1 processes ended by it; 1 calls hit; 10.9s from the first to the end at most; meanwhile 1 subscriptions, 0 deletions, 0 webhooks",
		"full: 2 times, 1 processes ended by it; meanwhile 1 subscriptions, 1 deletions, 0 webhooks; 600ms until the next subscription at most",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The reason counts, not what another goroutine printed after it.
func TestLastWords(t *testing.T) {
	const reason = `level=ERROR msg="cannot go on" error="disk failed"`
	for want, lines := range map[string][]string{
		reason: {"begun", reason, "level=DEBUG msg=raft"},
		"last": {"begun", "last"},
	} {
		said := ""
		for _, line := range lines {
			said = lastWords(said, line)
		}
		if said != want {
			t.Errorf("%q of %q, want %q", said, lines, want)
		}
	}
}
