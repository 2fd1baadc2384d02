//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
)

// The rules beside those of the witnesses.
const (
	ruleLinearizable = "per channel, subscribe, unsubscribe and list are linearizable"
	ruleDecided      = "less than one history in a hundred is undecided"
	ruleStuck        = "30 s after the last fault every node takes writes for every range"
	ruleAnswers      = "while clients ask, no 30 s pass without an acknowledgement"
	ruleMended       = "with outages over, every shared endpoint takes a test message"
	ruleFloor        = "no two polls of a channel by one node come under the floor"
	rulePlaced       = "each range has all replicas again, and each node that joined has some, in time after the last fault"
	ruleRemoved      = "a node that was removed has nothing of any range, nor any node of a range that it has no replica of"
	ruleDamage       = "what a disk has lost or changed is found, and filled again or said"
	ruleStates       = "all replicas of a range have the same state at the same entry"
)

// ownRules are the rules beside those of the witnesses.
var ownRules = []string{ruleLinearizable, ruleDecided, ruleStuck, ruleAnswers, ruleMended, ruleFloor, rulePlaced, ruleRemoved, ruleDamage, ruleStates}

func printRules(out io.Writer) {
	for _, rule := range slices.Concat(witness.Rules, witness.SharedRules) {
		fmt.Fprintln(out, rule)
	}
	for _, rule := range ownRules {
		fmt.Fprintln(out, rule)
	}
}

// decideWithin bounds the search for an order of one channel's history.
const decideWithin = 10 * time.Second

// linearizable checks the ledger.
func (r *run) linearizable() error {
	report := r.ledger.history.Check(decideWithin)
	fmt.Fprintf(r.out, "          %d histories of %d requests, %d of unknown outcome: %d not linearizable, %d undecided\n",
		report.Channels, report.Operations, report.Unknown, len(report.Violations), len(report.Undecided))
	for i, violation := range report.Violations {
		name := filepath.Join(r.folder, fmt.Sprintf("history-%d.html", i))
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := errors.Join(violation.Visualize(file), file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(r.out, "violated: %s: %s\n  shown by %s\n", ruleLinearizable, violation, name)
	}
	if len(report.Violations) > 0 {
		return fmt.Errorf("%w: %s", errViolated, ruleLinearizable)
	}
	if 100*len(report.Undecided) >= max(report.Channels, 100) {
		return fmt.Errorf("%w: %s: %d of %d", errViolated, ruleDecided, len(report.Undecided), report.Channels)
	}
	return nil
}

// politely checks the polls.
func (r *run) politely() error {
	early, closest := r.polls.Early(pollFloor)
	fmt.Fprintf(r.out, "          no two polls of a channel closer than %s\n", closest.Round(time.Millisecond))
	if len(early) > 0 {
		witness.PrintLines(r.out, fmt.Sprintf("violated: %s: %d times", ruleFloor, len(early)), early[:min(len(early), 10)])
		return fmt.Errorf("%w: %s", errViolated, ruleFloor)
	}
	return nil
}

// answered holds that whatever happens some writes are acknowledged.
func (r *run) answered() error {
	silent := r.withoutAnswer()
	fmt.Fprintf(r.out, "          never longer than %s without an acknowledgement\n", silent.Round(time.Millisecond))
	if silent > stuckAfter {
		return fmt.Errorf("%w: %s: %s", errViolated, ruleAnswers, silent)
	}
	return nil
}

// withoutAnswer returns the longest time that passed without an acknowledgement while clients
// asked.
func (r *run) withoutAnswer() (longest time.Duration) {
	acked := slices.Clone(r.asking[:])
	r.recorder.With(func(h *witness.History) {
		for _, record := range h.Subscribes {
			for _, a := range slices.Concat(record.Attempts, record.Deletes) {
				if a.Outcome == witness.Acked && a.Done > r.asking[0] && a.Done < r.asking[1] {
					acked = append(acked, a.Done)
				}
			}
		}
	})
	slices.Sort(acked)
	for i := range acked[1:] {
		longest = max(longest, acked[i+1]-acked[i])
	}
	return longest
}

// soon is how long after the beginning of a fault an acknowledgement counts as close to
// it.
const soon = 5 * time.Second

// tellCounts prints a seed's counts.
func (r *run) tellCounts(k *record) {
	var counts witness.Counts
	r.recorder.With(func(h *witness.History) { counts = witness.Count(h) })
	fmt.Fprintf(r.out, "          %d faults, %d acknowledgements, %d of them within %s of a fault; %d requests cut\n",
		k.Faults, k.Acked, k.Near, soon, counts.Cut)
	if silent := r.silent(); len(silent) > 0 {
		witness.PrintLines(r.out, fmt.Sprintf("%d requests had no answer within %s, of nodes that nothing had happened to", len(silent), answerWithin), silent[:min(len(silent), 5)])
	}
	fmt.Fprintf(r.out, "          %d webhooks of %d versions, %d of them repeated; %d events over %d connections of streams; %d polls\n",
		counts.Deliveries, counts.Versions, counts.Repeats, counts.Events, counts.Connections, r.polls.Count())
	r.tellOutages()
	if k.Failed == "" {
		fmt.Fprintf(r.out, "          %d rules hold; %s\n", len(witness.Rules)+len(witness.SharedRules)+len(ownRules), time.Duration(k.Seconds*float64(time.Second)).Round(time.Second))
	}
}

// tellOutages prints what outages had their endpoints bear.
func (r *run) tellOutages() {
	var strains []witness.Strain
	gaps := make(map[string]bool)
	r.recorder.With(func(h *witness.History) {
		strains = witness.Strains(h)
		for _, d := range h.Deliveries {
			if d.Gap != nil && d.Answer == http.StatusOK {
				gaps[d.WebhookID] = true
			}
		}
	})
	requests, later, limit := 0, 0, 0
	var lasted time.Duration
	var lines []string
	for _, s := range strains {
		lines = append(lines, s.String())
		requests, later, limit, lasted = requests+s.Requests, later+s.Later, limit+s.Limit(), lasted+s.To-s.From
	}
	witness.PrintLines(r.out, "outages", lines)
	fmt.Fprintf(r.out, "          %d outages of %d shared endpoints, %s in all: %d requests, %d of them later than the first ones of each process, of at most %d; %d gaps\n",
		len(strains), sharedEndpoints, lasted.Round(time.Second), requests, later, limit, len(gaps))
}

// silent returns a line for each write that a node, while nothing happened to its
// process, did not answer in time, though 503 is promised within 5 s. It is told and no
// rule: a loaded machine may be as slow.
func (r *run) silent() (lines []string) {
	look := func(key string, attempts []witness.Attempt) {
		for _, a := range attempts {
			if a.Status != 0 || a.Unsent || a.Done-a.Sent < answerWithin {
				continue
			}
			name := r.cluster.Nodes[a.Node].Name
			if !slices.ContainsFunc(r.faults, func(f *fault) bool {
				return f.concerns(name) && f.from <= a.Done && f.to >= a.Sent-afterStop
			}) {
				lines = append(lines, fmt.Sprintf("%s, asked of %s at %s", key, name, a.Sent.Round(time.Millisecond)))
			}
		}
	}
	r.recorder.With(func(h *witness.History) {
		for _, record := range h.Subscribes {
			look("subscribe "+record.Label, record.Attempts)
			look("unsubscribe "+record.Label, record.Deletes)
		}
	})
	return lines
}

// afterStop is how long after a fault of its process a node may be silent.
const afterStop = 2 * time.Second

// logMost is how much of each node's log a failed run shows, in bytes.
const logMost = 6 << 10

// explain prints what is needed to understand why a seed failed.
func (r *run) explain(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintf(r.out, "FAILED: %v\nto try again: %s\n", err, r.again)
	var lines []string
	for _, f := range r.faults {
		lines = append(lines, fmt.Sprintf("%9s %s", f.from.Round(time.Millisecond), f))
	}
	witness.PrintLines(r.out, "faults", lines)
	if r.cluster == nil {
		return
	}
	for _, node := range r.cluster.Nodes {
		witness.PrintTail(r.out, node.LogName(), logMost)
	}
	fmt.Fprintln(r.out, "data and logs:", strings.TrimSpace(r.folder))
}
