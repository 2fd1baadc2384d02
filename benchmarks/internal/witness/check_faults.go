package witness

import (
	"slices"
	"strings"
	"time"
)

const (
	// StopWithin is how soon after a failed sync the process has ended, and
	// StopStalled after the start of one that does not end.
	StopWithin  = 5 * time.Second
	StopStalled = 12 * time.Second
	// NoticeWithin is how soon a node knows that its disk is full, and
	// AcceptWithin how soon it accepts subscriptions when it no longer is.
	NoticeWithin = 4 * time.Second
	AcceptWithin = 10 * time.Second // it mistrusts what a disk says for 5 s after a failed write
)

// How a process says that it ends since its disk failed: docs/contract.md.
const (
	FailedCode    = 3
	FailedMessage = "cannot go on"
	failedStart   = "corona: " // of a process that did not get as far as to serve
)

// checkFaults judges what the node did while its disk failed.
func (c *checker) checkFaults() {
	for _, fault := range c.Faults {
		c.checkStop(fault)
		c.checkSpace(fault)
	}
	for _, record := range c.Subscribes {
		c.checkRefusals(record)
	}
	for _, line := range c.Stacks {
		c.violated(RuleNoStack, "%s", line)
	}
}

// checkStop holds that a process ended where it had to, how, and not elsewhere.
func (c *checker) checkStop(fault *Fault) {
	if fault.Ended > 0 {
		started := !strings.HasPrefix(fault.Said, failedStart)
		if fault.Kind == KindSlow || fault.Kind == KindFull && started { // too full to start is no harm
			c.violated(RuleLives, "%s at %s: ended at %s with code %d: %s", fault.Kind, fault.From, fault.Ended, fault.Code, fault.Said)
		}
		if fault.Code != FailedCode || started && !strings.Contains(fault.Said, FailedMessage) {
			c.violated(RuleStop, "%s at %s: code %d, last said %q; want %d and %q", fault.Kind, fault.From, fault.Code, fault.Said, FailedCode, FailedMessage)
		}
	}
	within := map[string]time.Duration{KindEIO: StopWithin, KindStall: StopStalled}[fault.Kind]
	if within == 0 || len(fault.Hits) == 0 {
		return
	}
	hit := fault.Hits[0]
	if limit := hit.At + within; fault.Ended > limit || fault.Ended == 0 && fault.To > limit {
		c.violated(RuleStop, "%s of %s at %s: not ended within %s (ended %s, 0s: not at all)", hit.Call, hit.Path, hit.At, within, fault.Ended)
	}
	if fault.Kind == KindEIO && !c.Several {
		c.checkUnsynced(fault)
	}
}

// checkUnsynced holds that after a failed sync of the log nothing is acknowledged
// that was asked for later.
func (c *checker) checkUnsynced(fault *Fault) {
	failed := slices.IndexFunc(fault.Hits, func(hit Hit) bool {
		return strings.HasPrefix(hit.Call, "f") && strings.Contains(hit.Path, "/ranges/log/") && strings.HasSuffix(hit.Path, ".log")
	})
	if failed < 0 {
		return
	}
	from := fault.Hits[failed].At
	for _, record := range c.Subscribes {
		for _, attempts := range [][]Attempt{record.Attempts, record.Deletes} {
			// A repeated request may be answered by what is there already.
			if len(attempts) > 0 && attempts[0].Outcome == Acked && attempts[0].Sent > from && attempts[0].Sent < fault.To {
				c.violated(RuleUnsynced, "%s: asked at %s, answered %d at %s; a sync of %s failed at %s",
					record.Key, attempts[0].Sent, attempts[0].Status, attempts[0].Done, fault.Hits[failed].Path, from)
			}
		}
	}
}

// checkSpace holds that a full disk takes no subscription, and that one that has
// space again does.
func (c *checker) checkSpace(fault *Fault) {
	lacking := fault.Kind == KindFull || fault.Kind == KindENOSPC
	accepted := false
	for _, record := range c.Subscribes {
		if len(record.Attempts) == 0 {
			continue
		}
		for i, attempt := range record.Attempts {
			if attempt.Outcome == Acked && attempt.Sent >= fault.To && attempt.Done <= fault.To+AcceptWithin {
				accepted = accepted || i == 0 || record.Attempts[i-1].Outcome == NoSpace
			}
		}
		if first := record.Attempts[0]; fault.Kind == KindFull && first.Outcome == Acked &&
			first.Sent > fault.Full+NoticeWithin && first.Done < fault.To {
			c.violated(RuleFull, "%s: accepted at %s, though the disk was full from %s to %s", record.Key, first.Done, fault.Full, fault.To)
		}
	}
	if lacking && fault.Watched && fault.Ended == 0 && !accepted {
		c.violated(RuleSpace, "%s until %s: no subscription was accepted for %s", fault.Kind, fault.To, AcceptWithin)
	}
}

// checkRefusals holds that requests were refused for want of space where there
// was none, never to delete, and that nothing came of them.
func (c *checker) checkRefusals(record *SubscribeRecord) {
	for _, attempt := range slices.Concat(record.Attempts, record.Conflicts) {
		if attempt.Outcome == NoSpace && !c.lackedSpace(attempt, KindFull, KindENOSPC) {
			c.violated(RuleFull, "%s: status %d at %s, when there was space", record.Key, attempt.Status, attempt.Done)
		}
	}
	for _, attempt := range record.Deletes {
		if attempt.Outcome == NoSpace && !c.lackedSpace(attempt, KindENOSPC) {
			c.violated(RuleFull, "delete of %s: status %d at %s", record.Acked().Subscription.ID, attempt.Status, attempt.Done)
		}
	}
	if record.Label == "" || !record.RefusedForSpace() {
		return
	}
	for _, sub := range c.snapshot.Listing {
		if sub.Sink.URL == record.Sink.URL {
			c.violated(RuleClean, "%s is listed as %s", record.Key, sub.ID)
		}
	}
	for _, delivery := range c.Deliveries {
		if delivery.Label == record.Label {
			c.violated(RuleClean, "%s got a message of %s", record.Key, delivery.Subscription)
		}
	}
}

// lackedSpace reports whether an attempt was answered while the disk had no
// space, or so soon after that the node may not know yet that it has.
func (c *checker) lackedSpace(attempt Attempt, kinds ...string) bool {
	return slices.ContainsFunc(c.Faults, func(fault *Fault) bool {
		return slices.Contains(kinds, fault.Kind) && attempt.Done >= fault.From && (fault.To == 0 || attempt.Sent <= fault.To+AcceptWithin)
	})
}

// RefusedForSpace reports whether every request for a subscription was answered
// that there is no space.
func (r *SubscribeRecord) RefusedForSpace() bool {
	return len(r.Attempts) > 0 && !slices.ContainsFunc(r.Attempts, func(a Attempt) bool { return a.Outcome != NoSpace })
}
