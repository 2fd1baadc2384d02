package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/child"
)

// What a failed run shows, at most.
const (
	timelineMost = 12       // ends of processes and faults
	eventsMost   = 12       // of one subscription or channel
	nodeLogMost  = 16 << 10 // bytes
	straceMost   = 8 << 10  // bytes
)

// explain prints what is needed to understand why a run failed: how to repeat it,
// what the processes went through last, and the ends of the node's and strace's
// logs. What a rule's violation is about, tell has printed.
func (r *run) explain(err error, folder string) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintln(r.out, "to repeat:", r.command())
	var lines []string
	r.recorder.with(func(h *History) { lines = timeline(h) })
	printLines(r.out, "the last ends and faults of processes", lines)
	if !errors.Is(err, child.ErrEnded) { // which shows the log
		printTail(r.out, filepath.Join(folder, nodeLog), nodeLogMost)
	}
	if len(r.kinds) > 1 || !slices.Contains(r.kinds, KindKill) {
		printTail(r.out, filepath.Join(folder, straceLog), straceMost)
	}
}

// command is the command line of the run.
func (o *options) command() string {
	return fmt.Sprintf("go run ./benchmarks/crash -kills %d -seed %d -faults %s", o.kills, o.seed, strings.Join(o.kinds, ","))
}

func printTail(out io.Writer, name string, most int64) {
	tail, err := child.Tail(name, most)
	if err != nil {
		tail = err.Error()
	}
	printLines(out, "the end of "+name, strings.Split(strings.TrimSuffix(tail, "\n"), "\n"))
}

func printLines(out io.Writer, title string, lines []string) {
	fmt.Fprintf(out, "%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(out, "  | %s\n", line)
	}
}

// dated is a line about an instant.
type dated struct {
	at   Instant
	line string
}

// last returns the newest lines, the oldest of them first, with their instants.
func last(most int, events []dated) (lines []string) {
	slices.SortStableFunc(events, func(a, b dated) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events[max(0, len(events)-most):] {
		lines = append(lines, fmt.Sprintf("%9s %s", e.at.Round(time.Millisecond), e.line))
	}
	return lines
}

// timeline tells of the last faults and ends of processes.
func timeline(h *History) []string {
	var events []dated
	for _, end := range h.Ends {
		events = append(events, dated{end, "a process has ended"})
	}
	for _, fault := range h.Faults {
		events = append(events, dated{fault.From, faultLine(fault)})
	}
	return last(timelineMost, events)
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
		if acked := record.acked(); named[record.Key] || record.Label != "" && named[record.Label] || acked != nil && named[acked.Subscription.ID] {
			lines = append(lines, last(eventsMost, subscriptionEvents(h, record))...)
		}
	}
	for _, record := range h.Channels {
		if named[record.URL] {
			lines = append(lines, last(eventsMost, channelEvents(h, record))...)
		}
	}
	return lines
}

func subscriptionEvents(h *History, record *SubscribeRecord) (events []dated) {
	add := func(what string, attempts ...Attempt) {
		for _, a := range attempts {
			events = append(events, dated{a.Sent, fmt.Sprintf("%s: %s, answered %d at %s", record.Key, what, a.Status, a.Done.Round(time.Millisecond))})
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
		if record.Label != "" && d.Label == record.Label {
			events = append(events, dated{d.At, fmt.Sprintf("%s: webhook %s of %s%s, answered %d", record.Key, d.WebhookID, d.Subscription, versionOf(d), d.Answer)})
		}
	}
	return events
}

func versionOf(d Delivery) string {
	if d.Update == nil {
		return " (" + d.Type + ")"
	}
	return fmt.Sprintf(", version %d", d.Update.Version)
}

func channelEvents(h *History, record *ChannelRecord) (events []dated) {
	for _, read := range h.Reads {
		if read.Channel == record.Number {
			events = append(events, dated{read.Sent, fmt.Sprintf("%s: read version %d", record.URL, read.Version)})
		}
	}
	for _, d := range h.Deliveries {
		if d.Update != nil && d.Update.Channel == record.ID {
			events = append(events, dated{d.At, fmt.Sprintf("%s: version %d to %s, detected at %s", record.URL, d.Update.Version, d.Label, d.Update.DetectedAt.Sub(h.Began).Round(time.Millisecond))})
		}
	}
	for i, added := range record.Added {
		events = append(events, dated{added, fmt.Sprintf("%s: entry %d added", record.URL, i+1)})
	}
	return events
}
