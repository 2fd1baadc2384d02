package witness

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-91e7e7c1/corona/api"
)

// Rule is what must hold whatever instant the node is killed at.
type Rule string

// The rules.
const (
	RuleLost        Rule = "an acknowledged subscription is never lost"
	RuleBack        Rule = "a deleted subscription stays deleted"
	RuleKey         Rule = "one key, one subscription, one answer"
	RuleUnasked     Rule = "no subscription that nobody asked for"
	RuleRefused     Rule = "a right request is not refused"
	RuleOrder       Rule = "first arrivals are in order, none left out, none before from_version"
	RuleUndelivered Rule = "every committed version is delivered"
	RuleID          Rule = "one webhook-id per subscription and version"
	RuleBody        Rule = "one body per channel and version"
	RuleAfter       Rule = "nothing committed after a deletion is delivered to it"
	RuleKind        Rule = "no gap, reset or end of a channel"
	RuleSigned      Rule = "a sink's secret signs its messages"
	RuleStream      Rule = "a stream resumes without loss or repetition"
	RuleEntry       Rule = "every entry arrives in one version, once, as it stood at the origin"
	RuleChange      Rule = "the origin's last change arrives"
	RuleForgotten   Rule = "a version that was seen is never forgotten"

	RuleGap    Rule = "where several share an endpoint, each gets a gap once for each time that it is given up"
	RuleSpared Rule = "an endpoint that fails is tried by all nodes together as by one"

	RuleStop     Rule = "a disk that fails ends the process in time, with its code and message"
	RuleUnsynced Rule = "nothing asked for after a failed sync is acknowledged"
	RuleLives    Rule = "a slow or a full disk ends no process"
	RuleClean    Rule = "what was refused for want of space is not there"
	RuleFull     Rule = "a full disk refuses new subscriptions, and nothing else"
	RuleSpace    Rule = "with space again, subscriptions are accepted"
	RuleNoStack  Rule = "no process prints a stack"
)

// Rules are all of them.
var Rules = []Rule{
	RuleLost, RuleBack, RuleKey, RuleUnasked, RuleRefused,
	RuleOrder, RuleUndelivered, RuleID, RuleBody, RuleAfter,
	RuleKind, RuleSigned, RuleStream, RuleEntry, RuleChange,
	RuleForgotten,
	RuleStop, RuleUnsynced, RuleLives,
	RuleClean, RuleFull, RuleSpace, RuleNoStack,
}

// SharedRules are those of endpoints that several subscriptions share, in histories with
// outages.
var SharedRules = []Rule{RuleGap, RuleSpared}

// Violation is a rule that does not hold.
type Violation struct {
	Rule   Rule
	Detail string
	// Pending violations may still pass: something has not arrived yet.
	Pending bool
}

func (v Violation) String() string { return fmt.Sprintf("violated: %s: %s", v.Rule, v.Detail) }

// Check judges a history against the state that the node shows at its end. It
// returns nil when every rule holds.
func Check(h *History, s *Snapshot) []Violation {
	c := &checker{History: h, snapshot: s, byLabel: make(map[string]*SubscribeRecord), byID: make(map[string]*SubscribeRecord), versions: make(map[int]map[uint64]*api.Update)}
	for _, record := range h.Subscribes {
		if record.Label != "" {
			c.byLabel[record.Label] = record
		}
		if acked := record.Acked(); acked != nil && record.Endpoint != "" {
			c.byID[acked.Subscription.ID] = record
		}
	}
	c.checkSubscriptions()
	c.checkGets()
	sinks := c.checkDeliveries()
	c.checkStreams()
	c.checkVersions()
	c.checkStreamEnds() // by then every version is known that anybody saw
	c.checkGaps(sinks)
	c.checkReads()
	c.checkFaults()
	c.checkSpared()
	return c.found
}

type checker struct {
	*History
	snapshot *Snapshot
	byLabel  map[string]*SubscribeRecord
	byID     map[string]*SubscribeRecord    // those that share an endpoint, by subscription
	versions map[int]map[uint64]*api.Update // of anchored channels: what any witness saw
	spans    []map[int]span                 // by stream and channel
	found    []Violation
}

func (c *checker) violated(rule Rule, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) pending(rule Rule, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Detail: fmt.Sprintf(format, args...), Pending: true})
}

// checkSubscriptions compares what was acknowledged with what is listed.
func (c *checker) checkSubscriptions() {
	listed := make(map[string]api.Subscription)
	for _, sub := range c.snapshot.Listing {
		if _, twice := listed[sub.ID]; twice {
			c.violated(RuleKey, "subscription %s is listed twice", sub.ID)
		}
		listed[sub.ID] = sub
	}
	known := make(map[string]bool)
	for _, record := range c.Subscribes {
		c.checkAnswers(record)
		first := record.Acked()
		if first == nil {
			continue
		}
		if known[first.Subscription.ID] {
			c.violated(RuleKey, "subscription %s was acknowledged to two requests, the second to %q", first.Subscription.ID, record.Key)
		}
		known[first.Subscription.ID] = true
		sub, there := listed[first.Subscription.ID]
		switch {
		case there && record.Deleted() != nil:
			c.violated(RuleBack, "subscription %s, deleted at %s, is listed", sub.ID, record.Deleted().Done)
		case there && !sameAnswer(&sub, first.Subscription):
			c.violated(RuleKey, "subscription %s is listed as %+v, was acknowledged as %+v", sub.ID, sub, *first.Subscription)
		case !there && !slices.ContainsFunc(record.Deletes, Attempt.mayBeDone):
			c.violated(RuleLost, "subscription %s to %s, acknowledged at %s, is not listed", first.Subscription.ID, first.Subscription.URL, first.Done)
		}
	}
	c.checkUnknown(listed, known)
}

// checkAnswers holds that every request under one key got one answer.
func (c *checker) checkAnswers(record *SubscribeRecord) {
	first := record.Acked()
	for _, attempt := range record.Attempts {
		switch {
		case attempt.Outcome == Refused:
			c.violated(RuleRefused, "subscribe with key %s: status %d", record.Key, attempt.Status)
		case attempt.Outcome == Acked && !sameAnswer(attempt.Subscription, first.Subscription):
			c.violated(RuleKey, "key %s: answered %+v, at first %+v", record.Key, *attempt.Subscription, *first.Subscription)
		}
	}
	for _, conflict := range record.Conflicts {
		if conflict.Outcome == Acked || conflict.Outcome == Refused && conflict.Status != 409 {
			c.violated(RuleKey, "key %s with another body: status %d, want 409", record.Key, conflict.Status)
		}
	}
	for _, deletion := range record.Deletes {
		if deletion.Outcome == Refused {
			c.violated(RuleRefused, "delete %s: status %d", first.Subscription.ID, deletion.Status)
		}
	}
}

// sameAnswer compares what never changes of a subscription.
func sameAnswer(a, b *api.Subscription) bool {
	return a.ID == b.ID && a.Channel == b.Channel && a.URL == b.URL && a.Sink.Type == b.Sink.Type && a.Sink.URL == b.Sink.URL &&
		a.Created.Equal(b.Created) && a.FromVersion == b.FromVersion
}

// checkUnknown holds that listed subscriptions which no client knows of are what
// requests of unknown outcome left, one at most for each.
func (c *checker) checkUnknown(listed map[string]api.Subscription, known map[string]bool) {
	open := make(map[string]int) // requests of unknown outcome, by what they asked for
	for _, record := range c.Subscribes {
		if record.Acked() == nil && !record.RefusedForSpace() && len(record.Attempts) > 0 {
			open[c.Channels[record.Channel].URL+" "+record.Sink.URL]++
		}
	}
	for id, sub := range listed {
		if known[id] {
			continue
		}
		asked := sub.URL + " " + sub.Sink.URL
		if open[asked]--; open[asked] < 0 {
			c.violated(RuleUnasked, "subscription %s to %s with sink %s %s", id, sub.URL, sub.Sink.Type, sub.Sink.URL)
		}
	}
}

// checkGets holds that each look at a subscription saw what had been acknowledged
// before it was sent.
func (c *checker) checkGets() {
	for _, get := range c.Gets {
		deleted, deleting := get.Subscribe.Deleted(), false
		for _, deletion := range get.Subscribe.Deletes {
			deleting = deleting || deletion.Sent <= get.Done
		}
		id := get.Subscribe.Acked().Subscription.ID
		switch {
		case get.Outcome == Unknown:
		case deleted != nil && deleted.Done < get.Sent && get.Status != 404:
			c.violated(RuleBack, "GET of %s at %s: status %d, deleted at %s", id, get.Sent, get.Status, deleted.Done)
		case !deleting && get.Status != 200:
			c.violated(RuleLost, "GET of %s at %s: status %d", id, get.Sent, get.Status)
		}
	}
}

// checkReads holds that versions only grow, as far as one event surely came
// before another.
func (c *checker) checkReads() {
	highest := make(map[int]uint64) // by channel, seen before the read in hand was sent
	type sighting struct {
		at      Instant
		channel int
		version uint64
	}
	var seen []sighting
	for _, read := range c.Reads {
		seen = append(seen, sighting{read.Done, read.Channel, read.Version})
	}
	for _, delivery := range c.Deliveries {
		if record := c.recordOf(&delivery); record != nil && delivery.Update != nil {
			seen = append(seen, sighting{delivery.At, record.Channel, delivery.Update.Version})
		}
	}
	slices.SortFunc(seen, func(a, b sighting) int { return cmp.Compare(a.at, b.at) })
	reads := slices.SortedFunc(slices.Values(c.Reads), func(a, b VersionRead) int { return cmp.Compare(a.Sent, b.Sent) })
	for _, read := range reads {
		for len(seen) > 0 && seen[0].at < read.Sent {
			highest[seen[0].channel] = max(highest[seen[0].channel], seen[0].version)
			seen = seen[1:]
		}
		if record := c.Channels[read.Channel]; record.Anchored && read.Version < highest[read.Channel] {
			c.violated(RuleForgotten, "%s has version %d at %s, had %d before", record.URL, read.Version, read.Sent, highest[read.Channel])
		}
	}
}

// sameUpdate compares what two witnesses saw of one version.
func sameUpdate(a, b *api.Update) bool { return a == b || reflect.DeepEqual(a, b) }
