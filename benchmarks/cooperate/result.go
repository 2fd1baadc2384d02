//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
)

// result is what a run found.
type result struct {
	Nodes         int     `json:"nodes"`
	Channels      int     `json:"channels"`
	Hosts         int     `json:"hosts"`
	Subscriptions int     `json:"subscriptions"`
	IntervalS     float64 `json:"interval_s"`
	FloorS        float64 `json:"floor_s"`
	MaintenanceS  float64 `json:"maintenance_s"`
	HostGapS      float64 `json:"host_gap_s"`
	ChangesPerS   float64 `json:"changes_per_s"`
	Seed          uint64  `json:"seed"`

	Polls     int                `json:"polls"`
	Phases    []phaseResult      `json:"phases,omitempty"`
	Course    []point            `json:"course,omitempty"`
	Figures   map[string]float64 `json:"figures,omitempty"`
	Widths    []stage            `json:"widths,omitempty"`
	Beside    []beside           `json:"beside,omitempty"`
	Moments   []moment           `json:"moments,omitempty"`
	Settlings []settling         `json:"settlings,omitempty"`
	Rules     []rule             `json:"rules"`

	notes []string // what is said and not judged
}

// phaseResult is how waits and loads were in a phase.
type phaseResult struct {
	Name      string  `json:"name"`
	FromS     float64 `json:"from_s"` // since all was settled
	Seconds   float64 `json:"s"`
	WaitS     float64 `json:"wait_s"` // by the times of polls, over subscribers
	PlannedS  float64 `json:"planned_s"`
	BoundS    float64 `json:"bound_s"`
	Ratio     float64 `json:"ratio"` // wait to planned
	Polls     float64 `json:"polls_per_interval"`
	Planned   float64 `json:"planned_per_interval"`
	Changes   int     `json:"changes_seen"`
	ChangesS  float64 `json:"changes_wait_s"` // mean, over changes that happened
	Answers   float64 `json:"full_answers_per_change"`
	Unwatched float64 `json:"unwatched,omitempty"` // part of the subscribers whose channel was not polled any more
	Judged    bool    `json:"judged"`
}

// point is how long changes waited at a time of the run.
type point struct {
	AtS      float64 `json:"at_s"`
	WaitS    float64 `json:"wait_s"`
	PlannedS float64 `json:"planned_s"`
	BoundS   float64 `json:"bound_s"`
}

// rule is a figure with its limit, and what breaks it.
type rule struct {
	Name  string   `json:"name"`
	Limit float64  `json:"limit"`
	Least bool     `json:"least,omitempty"` // the value must not be below the limit, rather than above
	Value float64  `json:"value"`
	OK    bool     `json:"ok"`
	Lines []string `json:"lines,omitempty"`
}

func newResult(o *options) *result {
	return &result{
		Nodes: o.nodes, Channels: o.channels, Hosts: o.hosts, Subscriptions: o.subscriptions, IntervalS: o.interval.Seconds(),
		FloorS: o.floor.Seconds(), MaintenanceS: o.maintenance.Seconds(), HostGapS: o.gap.Seconds(), ChangesPerS: o.changes,
		Seed: o.seed, Figures: make(map[string]float64),
	}
}

// none is a rule that nothing may break.
func (r *result) none(name string, lines []string) {
	r.Rules = append(r.Rules, rule{Name: name, Value: float64(len(lines)), OK: len(lines) == 0, Lines: lines[:min(len(lines), 10)]})
}

// most is a rule that a value must not be above a limit; what is no number is.
func (r *result) most(name string, value, limit float64) {
	r.Rules = append(r.Rules, rule{Name: name, Limit: limit, Value: value, OK: value <= limit})
}

// least is a rule that a value must not be below a limit.
func (r *result) least(name string, value, limit float64) {
	r.Rules = append(r.Rules, rule{Name: name, Limit: limit, Least: true, Value: value, OK: value >= limit})
}

func (r *result) holds() bool {
	for _, one := range r.Rules {
		if !one.OK {
			return false
		}
	}
	return len(r.Rules) > 0
}

func (r *result) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// The limits.
const (
	mostWait       = 1.05
	mostWidthOff   = 0.10
	mostAnswers    = 1.1
	mostDelta      = 0.02
	mostBusiest    = 1.25
	mostProcessor  = 1.15
	courseStep     = 5 * time.Second
	roundingOfPlan = 1e-6
)

// chance is by what part the polls of an interval may differ from the plan since phases are
// random: each channel's by half a poll, standard deviation; thrice that of all together.
func chance(channels, polls int) float64 {
	return 1.5 * math.Sqrt(float64(channels)) / float64(max(polls, 1))
}

// judge compares what several nodes did with the rules.
func (r *result) judge(run *run, f *found) {
	r.Polls = len(f.polls)
	early, closest := run.origin.log.Early(run.floor)
	r.none("polls of a channel by an address under the floor", early)
	if closest < time.Hour {
		r.note("no two polls of a channel by an address closer than %s", closest.Round(time.Millisecond))
	}
	r.none("hosts over their cap", overCaps(run.places, f.polls, run.interval, int(run.interval/run.gap)))
	r.judgeLoad(run, f)
	r.noteLoads(run, f)
	r.judgeWaits(run, f)
	r.judgeTold(run, f)
	r.judgeCosts(run, f)
}

func (r *result) judgeLoad(run *run, f *found) {
	budget := run.subscriptions
	r.most("planned polls per interval, to the budget", run.plan.most(f.all), 1+roundingOfPlan)
	most := 0
	for _, n := range loads(f.polls, f.all, run.interval) {
		most = max(most, n)
	}
	r.most("polls made in any interval, to the budget", float64(most)/float64(budget), 1+chance(run.channels, budget))
}

// judgeWaits compares the waits of each phase with those planned.
func (r *result) judgeWaits(run *run, f *found) {
	times := newTimeline(run.channels, f.polls)
	for _, p := range f.phases {
		planned := run.plan.over(p.span)
		wait, left := times.waits(run.places, p.from, p.to)
		one := phaseResult{
			Name: p.name, FromS: (p.from - f.all.from).Seconds(), Seconds: p.length().Seconds(), Judged: p.judged, Unwatched: left,
			WaitS: wait.Seconds(), PlannedS: planned.detection, BoundS: planned.bound, Planned: planned.polls,
		}
		if planned.detection > 0 {
			one.Ratio = one.WaitS / planned.detection
		}
		for _, made := range f.polls {
			if p.has(made.at) {
				one.Polls += run.interval.Seconds() / p.length().Seconds()
			}
		}
		detected, _ := seen(f.changes, p.span)
		for _, d := range detected {
			one.Changes++
			one.ChangesS += d.Seconds() / float64(len(detected))
		}
		answers, changes := fullAnswers(f.polls, p.span)
		one.Answers = float64(answers) / float64(max(changes, 1))
		r.Phases = append(r.Phases, one)
		if p.judged {
			r.least("seconds that changes wait as planned "+p.name, planned.detection, math.SmallestNonzeroFloat64)
			r.most("waits "+p.name+", to the planned ones", one.Ratio, mostWait)
			r.most("subscribers whose channel is not polled any more "+p.name, left, 0)
		}
		if planned.capacity {
			r.note("%s: a node is not able to carry what it is asked for", p.name)
		}
	}
	for from := f.all.from; from+courseStep <= f.all.to; from += courseStep {
		planned := run.plan.over(span{from, from + courseStep})
		wait, _ := times.waits(run.places, from, from+courseStep)
		r.Course = append(r.Course, point{(from - f.all.from).Seconds(), wait.Seconds(), planned.detection, planned.bound})
	}
}

func (r *result) judgeTold(run *run, f *found) {
	lines, stood := missed(f.changes, run.plan.gap)
	r.note("%d changes, %d of them stood for two planned gaps; %d versions told", len(f.changes), stood, len(f.versions))
	r.none("changes missed that stood for two planned gaps", lines)
	r.none("changes told as two versions", twice(f.versions))
	r.none("changes lost behind a 304", behind(f.changes))
	r.none("streams with what cannot be", f.wrong)
	if run.changes > 0 {
		r.least("changes told", float64(len(f.versions)), 1)
	}
	detected, told := seen(f.changes, f.all)
	r.note("changes waited %s (p50), %s (p99), %s (max) until they were polled, and %s (p50), %s (p99), %s (max) more until they were told",
		ms(quantile(detected, 0.5)), ms(quantile(detected, 0.99)), ms(quantile(detected, 1)), ms(quantile(told, 0.5)), ms(quantile(told, 0.99)), ms(quantile(told, 1)))
	delays := run.told.delays(f.calm.span)
	r.note("while all was calm each stream got %.1f updates a second, %s (p50), %s (p99), %s (max) after their owner decided, before the commit; processor for each change: %.1f ms",
		float64(len(delays))/f.calm.length().Seconds()/float64(run.nodes), ms(quantile(delays, 0.5)), ms(quantile(delays, 0.99)), ms(quantile(delays, 1)), f.perChange())
	r.Figures["received_p50_ms"], r.Figures["received_p99_ms"] = quantile(delays, 0.5).Seconds()*1e3, quantile(delays, 0.99).Seconds()*1e3
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (r *result) judgeCosts(run *run, f *found) {
	answers, changes := fullAnswers(f.polls, f.calm.span)
	perChange := float64(answers) / float64(max(changes, 1))
	if changes > 0 {
		r.most("full answers for each change, while all is calm", perChange, mostAnswers)
	}
	r.note("%d full answers for %d changes while all was calm", answers, changes)
	updates, messages := hops(f.changes, f.polls, f.calm.span, f.owners, f.pollers, run.names)
	bytes := f.calm.wedge["news"] + f.calm.wedge["reports"]
	perHop := bytes / float64(max(messages, 1))
	r.Figures["document_bytes"], r.Figures["bytes_per_hop"] = f.size, perHop
	r.Figures["hops_per_update"] = float64(messages) / float64(max(updates, 1))
	if messages > 0 {
		r.most("bytes between nodes for each update and hop, to the document's", perHop/f.size, mostDelta)
	}
	r.note("%.0f bytes between nodes (news %.0f, reports %.0f) for %d updates with %d hops: %.0f each, documents have %.0f",
		bytes, f.calm.wedge["news"], f.calm.wedge["reports"], updates, messages, perHop, f.size)
	polls := f.still.polls(f.polls)
	var parts []string
	for _, of := range wedgeKinds {
		r.Figures["still_"+of+"_bytes_per_s"] = f.still.wedge[of] / f.still.length().Seconds()
		parts = append(parts, fmt.Sprintf("%s %.0f", of, f.still.wedge[of]))
	}
	r.note("with nothing changing, bytes between nodes over %s and %.0f polls: %s", f.still.length().Round(time.Second), polls, strings.Join(parts, ", "))
	r.most("bytes of reports for each unchanged poll", f.still.wedge["reports"]/max(polls, 1), 0)
}

// polls counts those within a spending's span.
func (s *spending) polls(polls []poll) (n float64) {
	for _, p := range polls {
		if s.has(p.at) {
			n++
		}
	}
	return n
}

// perPoll is the processor time for each poll that shows no change, in microseconds: of all,
// and beyond what idle nodes take.
func (f *found) perPoll() (whole, beyond float64) {
	polls, rest := f.still.polls(f.polls), f.idle.share()/100*f.still.length().Seconds()
	return f.still.processor.Seconds() / polls * 1e6, (f.still.processor.Seconds() - rest) / polls * 1e6
}

// perChange is the processor time for each change, in milliseconds, beyond what polls take:
// streams of all nodes, and looks at what is planned, included.
func (f *found) perChange() float64 {
	_, changes := fullAnswers(f.polls, f.calm.span)
	rest := f.still.share() / 100 * f.calm.length().Seconds()
	return (f.calm.processor.Seconds() - rest) / float64(max(changes, 1)) * 1e3
}

// compare compares several nodes with one.
func (r *result) compare(o *options, several, one *found) {
	busiest := shares(several.polls, several.calm.span, o.nodes)[0]
	r.most("polls of the busiest node, to an even share", busiest*float64(o.nodes), mostBusiest)
	whole, beyond := several.perPoll()
	wholeOne, beyondOne := one.perPoll()
	r.most("processor for each poll beyond idle, to that of one node", beyond/beyondOne, mostProcessor)
	r.note("processor for each poll without a change: %.0f µs of %d nodes, %.0f of one; beyond idle nodes: %.0f and %.0f; idle nodes take %.1f %% and %.1f %% of a processor",
		whole, o.nodes, wholeOne, beyond, beyondOne, several.idle.share(), one.idle.share())
	r.note("processor for each change, streams of all nodes and looks at the plan included: %.1f ms of %d nodes, %.1f of one", several.perChange(), o.nodes, one.perChange())
	r.note("polls per interval: %.0f and %.0f", several.calm.polls(several.polls)*o.interval.Seconds()/several.calm.length().Seconds(),
		one.calm.polls(one.polls)*o.interval.Seconds()/one.calm.length().Seconds())
	r.note("memory, MB: of each node %s, of one %s; idle %s and %s", megabytes(several.calm.resident), megabytes(one.calm.resident),
		megabytes(several.idle.resident), megabytes(one.idle.resident))
	r.Figures["busiest_share"], r.Figures["us_per_poll"], r.Figures["us_per_poll_one"] = busiest, whole, wholeOne
	r.Figures["ms_per_change"], r.Figures["ms_per_change_one"] = several.perChange(), one.perChange()
	r.Figures["us_per_poll_beyond_idle"], r.Figures["us_per_poll_beyond_idle_one"] = beyond, beyondOne
}

// share is of one processor, in percent.
func (s *spending) share() float64 { return 100 * s.processor.Seconds() / s.length().Seconds() }

func megabytes(sizes []int64) string {
	var parts []string
	for _, size := range sizes {
		parts = append(parts, fmt.Sprintf("%.0f", float64(size)/1e6))
	}
	return strings.Join(parts, " ")
}

func (r *result) judgeWidths(run *run) {
	r.Polls = len(run.origin.polled())
	early, _ := run.origin.log.Early(run.floor)
	r.none("polls of a channel by an address under the floor", early)
	for _, s := range r.Widths {
		r.most(fmt.Sprintf("width %d: wait off τ/(2r)", s.Width), math.Abs(s.WaitS/s.PlannedS-1), mostWidthOff)
		r.most(fmt.Sprintf("width %d: pollers off", s.Width), math.Abs(float64(s.Pollers-s.Width)), 0)
		r.most(fmt.Sprintf("width %d: full answers for each change", s.Width), float64(s.Answers)/float64(max(s.Changes, 1)), mostAnswers)
		r.least(fmt.Sprintf("width %d: changes seen", s.Width), float64(s.Changes), 1)
	}
}

// print prints tables and the rules, and writes the JSON where a file is named.
func (r *result) print(w io.Writer, file string) error {
	fmt.Fprintf(w, "%d nodes, %d channels on %d hosts, %d subscriptions, τ %gs, floor %.3gs, maintenance %gs, host gap %gs, %.3g changes/s, seed %d: %d polls\n",
		r.Nodes, r.Channels, r.Hosts, r.Subscriptions, r.IntervalS, r.FloorS, r.MaintenanceS, r.HostGapS, r.ChangesPerS, r.Seed, r.Polls)
	if len(r.Phases) > 0 {
		fmt.Fprintf(w, "%-14s %6s %5s %9s %9s %9s %7s %9s %9s %16s %6s\n", "phase", "from", "s", "wait", "planned", "bound", "ratio", "polls/τ", "planned", "changes waited", "200s")
	}
	for _, p := range r.Phases {
		fmt.Fprintf(w, "%-14s %5.0fs %5.0f %8.3fs %8.3fs %8.3fs %7.3f %9.0f %9.0f %7d %7.2fs %6.2f\n",
			p.Name, p.FromS, p.Seconds, p.WaitS, p.PlannedS, p.BoundS, p.Ratio, p.Polls, p.Planned, p.Changes, p.ChangesS, p.Answers)
	}
	if len(r.Widths) > 0 {
		fmt.Fprintf(w, "%5s %5s %9s %9s %9s %8s %5s\n", "width", "rate", "rose", "wait", "τ/(2r)", "changes", "200s")
	}
	for _, s := range r.Widths {
		fmt.Fprintf(w, "%5d %5g %8.1fs %8.3fs %8.3fs %8d %5d\n", s.Width, s.Rate, s.RoseS, s.WaitS, s.PlannedS, s.Changes, s.Answers)
	}
	printRows(w, besideHeader(), r.Beside)
	printMoments(w, r.Moments)
	printRows(w, settlingHeader(), r.Settlings)
	r.printCourse(w)
	for _, line := range r.notes {
		fmt.Fprintln(w, line)
	}
	for _, one := range r.Rules {
		verdict, at := "holds   ", "most"
		if one.Least {
			at = "least"
		}
		if !one.OK {
			verdict = "VIOLATED"
		}
		fmt.Fprintf(w, "%s %s: %.4g, at %s %.4g\n", verdict, one.Name, one.Value, at, one.Limit)
		for _, line := range one.Lines {
			fmt.Fprintln(w, "    "+line)
		}
	}
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// printRows prints a header and a line for each row, if there are any.
func printRows[T fmt.Stringer](w io.Writer, header string, rows []T) {
	if len(rows) > 0 {
		fmt.Fprintln(w, header)
	}
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
}

// printCourse draws waits over time: planned ones as |, longer ones as # beyond that.
func (r *result) printCourse(w io.Writer) {
	longest := 0.0
	for _, p := range r.Course {
		longest = max(longest, p.WaitS, p.PlannedS)
	}
	const columns = 60
	for _, p := range r.Course {
		bar := []byte(strings.Repeat("#", int(p.WaitS/longest*columns+0.5)) + strings.Repeat(" ", columns+1))
		bar[int(p.PlannedS/longest*columns+0.5)] = '|'
		fmt.Fprintf(w, "%5.0fs %7.3fs %s\n", p.AtS, p.WaitS, strings.TrimRight(string(bar), " "))
	}
}
