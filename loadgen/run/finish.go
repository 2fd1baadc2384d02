package run

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/descriptors"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// finish stops the nodes, judges, and writes result.json.
func (r *run) finish(ctx context.Context) (*Outcome, error) {
	r.phase.enter("judge", 0)
	open := openDescriptors()
	for _, n := range r.nodes {
		if err := n.stop(); err != nil {
			r.note("node %s: %v", n.name, err)
		}
	}
	r.result.Interrupted = ctx.Err() != nil
	outcome := &Outcome{Result: r.result}
	ended := time.Now()
	r.figures(outcome, ended)
	r.processes()
	r.generator(open)
	r.result.Thresholds = r.result.Judge(r.Scenario.Limits())
	outcome.Series = r.tracker.Series.Points(ended)
	r.sampler.mu.Lock()
	outcome.Nodes = r.sampler.mu.points
	outcome.Window = [2]float64{r.sampler.mu.from.Sub(r.begun).Seconds(), r.sampler.mu.to.Sub(r.begun).Seconds()}
	r.sampler.mu.Unlock()
	outcome.Profiles = r.profiled
	return outcome, r.result.Write(r.Out)
}

// figures are those of polls, changes and deliveries.
func (r *run) figures(outcome *Outcome, ended time.Time) {
	out := r.result
	out.Channels, out.Subscriptions = r.origin.Channels(), r.crowd.total()
	outcome.Plots = r.tracker.Judge(out, ended)
	out.Duration = r.windowSeconds()
	served := r.origin.Stats()
	out.HostViolations, out.LyingDates = int64(served.Early-r.before.Early), int64(served.Lies-r.before.Lies)
	r.lost()
	plan := r.plan.Load()
	if plan == nil {
		return
	}
	out.PlannedPollsPerS, out.Detection.BoundMean = plan.PollsPerS, plan.BoundMean*1000
	if plan.Budget > 0 {
		out.BudgetRatio = out.PollsPerS * r.settings.Interval.Seconds() / plan.Budget
	}
	if r.rates != nil {
		out.PlanOverBound = plan.OverBound(r.rates)
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

// lost says what sinks were told that is no update.
func (r *run) lost() {
	if n := r.webhooks.Gaps.Load() + r.streams.Gaps.Load(); n > 0 {
		r.note("%d gaps: updates that nodes gave up", n)
	}
	if n := r.streams.Resets.Load(); n > 0 {
		r.note("%d streams were reset", n)
	}
	if n := r.webhooks.Unreadable.Load() + r.streams.Unreadable.Load(); n > 0 {
		r.note("%d messages that cannot be read", n)
	}
}

func (r *run) windowSeconds() float64 {
	r.sampler.mu.Lock()
	defer r.sampler.mu.Unlock()
	return r.sampler.mu.to.Sub(r.sampler.mu.from).Seconds()
}

// processes are the figures of nodes' processors and memory.
func (r *run) processes() {
	out, s := r.result, r.sampler
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Nodes = make([]result.Node, 0, len(r.nodes))
	for i, n := range r.nodes {
		of := result.Node{Name: n.name, RSSMax: n.used.most}
		if len(r.nodes) == 1 {
			of.Polls = out.Polls
		}
		if i < len(s.mu.end.nodes) && i < len(s.mu.begin.nodes) {
			of.CPUSeconds = (s.mu.end.nodes[i] - s.mu.begin.nodes[i]).Seconds()
		}
		out.Nodes = append(out.Nodes, of)
		out.CPUSeconds += of.CPUSeconds
		out.RSSMax = max(out.RSSMax, of.RSSMax)
	}
	if out.Polls > 0 {
		out.CPUPerPollUs = 1e6 * out.CPUSeconds / float64(out.Polls)
	}
	out.Generator.CPUSeconds = max((s.mu.end.generator - s.mu.begin.generator).Seconds(), 0)
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
