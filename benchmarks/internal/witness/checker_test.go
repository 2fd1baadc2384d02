package witness

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/loadgen"
)

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at returns the instant of a second.
func at(seconds float64) Instant { return time.Duration(seconds * float64(time.Second)) }

// anUpdate makes the update of a channel's version, detected at a second, which
// brings some entries.
func anUpdate(number int, url string, version uint64, detected float64, entries ...int) *api.Update {
	update := &api.Update{
		Channel: channel.IDOf(url), URL: url, Version: version, Previous: version - 1,
		DetectedAt: began.Add(at(detected)), Kind: "feed",
		Entries: deltas.Entries{Added: []deltas.Entry{}, Changed: []deltas.Entry{}, Removed: []deltas.Entry{}},
	}
	for _, entry := range entries {
		update.Entries.Added = append(update.Entries.Added, deltas.Entry{Link: entryLink(number, entry)})
	}
	return update
}

// story is a history in which every rule holds, with its parts at hand so that a
// test can spoil one.
type story struct {
	*History
	*Snapshot
	anchor, removed, cut, stream, passing *SubscribeRecord
	updates                               []*api.Update // of channel 0: versions 2, 3, 4
}

const (
	urlKept   = "http://127.0.0.1:1/c/0"
	urlPasses = "http://127.0.0.1:1/c/1"
)

func ack(sent, done float64, id string, record *SubscribeRecord, from uint64) Attempt {
	url := []string{urlKept, urlPasses}[record.Channel]
	return Attempt{Sent: at(sent), Done: at(done), Outcome: Acked, Status: 201, Subscription: &api.Subscription{
		ID: id, Channel: channel.IDOf(url), URL: url, Sink: api.Sink{Type: record.Sink.Type, URL: record.Sink.URL},
		Created: began.Add(at(sent)), FromVersion: from, State: api.StateActive,
	}}
}

func newStory() *story {
	hook := func(label string, channel int) *SubscribeRecord {
		return &SubscribeRecord{Key: "key-" + label, Label: label, Channel: channel, Sink: api.Sink{Type: api.SinkWebhook, URL: "http://sink/" + label}}
	}
	s := &story{anchor: hook("a", 0), removed: hook("b", 0), cut: hook("c", 1), passing: hook("e", 1)}
	s.stream = &SubscribeRecord{Key: "key-d", Channel: 0, Sink: api.Sink{Type: api.SinkSSE}}
	s.anchor.Sink.Secret = "whsec_x"
	s.anchor.Attempts = []Attempt{ack(1, 1.1, "A", s.anchor, 2), ack(1, 1.1, "A", s.anchor, 2)}
	s.anchor.Attempts[1].Sent, s.anchor.Attempts[1].Done = at(4), at(4.1)
	s.anchor.Conflicts = []Attempt{{Sent: at(4.2), Done: at(4.3), Outcome: Refused, Status: 409}}
	s.removed.Attempts = []Attempt{{Sent: at(3), Done: at(3.1)}, ack(3, 3.3, "B", s.removed, 3)}
	s.removed.Deletes = []Attempt{{Sent: at(5.4), Done: at(5.45)}, {Sent: at(5.4), Done: at(5.5), Outcome: Acked, Status: 204}}
	s.cut.Attempts = []Attempt{{Sent: at(3), Done: at(3.1)}}
	s.stream.Attempts = []Attempt{ack(2, 2.1, "D", s.stream, 2)}
	s.passing.Attempts = []Attempt{ack(2, 2.1, "E", s.passing, 2)}
	s.updates = []*api.Update{anUpdate(0, urlKept, 2, 3.2, 3), anUpdate(0, urlKept, 3, 5.2, 4, 5), anUpdate(0, urlKept, 4, 6.2, 6)}
	s.History = &History{
		Began: began,
		Channels: []*ChannelRecord{
			{Number: 0, URL: urlKept, ID: channel.IDOf(urlKept), Anchored: true, FirstSeen: at(2.5),
				Added: []Instant{at(1), at(2), at(3), at(4), at(5), at(6)}},
			{Number: 1, URL: urlPasses, ID: channel.IDOf(urlPasses), Added: []Instant{at(1), at(2)}},
		},
		Subscribes: []*SubscribeRecord{s.anchor, s.removed, s.cut, s.stream, s.passing},
	}
	s.tellDeliveries()
	s.tellStreams()
	s.Gets = []Get{
		{Attempt{Sent: at(4), Done: at(4.1), Outcome: Acked, Status: 200}, s.removed},
		{Attempt{Sent: at(5.4), Done: at(5.6), Outcome: Refused, Status: 404}, s.removed},
		{Attempt{Sent: at(6), Done: at(6.1), Outcome: Refused, Status: 404}, s.removed},
		{Attempt{Sent: at(6), Done: at(6.1), Outcome: Unknown}, s.anchor},
	}
	s.Reads = []VersionRead{{at(2.4), at(2.5), 0, 1}, {at(5), at(5.3), 0, 3}, {at(5.1), at(5.4), 0, 2}, {at(7), at(7.1), 0, 4}, {at(7), at(7.1), 1, 0}}
	s.Snapshot = &Snapshot{
		Listing: []api.Subscription{*s.anchor.Attempts[0].Subscription, *s.stream.Attempts[0].Subscription, *s.passing.Attempts[0].Subscription},
		Channels: map[channel.ID]api.Channel{
			channel.IDOf(urlKept): {Version: 4}, channel.IDOf(urlPasses): {Version: 2},
		},
		Updates: map[channel.ID][]api.Update{channel.IDOf(urlKept): {*s.updates[0], *s.updates[1], *s.updates[2]}},
	}
	return s
}

func (s *story) tellDeliveries() {
	deliver := func(seconds float64, label, id, subscription string, update *api.Update, answer int) {
		s.Deliveries = append(s.Deliveries, Delivery{At: at(seconds), Label: label, WebhookID: id, Signed: true,
			Type: api.MessageUpdated, Subscription: subscription, Update: update, Answer: answer})
	}
	deliver(3.3, "a", "a2", "A", s.updates[0], 500)
	deliver(3.4, "e", "e2", "E", anUpdate(1, urlPasses, 2, 3.3, 2), 200)
	deliver(3.9, "a", "a2", "A", s.updates[0], 200)
	deliver(5.3, "b", "b3", "B", s.updates[1], 200)
	deliver(5.35, "a", "a3", "A", s.updates[1], 200)
	deliver(6.3, "a", "a4", "A", s.updates[2], 200)
	deliver(6.4, "a", "a4", "A", s.updates[2], 200) // killed before it noted the answer
	deliver(6.5, "c", "c2", "C", anUpdate(1, urlPasses, 2, 3.3, 2), 200)
}

func (s *story) tellStreams() {
	event := func(seconds float64, id string, update *api.Update) StreamEvent {
		return StreamEvent{At: at(seconds), Type: api.StreamUpdate, ID: id, Update: update}
	}
	s.Streams = []*StreamRecord{
		{Filter: FilterNone, Established: at(4), Connections: 2, Events: []StreamEvent{
			event(5.3, "x3", s.updates[1]), event(5.4, "y7", anUpdate(1, urlPasses, 7, 5.4, 2)), event(6.3, "x4", s.updates[2])}},
		{Filter: FilterChannel, Channel: 0, Established: at(5.9), Events: []StreamEvent{event(6.3, "x4", s.updates[2])}},
		{Filter: FilterSubscription, Subscribe: s.stream, Established: at(6.9), Events: []StreamEvent{
			event(7, "x2", s.updates[0]), event(7, "x3", s.updates[1]), event(7, "x4", s.updates[2])}},
	}
}

func TestCheckAcceptsWhatHolds(t *testing.T) {
	s := newStory()
	for _, violation := range Check(s.History, s.Snapshot) {
		t.Error(violation)
	}
}

// checkTest spoils a history and says which rule does not hold then.
type checkTest struct {
	name    string
	rule    Rule
	pending bool
	spoil   func(s *story)
}

func (test checkTest) run(t *testing.T, s *story) {
	t.Helper()
	test.spoil(s)
	violations := Check(s.History, s.Snapshot)
	if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == test.rule && v.Pending == test.pending }) {
		t.Errorf("%s: found %v, want %q (pending %t)", test.name, violations, test.rule, test.pending)
	}
}

// A checker that cannot fail is worth nothing: each rule, spoiled in each way
// that it knows.
func TestCheckFindsWhatDoesNot(t *testing.T) {
	tests := []checkTest{
		{"acknowledged, not listed", RuleLost, false, func(s *story) { s.Listing = s.Listing[1:] }},
		{"deletion without a connection, not listed", RuleLost, false, func(s *story) {
			s.anchor.Deletes = []Attempt{{Sent: at(8), Done: at(8), Unsent: true}}
			s.Listing = s.Listing[1:]
		}},
		{"acknowledged, GET says 404", RuleLost, false, func(s *story) { s.Gets[0].Status = 404 }},
		{"deleted, listed", RuleBack, false, func(s *story) { s.Listing = append(s.Listing, *s.removed.Attempts[1].Subscription) }},
		{"deleted, GET says 200", RuleBack, false, func(s *story) { s.Gets[2].Status = 200 }},
		{"a key answered with two IDs", RuleKey, false, func(s *story) { s.anchor.Attempts[1].Subscription.ID = "A'" }},
		{"a key answered with another from_version", RuleKey, false, func(s *story) { s.anchor.Attempts[1].Subscription.FromVersion = 4 }},
		{"an ID given to two keys", RuleKey, false, func(s *story) { s.passing.Attempts[0].Subscription.ID = "D" }},
		{"a key taken for another body", RuleKey, false, func(s *story) { s.anchor.Conflicts[0] = Attempt{Outcome: Acked, Status: 201} }},
		{"another body refused for another reason", RuleKey, false, func(s *story) { s.anchor.Conflicts[0].Status = 400 }},
		{"listed with another URL", RuleKey, false, func(s *story) { s.Listing[0].URL = urlPasses }},
		{"listed twice", RuleKey, false, func(s *story) { s.Listing = append(s.Listing, s.Listing[0]) }},
		{"a sink of one key with two subscriptions", RuleKey, false, func(s *story) {
			another := s.Deliveries[7]
			another.WebhookID, another.Subscription = "c2'", "C'"
			s.Deliveries = append(s.Deliveries, another)
		}},
		{"delivered under another ID than acknowledged", RuleKey, false, func(s *story) { s.Deliveries[1].Subscription = "E'" }},
		{"listed, and never asked for", RuleUnasked, false, func(s *story) {
			s.Listing = append(s.Listing, api.Subscription{ID: "F", URL: urlKept, Sink: api.Sink{Type: api.SinkSSE}})
		}},
		{"two of one unknown outcome", RuleUnasked, false, func(s *story) {
			left := ack(3, 3, "C", s.cut, 2).Subscription
			again := *left
			again.ID = "C'"
			s.Listing = append(s.Listing, *left, again)
		}},
		{"a message to an unknown label", RuleUnasked, false, func(s *story) { s.Deliveries[0].Label = "z" }},
		{"an update of another channel", RuleUnasked, false, func(s *story) { s.Deliveries[1].Update = s.updates[0] }},
		{"an event of another channel", RuleUnasked, false, func(s *story) { s.Streams[1].Events[0].Update = anUpdate(1, urlPasses, 4, 6, 1) }},
		{"subscribing refused", RuleRefused, false, func(s *story) { s.cut.Attempts[0] = Attempt{Outcome: Refused, Status: 400} }},
		{"deleting refused", RuleRefused, false, func(s *story) { s.removed.Deletes[0] = Attempt{Outcome: Refused, Status: 404} }},
		{"a version left out", RuleOrder, false, func(s *story) { s.Deliveries = slices.Delete(s.Deliveries, 4, 5) }},
		{"the first version left out", RuleOrder, false, func(s *story) { s.Deliveries = s.Deliveries[3:] }},
		{"versions in another order", RuleOrder, false, func(s *story) { s.Deliveries[4], s.Deliveries[5] = s.Deliveries[5], s.Deliveries[4] }},
		{"before from_version", RuleOrder, false, func(s *story) {
			early := s.Deliveries[2]
			early.Label, early.WebhookID, early.Subscription = "b", "b2", "B"
			s.Deliveries = slices.Insert(s.Deliveries, 3, early)
		}},
		{"the last version has not arrived", RuleUndelivered, true, func(s *story) { s.Deliveries = slices.Delete(s.Deliveries, 5, 7) }},
		{"arrived, but answered 500 alone", RuleUndelivered, true, func(s *story) { s.Deliveries[5].Answer, s.Deliveries[6].Answer = 500, 500 }},
		{"never polled", RuleUndelivered, true, func(s *story) {
			s.Snapshot.Channels[channel.IDOf(urlPasses)] = api.Channel{}
			s.Deliveries = slices.Delete(s.Deliveries, 1, 2)
		}},
		{"suspended", RuleUndelivered, true, func(s *story) { s.Listing[0].State = api.StateSuspended }},
		{"a version that reached no witness", RuleUndelivered, true, func(s *story) {
			kept := channel.IDOf(urlKept)
			s.Snapshot.Channels[kept] = api.Channel{Version: 5}
		}},
		{"a version under two IDs", RuleID, false, func(s *story) { s.Deliveries[6].WebhookID = "a5" }},
		{"an ID of two versions", RuleID, false, func(s *story) { s.Deliveries[4].WebhookID = "a2" }},
		{"an ID of two subscriptions", RuleID, false, func(s *story) { s.Deliveries[4].WebhookID = "b3" }},
		{"no ID", RuleID, false, func(s *story) { s.Deliveries[3].WebhookID = "" }},
		{"one body, then another", RuleBody, false, func(s *story) { s.Deliveries[6].Update = anUpdate(0, urlKept, 4, 6.2, 5) }},
		{"one body to a webhook, another to a stream", RuleBody, false, func(s *story) { s.Streams[0].Events[0].Update = anUpdate(0, urlKept, 3, 5.2, 4) }},
		{"one body to sinks, another by the API", RuleBody, false, func(s *story) { s.Updates[channel.IDOf(urlKept)][0].Diff = "+x" }},
		{"two bodies to one subscription of a channel that ends", RuleBody, false, func(s *story) {
			another := s.Deliveries[1]
			another.Update = anUpdate(1, urlPasses, 2, 3.3, 1)
			s.Deliveries = append(s.Deliveries, another)
		}},
		{"detected after the deletion", RuleAfter, false, func(s *story) {
			late := s.Deliveries[5]
			late.Label, late.WebhookID, late.Subscription = "b", "b4", "B"
			s.Deliveries = append(s.Deliveries, late)
		}},
		{"a gap", RuleKind, false, func(s *story) { s.Deliveries[6].Type, s.Deliveries[6].Update = api.MessageGap, nil }},
		{"a stream's reset", RuleKind, false, func(s *story) {
			s.Streams[1].Events = append(s.Streams[1].Events, StreamEvent{Type: api.StreamReset, ID: "r"})
		}},
		{"not signed", RuleSigned, false, func(s *story) { s.Deliveries[0].Signed = false }},
		{"a stream repeats a version", RuleStream, false, func(s *story) {
			again := s.Streams[0].Events[0]
			again.ID = "x3'"
			s.Streams[0].Events = slices.Insert(s.Streams[0].Events, 1, again)
		}},
		{"a stream repeats an event ID", RuleStream, false, func(s *story) { s.Streams[0].Events[2].ID = "x3" }},
		{"a stream leaves a version out", RuleStream, false, func(s *story) { s.Streams[2].Events = slices.Delete(s.Streams[2].Events, 1, 2) }},
		{"a subscription's stream begins late", RuleStream, false, func(s *story) { s.Streams[2].Events = s.Streams[2].Events[1:] }},
		{"a channel's stream begins late", RuleStream, false, func(s *story) { s.Streams[0].Events = s.Streams[0].Events[1:] }},
		{"a stream lacks the last version", RuleStream, true, func(s *story) { s.Streams[1].Events = nil }},
		{"a stream never answered", RuleStream, true, func(s *story) { s.Streams[1].Established = 0 }},
		{"an entry in two versions", RuleEntry, false, func(s *story) { s.updates[2].Entries.Added[0].Link = entryLink(0, 5); s.spoilAPI() }},
		{"an entry in no version", RuleEntry, false, func(s *story) { s.updates[1].Entries.Added = s.updates[1].Entries.Added[1:]; s.spoilAPI() }},
		{"an entry lost right after the first content", RuleEntry, false, func(s *story) { s.updates[0].Entries.Added[0].Link = entryLink(0, 4); s.spoilAPI() }},
		{"an entry that the origin never had", RuleEntry, false, func(s *story) { s.updates[2].Entries.Added[0].Link = entryLink(0, 7); s.spoilAPI() }},
		{"an entry of another channel", RuleEntry, false, func(s *story) { s.updates[2].Entries.Added[0].Link = entryLink(1, 6); s.spoilAPI() }},
		{"a removal that never was", RuleEntry, false, func(s *story) {
			s.updates[2].Entries.Removed = append(s.updates[2].Entries.Removed, deltas.Entry{Link: entryLink(0, 1)})
			s.spoilAPI()
		}},
		{"a version of nothing", RuleEntry, false, func(s *story) { s.updates[1].Entries.Added = nil; s.spoilAPI() }},
		{"a version that skips one", RuleEntry, false, func(s *story) { s.updates[2].Previous = 2; s.spoilAPI() }},
		{"the last change hidden by a 304", RuleChange, true, func(s *story) { s.History.Channels[0].Added = append(s.History.Channels[0].Added, at(6.5)) }},
		{"the only change hidden by a 304", RuleChange, true, func(s *story) {
			never := *s.History.Channels[0]
			never.URL, never.ID, never.Added, never.FirstSeen = "http://n", channel.IDOf("http://n"), []Instant{at(1), at(3)}, at(2)
			s.History.Channels = append(s.History.Channels, &never)
			s.Snapshot.Channels[never.ID] = api.Channel{Version: 1}
		}},
		{"no first content", RuleChange, true, func(s *story) { s.History.Channels[0].FirstSeen = 0 }},
		{"the first content, delivered", RuleOrder, false, func(s *story) {
			first := anUpdate(0, urlKept, 1, 2.4, 1)
			s.Updates[first.Channel] = append(s.Updates[first.Channel], *first)
		}},
		{"a delivered version above the channel's", RuleForgotten, true, func(s *story) {
			kept := channel.IDOf(urlKept)
			s.Snapshot.Channels[kept] = api.Channel{Version: 3}
		}},
		{"a version that falls", RuleForgotten, false, func(s *story) { s.Reads[3].Version = 2 }},
		{"a version below what had arrived", RuleForgotten, false, func(s *story) { s.Reads[1] = VersionRead{at(5.5), at(5.6), 0, 2} }},
	}
	found := make(map[Rule]bool)
	for _, test := range tests {
		test.run(t, newStory())
		found[test.rule] = true
	}
	for _, test := range faultTests {
		found[test.rule] = true
	}
	for _, rule := range Rules {
		if !found[rule] {
			t.Errorf("no test violates the rule %q", rule)
		}
	}
}

// spoilAPI shows by the API what was changed in s.updates, so that all witnesses
// agree.
func (s *story) spoilAPI() {
	shown := s.Updates[channel.IDOf(urlKept)]
	for i, update := range s.updates {
		shown[i] = *update
	}
}

func entryLink(channel, entry int) string { return loadgen.EntryLink(channel, int64(entry)) }

func TestEntryLinks(t *testing.T) {
	if entry, ok := entryOf(3, deltas.Entry{Link: entryLink(3, 17)}); !ok || entry != 17 {
		t.Errorf("entryOf(entryLink) = %d, %t", entry, ok)
	}
	for _, link := range []string{"", "17", entryLink(4, 17), entryLink(3, 17) + "/0", " " + entryLink(3, 1)} {
		if entry, ok := entryOf(3, deltas.Entry{Link: link}); ok {
			t.Errorf("%q is entry %d of channel 3", link, entry)
		}
	}
}

func TestCount(t *testing.T) {
	s := newStory()
	s.Ends = []Instant{at(3.35), at(6.38), at(9)}
	// Version 4 came again after the kill at 6.38 s, 80 ms after its answer.
	want := Counts{Acked: 4, Deleted: 1, Cut: 3, Versions: 4, Deliveries: 8, Repeats: 1, Forgotten: at(6.38) - at(6.3), Events: 7, Connections: 2}
	if got := Count(s.History); got != want {
		t.Errorf("count = %+v, want %+v", got, want)
	}
	s.Ends = s.Ends[2:]
	if got := Count(s.History); got.Needless != 1 || got.Forgotten != 0 {
		t.Errorf("without a kill between: %+v, want one needless repeat", got)
	}
}

// A reader gives up when its subscription is to be Deleted: on a loaded machine, or
// while no process serves, before it was answered once.
func TestCheckExcusesStreamGivenUp(t *testing.T) {
	s := newStory()
	gone := &SubscribeRecord{Key: "key-f", Channel: 0, Sink: s.stream.Sink}
	gone.Attempts = []Attempt{ack(6, 6.1, "F", gone, 5)}
	gone.Deletes = []Attempt{{Sent: at(6.2), Done: at(6.3), Outcome: Acked, Status: 204}}
	s.Subscribes = append(s.Subscribes, gone)
	s.Streams = append(s.Streams, &StreamRecord{Filter: FilterSubscription, Subscribe: gone})
	for _, violation := range Check(s.History, s.Snapshot) {
		t.Error(violation)
	}
	gone.Deletes = nil
	s.Listing = append(s.Listing, *gone.Attempts[0].Subscription)
	if found := Check(s.History, s.Snapshot); len(found) != 1 || found[0].Rule != RuleStream || !found[0].Pending {
		t.Errorf("a stream that is not given up: %v", found)
	}
}
