package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/internal/descriptors"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// finish stops the nodes, judges, and writes result.json.
func (r *run) finish(ctx context.Context) (*Outcome, error) {
	r.phase.enter("judge", 0)
	open := openDescriptors()
	r.cluster.stop(func(name string, err error) { r.note("node %s: %v", name, err) })
	r.result.Interrupted = ctx.Err() != nil
	outcome := &Outcome{Result: r.result}
	ended := time.Now()
	r.figures(outcome, ended)
	r.processes()
	r.audit()
	r.compareRates()
	r.tellSingles()
	r.failures()
	r.generator(open)
	r.result.Thresholds = r.result.Judge(r.Scenario.Limits())
	outcome.Series = r.tracker.Series.Points(ended)
	from, to := r.sampler.window()
	outcome.Nodes = r.sampler.nodes()
	outcome.Window = [2]float64{from.Sub(r.begun).Seconds(), to.Sub(r.begun).Seconds()}
	outcome.Profiles = r.profiled
	return outcome, r.result.Write(r.Out)
}

// figures are those of polls, changes and deliveries.
func (r *run) figures(outcome *Outcome, ended time.Time) {
	out := r.result
	out.Channels, out.Subscriptions = len(r.places), r.subscriber.crowd.total()
	outcome.Plots = r.tracker.Judge(out, ended)
	out.Duration = r.sampler.windowSeconds()
	served := r.origin.Stats()
	out.HostViolations, out.LyingDates = int64(served.Early-r.before.Early), int64(served.Lies-r.before.Lies)
	r.lost()
	plan := r.plans.latest()
	if plan == nil {
		return
	}
	from, to := r.sampler.window()
	budget := 0.0
	out.PlannedPollsPerS, budget = r.plans.mean(from, to, r.settings.Interval)
	out.Detection.BoundMean = plan.BoundMean * 1000
	if budget > 0 && r.settings.Cost == honeycomb.Polls {
		out.BudgetRatio = out.PollsPerS / budget
	}
	if r.told != nil {
		rates := make([]float64, len(r.told))
		for i, told := range r.told {
			rates[i] = told.rate
		}
		out.PlanOverBound = plan.OverBound(rates)
	}
	measured := r.tracker.MeanWait()
	for i, wait := range measured {
		measured[i] = r.settings.Interval.Seconds() / (2 * wait)
		if math.IsNaN(wait) {
			measured[i] = r.settings.Interval.Seconds() / max(plan.Gaps[i], 1e-9)
		}
	}
	out.WaitOverBound = plan.OverBound(measured)
}

// failures counts the events that failed, and finds the longest.
func (r *run) failures() {
	for _, e := range r.result.Events {
		r.result.EventsLongest = max(r.result.EventsLongest, e.TookS)
		if e.Err != "" {
			r.result.EventsFailed++
		}
	}
}

// lost says what sinks were told that is no update.
func (r *run) lost() {
	if n := r.subscriber.webhooks.Gaps.Load() + r.subscriber.streams.Gaps.Load(); n > 0 {
		r.note("%d gaps: updates that nodes gave up", n)
	}
	if n := r.subscriber.streams.Resets.Load(); n > 0 {
		r.note("%d streams were reset", n)
	}
	if n := r.subscriber.webhooks.Unreadable.Load() + r.subscriber.streams.Unreadable.Load(); n > 0 {
		r.note("%d messages that cannot be read", n)
	}
}

// appliedWithin is how long a node may take to tell of subscriptions that another acknowledged:
// replicas are some entries behind. Nodes that do not answer, as those whose ranges have lost their
// leaders, are asked for longer.
const (
	appliedWithin  = time.Minute
	answeredWithin = 5 * time.Minute
)

// readChannels reads what nodes tell of all channels, and compares it with the subscriptions
// that there are.
func (r *run) readChannels(ctx context.Context) {
	var failed error
	r.told, r.result.SubscriptionsLost, r.result.SubscriptionsExtra, failed = r.compareTold(ctx)
	if failed != nil {
		r.result.Failed = append(r.result.Failed, "plan_over_bound and subscriptions_lost: "+failed.Error())
	}
}

// compareTold reads what each node tells of all channels, and compares it with the subscriptions
// that there are: told by the last one, and the most that one lacks or has more. The error says
// which nodes did not answer, of those that are meant to, and what the others lack or have more.
func (r *run) compareTold(ctx context.Context) (told []channelTold, lost, extra int64, err error) {
	for begun := time.Now(); ; {
		patience := appliedWithin
		told, lost, extra, err = nil, 0, 0, nil
		answered := 0
		for of, failed := range r.cluster.channels(ctx, r.origin.URL, r.origin.Channels()) {
			if failed != nil {
				err, patience = errors.Join(err, failed), answeredWithin
				continue
			}
			answered++
			l, e := r.subscriber.compare(of)
			told, lost, extra = of, max(lost, l), max(extra, e)
		}
		if ended := r.cluster.alive(); ended != nil {
			return nil, 0, 0, ended
		}
		if err == nil && lost+extra == 0 || time.Since(begun) > patience || pause(ctx, time.Now().Add(time.Second)) != nil {
			if err != nil {
				err = fmt.Errorf("%w (%d nodes answered: the worst of these lists lacks %d subscriptions, and has %d that the generator did not ask for)", err, answered, lost, extra)
			}
			return told, lost, extra, err
		}
	}
}

// processes are the figures of nodes' processors, memory and disks in the window.
func (r *run) processes() {
	out := r.result
	from, to := r.sampler.ends()
	out.Nodes = make([]result.Node, 0, len(r.cluster.nodes))
	for i, n := range r.cluster.nodes {
		of := result.Node{Name: n.name, RSSMax: n.used.most}
		if len(r.cluster.nodes) == 1 {
			of.Polls = out.Polls
		}
		if i < len(from.nodes) && i < len(to.nodes) {
			of.CPUSeconds = (to.nodes[i].processor - from.nodes[i].processor).Seconds()
			out.Disk.Written += to.nodes[i].written - from.nodes[i].written
		}
		out.Nodes = append(out.Nodes, of)
		out.CPUSeconds += of.CPUSeconds
		out.RSSMax = max(out.RSSMax, of.RSSMax)
	}
	if out.Polls > 0 {
		out.CPUPerPollUs = 1e6 * out.CPUSeconds / float64(out.Polls)
	}
	out.Generator.CPUSeconds = max((to.generator - from.generator).Seconds(), 0)
}

// What a generator may use and still say that it was not the limit.
const (
	mostLate        = 10 * time.Millisecond
	mostStill       = time.Second // at one time
	mostProcessor   = 0.8         // of all cores
	mostDescriptors = 0.9         // of the limit
)

// generator judges the generator itself.
func (r *run) generator(open int) {
	g := &r.result.Generator
	late := r.sampler.quantile(0.99)
	g.Lateness.P99 = float64(late.Microseconds()) / 1000
	limit := func(reason string, args ...any) {
		g.Limited = true
		g.Reasons = append(g.Reasons, fmt.Sprintf(reason, args...))
	}
	if late > mostLate {
		limit("its timers were up to %s late (p99), %s are allowed", late.Round(100*time.Microsecond), mostLate)
	}
	if still := r.sampler.quantile(1); still > mostStill {
		limit("it stood still for up to %s, %s is allowed", still.Round(100*time.Millisecond), mostStill)
	}
	if share := g.CPUSeconds / max(r.result.Duration, 1e-9) / float64(runtime.NumCPU()); share > mostProcessor {
		limit("it took %.0f %% of all cores", 100*share)
	}
	if most, err := descriptors.Limit(); err == nil && float64(open) > mostDescriptors*float64(most) {
		limit("it had %d of %d descriptors open", open, most)
	}
}

// openDescriptors returns how many this process has open, 0 where it cannot be told.
func openDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
