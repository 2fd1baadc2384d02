//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/cluster"
	"github.com/seed-91e7e7c1/corona/internal/child"
)

// settling is how plans went to the optimum after an event. Excess is the planned wait
// beyond that of one solve of all channels, a part of it.
type settling struct {
	Event   string  `json:"event"`
	TookS   float64 `json:"took_s"`
	WithinS float64 `json:"within_s"` // from its end until excess stays within the limit; negative: it does not
	Excess  float64 `json:"excess"`   // the most, from three maintenance intervals on
	Samples int     `json:"samples"`  // from then on
	WaitS   float64 `json:"wait_s"`   // planned, in the end
	BestS   float64 `json:"best_s"`
	Load    float64 `json:"load"`     // planned, to what subscribers cause alone, in the end
	Most    float64 `json:"most"`     // the same, the most since the event began
	SolveMs float64 `json:"solve_ms"` // the longest solve of a node since then; it rests for 50 times as long after each
	Course  []look  `json:"course"`
}

// look is how far plans were from the optimum at a time.
type look struct {
	AtS    float64 `json:"at_s"` // since the end of the event
	Excess float64 `json:"excess"`
	Load   float64 `json:"load"` // planned, to what subscribers cause alone
}

const (
	mostExcess     = 0.02
	mostOverBudget = 1.05
	settleIn       = 3 // maintenance intervals
	lookEvery      = 2 * time.Second
)

// settleRun compares plans with the optimum.
func (o *options) settleRun(ctx context.Context, program, folder string) (*result, error) {
	res, places := newResult(o), o.layOut()
	res.ChangesPerS = 0
	err := o.with(ctx, o.nodes, places, program, folderOf(folder, o.nodes), func(ctx context.Context, r *run) error {
		if err := r.fill(ctx); err != nil {
			return err
		}
		watching, cease := context.WithCancel(ctx)
		defer cease()
		r.running.Go(func() { r.watch(watching) })
		for _, e := range r.events() {
			one, err := r.settle(ctx, e)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			logf("%s", one)
			res.judgeSettling(one)
		}
		res.kept(r, "all", r.origin.polled())
		return nil
	})
	return res, err
}

// event is what plans have to follow.
type event struct {
	name string
	do   func(ctx context.Context) error
}

func (r *run) events() []event {
	random := rand.New(rand.NewPCG(r.seed, 3))
	victim := r.cluster.Nodes[random.IntN(len(r.cluster.Nodes))]
	return []event{
		{"start", func(context.Context) error { return nil }},
		{victim.Name + " dies", func(context.Context) error { r.setDead(victim, true); return victim.Kill() }},
		{victim.Name + " returns", func(ctx context.Context) error { return r.back(ctx, victim) }},
		{"a crowd doubles subscriptions", func(ctx context.Context) error { return r.arrive(ctx, r.doubling(random)) }},
		{"half leave", func(ctx context.Context) error { return r.leave(ctx, 0.5, r.crowdOver, random) }},
	}
}

// back starts a node that died.
func (r *run) back(ctx context.Context, node *cluster.Node) error {
	if err := node.Start(); err != nil {
		return err
	}
	if err := child.AwaitURL(ctx, node.API+"/readyz", node.Process); err != nil {
		return err
	}
	r.setDead(node, false)
	return nil
}

// doubling is a crowd as large as all subscriptions, at a fifth of the channels.
func (r *run) doubling(random *rand.Rand) (due []coming) {
	_, sum := r.subscribers()
	hit := random.Perm(len(r.places))[:max(len(r.places)/5, 1)]
	for i := range sum {
		due = append(due, coming{at: time.Duration(random.Int64N(int64(r.crowdOver))), place: hit[i%len(hit)]})
	}
	return due
}

// settle lets an event happen, and watches plans for four maintenance intervals from its end.
func (r *run) settle(ctx context.Context, e event) (one settling, err error) {
	logf("%s", e.name)
	one = settling{Event: e.name, WithinS: -1}
	began := r.origin.now()
	if err := e.do(ctx); err != nil {
		return one, err
	}
	ended := r.origin.now()
	one.TookS = (ended - began).Seconds()
	for judged := ended + settleIn*r.maintenance; r.origin.now() < judged+r.maintenance && ctx.Err() == nil; pause(ctx, lookEvery) {
		at := r.origin.now()
		excess, err := r.look(ctx, &one)
		if err != nil {
			continue // a node may just be dead
		}
		one.note(excess, at-ended, at >= judged)
	}
	whole := span{began, r.origin.now()}
	one.Most, one.SolveMs = r.plan.most(whole), r.plan.slowest(whole)
	if one.Samples == 0 {
		return one, errors.Join(errors.New("no node lists all channels"), ctx.Err())
	}
	return one, ctx.Err()
}

// note records how far plans are from the optimum at a time after the event.
func (s *settling) note(excess float64, after time.Duration, judged bool) {
	switch {
	case excess > mostExcess:
		s.WithinS = -1
	case s.WithinS < 0:
		s.WithinS = after.Seconds()
	}
	s.Course = append(s.Course, look{after.Seconds(), excess, s.Load})
	if judged {
		s.Samples++
		s.Excess = max(s.Excess, excess)
	}
}

// look asks for all rates, and returns by how much changes wait longer than at the optimum.
func (r *run) look(ctx context.Context, s *settling) (excess float64, err error) {
	places, sum := r.subscribers()
	all, err := r.list(ctx)
	if err != nil {
		return 0, err
	}
	rates := make([]float64, len(all))
	for n, ch := range all {
		rates[n] = ch.Rate
	}
	best, err := r.solveAll(places, len(r.living()))
	if err != nil {
		return 0, err
	}
	wait, load := r.plannedWait(places, rates)
	s.WaitS, s.BestS, s.Load = wait, best.wait, load/float64(sum)
	return wait/best.wait - 1, nil
}

func (r *result) judgeSettling(s settling) {
	r.Settlings = append(r.Settlings, s)
	r.most(s.Event+": planned wait beyond the optimum's, after three maintenance intervals", s.Excess, mostExcess)
	r.most(s.Event+": planned polls, to the budget", s.Most, mostOverBudget)
}

func (s settling) String() string {
	return fmt.Sprintf("%-30s %6.1fs %7.1fs %8.2f%% %8.3fs %8.3fs %8.4f %8.4f %7.1fms", s.Event, s.TookS, s.WithinS, 100*s.Excess, s.WaitS, s.BestS, s.Load, s.Most, s.SolveMs)
}

func settlingHeader() string {
	return fmt.Sprintf("%-30s %7s %8s %9s %9s %9s %8s %8s %9s", "event", "took", "within", "excess", "planned", "optimum", "load", "most", "solve")
}
