package witness

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/child"
)

// What a failed run shows, at most.
const (
	timelineMost = 12 // ends of processes and faults
	eventsMost   = 12 // of one subscription or channel
)

// Final reports whether waiting cannot help.
func Final(violations []Violation) bool {
	return slices.ContainsFunc(violations, func(v Violation) bool { return !v.Pending })
}

// Tell prints some violations of each rule, the first with what was seen of what it is
// about: if there are any that waiting cannot help, those alone. It returns how many
// there are of these.
func (r *Recorder) Tell(out io.Writer, violations []Violation) int {
	const most = 5
	if Final(violations) {
		violations = slices.DeleteFunc(slices.Clone(violations), func(v Violation) bool { return v.Pending })
	}
	told := make(map[Rule]int)
	for _, violation := range violations {
		if told[violation.Rule]++; told[violation.Rule] <= most {
			fmt.Fprintln(out, violation)
		}
		if told[violation.Rule] == 1 {
			var events []string
			r.With(func(h *History) { events = eventsOf(h, violation) })
			PrintLines(out, "what was seen of it", events)
		}
	}
	return len(violations)
}

// PrintTail prints the last whole lines of a file, so many bytes at most.
func PrintTail(out io.Writer, name string, most int64) {
	tail, err := child.Tail(name, most)
	if err != nil {
		tail = err.Error()
	}
	PrintLines(out, "the end of "+name, strings.Split(strings.TrimSuffix(tail, "\n"), "\n"))
}

// PrintLines prints lines below a title.
func PrintLines(out io.Writer, title string, lines []string) {
	fmt.Fprintf(out, "%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(out, "  | %s\n", line)
	}
}

// Dated is a line about an instant.
type Dated struct {
	At   Instant
	Line string
}

// Last returns the newest lines, the oldest of them first, with their instants.
func Last(most int, events []Dated) (lines []string) {
	slices.SortStableFunc(events, func(a, b Dated) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events[max(0, len(events)-most):] {
		lines = append(lines, fmt.Sprintf("%9s %s", e.At.Round(time.Millisecond), e.Line))
	}
	return lines
}

// Timeline tells of the last faults and ends of processes.
func Timeline(h *History) []string {
	var events []Dated
	for _, end := range h.Ends {
		events = append(events, Dated{end, "a process has ended"})
	}
	for _, fault := range h.Faults {
		events = append(events, Dated{fault.From, faultLine(fault)})
	}
	return Last(timelineMost, events)
}

func faultLine(f *Fault) string {
	line := fmt.Sprintf("%s until %s", f.Kind, f.To.Round(time.Millisecond))
	if len(f.Hits) > 0 {
		line += fmt.Sprintf(", %d calls hit from %s on: %s of %s", len(f.Hits), f.Hits[0].At.Round(time.Millisecond), f.Hits[0].Call, f.Hits[0].Path)
	}
	if f.Ended > 0 {
		line += fmt.Sprintf("; ended the process at %s with code %d: %s", f.Ended.Round(time.Millisecond), f.Code, f.Said)
	}
	return line
}

// eventsOf returns what was seen of the subscriptions and channels that a
// violation names, by key, label, ID or URL.
func eventsOf(h *History, v Violation) (lines []string) {
	named := make(map[string]bool)
	for _, word := range strings.FieldsFunc(v.Detail, func(c rune) bool { return strings.ContainsRune(" ,;\"", c) }) {
		named[strings.TrimRight(word, ":")] = true
	}
	for _, record := range h.Subscribes {
		if acked := record.Acked(); named[record.Key] || record.Label != "" && named[record.Label] || acked != nil && named[acked.Subscription.ID] {
			lines = append(lines, Last(eventsMost, subscriptionEvents(h, record))...)
		}
	}
	for _, record := range h.Channels {
		if named[record.URL] {
			lines = append(lines, Last(eventsMost, channelEvents(h, record))...)
		}
	}
	return lines
}

func subscriptionEvents(h *History, record *SubscribeRecord) (events []Dated) {
	add := func(what string, attempts ...Attempt) {
		for _, a := range attempts {
			events = append(events, Dated{a.Sent, fmt.Sprintf("%s: %s, answered %d at %s", record.Key, what, a.Status, a.Done.Round(time.Millisecond))})
		}
	}
	add("subscribe", record.Attempts...)
	add("subscribe to another channel", record.Conflicts...)
	add("unsubscribe", record.Deletes...)
	for _, get := range h.Gets {
		if get.Subscribe == record {
			add("look", get.Attempt)
		}
	}
	for _, d := range h.Deliveries {
		ofOne := record.Endpoint == "" && record.Label != "" && d.Label == record.Label
		ofSeveral := record.Endpoint != "" && d.Label == record.Endpoint && record.Acked() != nil && d.Subscription == record.Acked().Subscription.ID
		if ofOne || ofSeveral {
			events = append(events, Dated{d.At, fmt.Sprintf("%s: webhook %s of %s%s, answered %d", record.Key, d.WebhookID, d.Subscription, versionOf(d), d.Answer)})
		}
	}
	return events
}

func versionOf(d Delivery) string {
	if d.Gap != nil {
		return fmt.Sprintf(", gap %d to %d", d.Gap.From, d.Gap.To)
	}
	if d.Update == nil {
		return " (" + d.Type + ")"
	}
	return fmt.Sprintf(", version %d", d.Update.Version)
}

func channelEvents(h *History, record *ChannelRecord) (events []Dated) {
	for _, read := range h.Reads {
		if read.Channel == record.Number {
			events = append(events, Dated{read.Sent, fmt.Sprintf("%s: read version %d", record.URL, read.Version)})
		}
	}
	for _, d := range h.Deliveries {
		if d.Update != nil && d.Update.Channel == record.ID {
			events = append(events, Dated{d.At, fmt.Sprintf("%s: version %d to %s, detected at %s", record.URL, d.Update.Version, d.Label, d.Update.DetectedAt.Sub(h.Began).Round(time.Millisecond))})
		}
	}
	for i, added := range record.Added {
		events = append(events, Dated{added, fmt.Sprintf("%s: entry %d added", record.URL, i+1)})
	}
	return events
}
