package schedule

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/admission"
	"github.com/seed-91e7e7c1/corona/engine/pace"
	"github.com/seed-91e7e7c1/corona/overlay"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into testdata instead of comparing with it")

// TestTimelines runs the scripts of testdata in virtual time and compares what
// happened. A script is a list of blocks, each a few commands, a line of dashes, what
// happened, and an empty line; lines that begin with # are notes. timeline has the
// commands.
func TestTimelines(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) { runTimeline(t, file) })
	}
}

func runTimeline(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline{t: t, channels: map[string]*played{}, answers: map[string]reaction{}, room: true, now: midnight}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		commands, _, _ := strings.Cut(block, "\n----")
		out.WriteString(commands + "\n")
		if happened := tl.block(commands); happened != "" {
			out.WriteString("----\n" + happened)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := out.String(); got != string(text) {
		t.Errorf("%s: have\n%s\nwant\n%s", file, got, text)
	}
}

// midnight of a Sunday, UTC, is when timelines begin.
var midnight = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).UnixNano()

// timeline is a schedule in virtual time, with origins that answer as a script says.
type timeline struct {
	t        *testing.T
	config   Config
	s        *Schedule[*played]
	channels map[string]*played
	answers  map[string]reaction // by the name of a channel or a host
	running  []*running
	room     bool
	now      int64
	out      strings.Builder
	plot     []int64 // when polls began, while they are plotted; nil: they are printed
}

// played is a channel of a timeline.
type played struct {
	name    string // of which the first letter names the host
	target  *Target[*played]
	content bool
	polled  bool
}

// reaction is what an origin answers.
type reaction struct {
	said       bool // by the script
	status     int
	took       time.Duration
	retryAfter pace.RetryAfter
	fresh      time.Duration
	skip       uint32 // hours
	memory     int64
	to         string // the host that it redirects to
	busy       bool   // there is no memory for it
}

type running struct {
	*Poll[*played]
	reaction
	ends int64
}

func (tl *timeline) block(commands string) string {
	tl.out.Reset()
	for line := range strings.SplitSeq(commands, "\n") {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, "#") {
			tl.command(fields[0], fields[1:])
		}
	}
	return tl.out.String()
}

// command runs one line: what to do, to which channels or host, and arguments
// key=value.
//
//	config interval=D floor=D workers=N gap=D parallel=N
//	add NAME … rate=N/K content=true       orders channels; a1..a9 are nine of host a
//	drop NAME …
//	answer NAME|HOST … status=N took=D retry-after=N fresh=D skip=H,H to=HOST memory=N busy=true
//	spare NAME … for=D                     another poller is asked not to ask for so long
//	forgive NAME …                         starts another incarnation
//	restart                                keeps what a ledger would; orders come again with add
//	forget D                               prints what was dormant for so long, and forgets it
//	room true|false                        for first contents
//	clock D                                sets the wall clock by so much
//	run D                                  lets time pass, and prints each poll
//	plot D every=D                         lets time pass, and prints how many polls began in each part of it
//	show NAME …                            when a channel is due, and why then
func (tl *timeline) command(verb string, fields []string) {
	names, args := tl.parse(fields)
	switch verb {
	case "config":
		tl.config = Config{
			Interval: tl.duration(args, "interval", halfHour), Floor: tl.duration(args, "floor", 5*time.Minute),
			Workers: tl.number(args, "workers", 64), HostParallel: tl.number(args, "parallel", 2), HostGap: tl.duration(args, "gap", 0),
		}
		tl.s = New(tl.config, tl.idle)
	case "add":
		for _, name := range names {
			tl.add(name, args)
		}
	case "drop":
		for _, name := range names {
			tl.s.Drop(tl.channels[name].target, tl.now)
		}
	case "answer":
		for _, name := range names {
			tl.answers[name] = tl.reaction(args)
		}
	case "spare":
		for _, name := range names {
			tl.s.Spare(tl.channels[name].target, tl.now+int64(tl.duration(args, "for", 0)), tl.now)
		}
	case "forgive":
		for _, name := range names {
			p := tl.channels[name]
			p.polled, p.content = false, false
			tl.s.Forgive(p.target)
		}
	case "restart":
		tl.restart()
	case "forget":
		tl.forget(tl.duration(map[string]string{"for": names[0]}, "for", 0))
	case "room":
		tl.room = names[0] == "true"
	case "clock":
		step := int64(tl.duration(map[string]string{"by": names[0]}, "by", 0))
		tl.now += step
		tl.s.Realign(step, tl.now, func(yield func(*Target[*played]) bool) {
			for _, name := range slices.Sorted(maps.Keys(tl.channels)) {
				if !yield(tl.channels[name].target) {
					return
				}
			}
		})
	case "run":
		tl.run(tl.duration(map[string]string{"for": names[0]}, "for", 0))
	case "plot":
		tl.plotted(tl.duration(map[string]string{"for": names[0]}, "for", 0), tl.duration(args, "every", time.Minute))
	case "show":
		for _, name := range names {
			tl.show(name)
		}
	default:
		tl.t.Fatalf("no command %q", verb)
	}
}

// restart makes another schedule of what a ledger would hold of this one.
func (tl *timeline) restart() {
	before := tl.s
	tl.s = New(tl.config, tl.idle)
	hosts := slices.SortedFunc(maps.Values(before.hosts.byID), func(a, b *Host[*played]) int { return a.ID.Compare(b.ID) })
	for _, h := range hosts {
		restored := tl.s.RestoreHost(h.Record(), tl.now)
		if restored == nil {
			continue
		}
		if refusals := restored.Refusals(); refusals.Count == 0 {
			tl.print("a host is remembered for its gap")
		} else {
			tl.print("a host is remembered: it refused %d times, rests until %s", refusals.Count, tl.since(refusals.Until))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tl.channels)) {
		p := tl.channels[name]
		record := p.target.Record()
		p.target = NewTarget[*played](channel.IDOf(name))
		p.target.Channel = p
		if record.LastPoll != 0 {
			tl.s.Restore(p.target, record, tl.now)
		}
	}
}

// forget prints what was dormant for a time, and forgets it.
func (tl *timeline) forget(d time.Duration) {
	for t := tl.s.Expired(tl.now - int64(d)); t != nil; t = tl.s.Expired(tl.now - int64(d)) {
		tl.print("%s is forgotten: %v", t.Channel.name, !tl.s.Unclaim(t))
		delete(tl.channels, t.Channel.name)
	}
	for _, h := range tl.s.Dismiss(tl.s.Count(tl.now).Guests, tl.now) {
		tl.print("a host that refused %d times is forgotten", h.Refusals().Count)
	}
	tl.print("%+v", tl.s.Count(tl.now))
}

// parse splits fields into names, of which a1..a9 stands for nine, and arguments.
func (tl *timeline) parse(fields []string) (names []string, args map[string]string) {
	args = map[string]string{}
	for _, field := range fields {
		key, value, isArg := strings.Cut(field, "=")
		first, last, isRun := strings.Cut(field, "..")
		switch {
		case isArg:
			args[key] = value
		case isRun:
			for i := tl.atoi(first[1:]); i <= tl.atoi(last[1:]); i++ {
				names = append(names, first[:1]+strconv.Itoa(i))
			}
		default:
			names = append(names, field)
		}
	}
	return names, args
}

func (tl *timeline) host(name string) *Host[*played] {
	return tl.s.Host(channel.HostID(name), func() bool { return false })
}

func (tl *timeline) add(name string, args map[string]string) {
	p := tl.channels[name]
	if p == nil {
		p = &played{name: name, target: NewTarget[*played](channel.IDOf(name))}
		p.target.Channel = p
		tl.channels[name] = p
	}
	if p.target.Host() == nil {
		tl.s.Attach(p.target, tl.host(name[:1]))
	}
	p.content = p.content || args["content"] == "true"
	polls, intervals, _ := strings.Cut(cmp.Or(args["rate"], "1"), "/")
	tl.s.Revive(p.target)
	tl.s.SetRate(p.target, overlay.Rate{Polls: uint32(tl.atoi(polls)), Intervals: uint32(tl.atoi(cmp.Or(intervals, "1")))}, 1, 0, tl.now)
	p.target.SetFirst(!p.content && !p.polled)
	if p.target.Idle() {
		tl.s.Plan(p.target, tl.now)
	}
}

func (tl *timeline) idle(t *Target[*played], stranded bool) {
	t.Channel.polled = t.Channel.polled || stranded
	t.SetFirst(!t.Channel.content && !t.Channel.polled)
}

func (tl *timeline) reaction(args map[string]string) reaction {
	r := reaction{
		said: true, status: tl.number(args, "status", 304), took: tl.duration(args, "took", 0), fresh: tl.duration(args, "fresh", 0),
		memory: int64(tl.number(args, "memory", 0)), to: args["to"], busy: args["busy"] == "true",
	}
	if text, given := args["retry-after"]; given {
		r.retryAfter = pace.RetryAfter{After: time.Duration(tl.atoi(text)) * time.Second, Given: true}
	}
	for hour := range strings.SplitSeq(args["skip"], ",") {
		if hour != "" {
			r.skip |= 1 << tl.atoi(hour)
		}
	}
	return r
}

// run lets time pass: polls begin and end when they may.
func (tl *timeline) run(d time.Duration) {
	for end := tl.now + int64(d); ; {
		tl.step()
		next := tl.s.NextDue()
		for _, r := range tl.running {
			next = min(next, r.ends)
		}
		if next = max(next, tl.now+1); next > end {
			tl.now = end
			return
		}
		tl.now = next
	}
}

// step does what is due now.
func (tl *timeline) step() {
	tl.running = slices.DeleteFunc(tl.running, func(r *running) bool {
		if r.ends > tl.now {
			return false
		}
		tl.end(r)
		return true
	})
	for tl.s.Promote(tl.room, tl.now); tl.s.NextDue() <= tl.now; tl.s.Promote(tl.room, tl.now) {
	}
	for p := new(Poll[*played]); tl.s.Begin(p, tl.now); p = new(Poll[*played]) {
		p.Begun = time.Unix(0, tl.now)
		tl.begin(p)
	}
}

func (tl *timeline) begin(p *Poll[*played]) {
	name := p.Target.Channel.name
	r := tl.answers[name]
	for host := range maps.Keys(tl.answers) {
		if len(host) == 1 && (p.Host == tl.host(host)) && (!r.said || p.hopped) {
			r = tl.answers[host]
		}
	}
	if !r.said {
		r.status = 304
	}
	if tl.plot != nil {
		tl.plot = append(tl.plot, tl.now)
	} else {
		tl.print("%s %d%s", name, r.status, annotations(p, r))
	}
	tl.running = append(tl.running, &running{p, r, tl.now + int64(r.took)})
	if r.took == 0 {
		last := len(tl.running) - 1
		tl.end(tl.running[last])
		tl.running = tl.running[:last]
	}
}

// annotations says what is special about a poll.
func annotations(p *Poll[*played], r reaction) (text string) {
	if p.hopped {
		text += " at another host"
	}
	if r.to != "" {
		text += " to " + r.to
	}
	if wait := time.Duration(p.HostWait); wait > 0 {
		text += fmt.Sprintf(" host_wait=%v", wait)
	}
	if late := p.Lateness(); late > 0 {
		text += fmt.Sprintf(" late=%v", late)
	}
	return text
}

func (tl *timeline) end(r *running) {
	t := r.Target
	tl.s.Release(r.Poll, Reply{Status: r.status, RetryAfter: r.retryAfter, Took: max(r.took, 1), HasContent: t.Channel.content}, tl.now)
	tl.s.Asked(r.Poll, tl.now)
	if r.to != "" {
		tl.s.End(r.Poll, admission.Load{}, tl.now)
		if !tl.s.Follow(t, tl.host(r.to), r.retryAfter, tl.now) {
			tl.print("%s waits: the host that it leads to is not to be asked", t.Channel.name)
		}
		return
	}
	result := Result{Status: r.status, RetryAfter: r.retryAfter, Memory: r.memory, Busy: r.busy}
	switch {
	case r.busy:
		result.Blame = Canceled
	case r.Verdict == pace.HostRefuses:
		result.Blame = Refused
	case r.status >= 400 || r.status == 0:
		result.Blame = Failed
	}
	tl.s.Conclude(r.Poll, result, tl.now)
	if result.Blame == Succeeded {
		t.Channel.content = true
		until := int64(0)
		if r.fresh > 0 {
			until = tl.now + int64(r.fresh)
		}
		t.SetWishes(until, pace.NewSkip(r.skip, 0))
	}
	t.Channel.polled = t.Channel.polled || result.Blame != Canceled
	t.SetFirst(!t.Channel.content && !t.Channel.polled)
	tl.s.End(r.Poll, admission.Load{Busy: r.busy, Canceled: r.busy}, tl.now)
	tl.s.Finish(t, tl.now)
}

// plotted lets time pass, and draws how many polls began in each part of it.
func (tl *timeline) plotted(d, every time.Duration) {
	start := tl.now
	tl.plot = []int64{}
	tl.run(d)
	counts := make([]int, (d+every-1)/every)
	for _, at := range tl.plot {
		counts[min(int((at-start)/int64(every)), len(counts)-1)]++
	}
	tl.plot = nil
	scale := max(1, (slices.Max(counts)+59)/60)
	for i, n := range counts {
		line := fmt.Sprintf("%12s %4d %s", tl.since(start+int64(i)*int64(every)), n, strings.Repeat("#", (n+scale-1)/scale))
		tl.out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (tl *timeline) show(name string) {
	t := tl.channels[name].target
	due, ok := t.Due()
	text := "never"
	if ok {
		text = tl.since(due)
	}
	until, why := tl.s.Explain(t, tl.now)
	if until > tl.now {
		text += fmt.Sprintf(", waits for %s until %s", why, tl.since(until))
	}
	manners := tl.s.MannersOf(t.Host(), tl.now)
	tl.print("%s due %s; failures %d; host gap %v, %d at a time", name, text, t.Failures(), manners.Gap, manners.Parallel)
}

func (tl *timeline) print(format string, args ...any) {
	fmt.Fprintf(&tl.out, "%12s %s\n", tl.since(tl.now), fmt.Sprintf(format, args...))
}

func (tl *timeline) since(at int64) string {
	return time.Duration(at - midnight).Round(time.Millisecond).String()
}

func (tl *timeline) duration(args map[string]string, key string, otherwise time.Duration) time.Duration {
	text, given := args[key]
	if !given {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		tl.t.Fatal(err)
	}
	return d
}

func (tl *timeline) number(args map[string]string, key string, otherwise int) int {
	if text, given := args[key]; given {
		return tl.atoi(text)
	}
	return otherwise
}

func (tl *timeline) atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		tl.t.Fatal(err)
	}
	return n
}
