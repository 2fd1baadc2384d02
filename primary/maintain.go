package primary

import (
	"context"
	"time"
)

// lookEach is how often an owner looks whether rates have to follow.
const lookEach = time.Second

// rest is the least time between two solves, in times of what the last one took.
const rest = 50

// optimise keeps rates what they should be, until ctx is done.
func (o *Owner) optimise(ctx context.Context) {
	ticker := time.NewTicker(lookEach)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			o.look(time.Now())
		}
	}
}

// look measures, and solves when something waits for it.
func (o *Owner) look(now time.Time) {
	o.measure(now)
	full, due := o.due(now)
	if !due {
		return
	}
	if err := o.solve(full); err != nil {
		o.config.Logger.Error("cannot solve for rates; they stay what they are", "error", err)
	}
}

// due says whether the optimiser is to look at some channels now, or at all.
func (o *Owner) due(now time.Time) (full, due bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := &o.mu.plan
	full = p.stale || now.Sub(o.mu.full) >= o.config.maintenance() || p.drifted()
	due = full || len(p.dirty) > 0 || len(p.rows.left) > 0
	return full, due && o.mu.poller != nil && !now.Before(o.mu.notBefore)
}

// fail has everything read again after a rest.
func (o *Owner) fail() {
	o.metrics.solveFailures.Inc()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.plan.stale = true
	o.mu.notBefore = time.Now().Add(failureRest)
}

const failureRest = time.Minute

// conclude notes a solve that began at a time, and what it has led to.
func (o *Owner) conclude(began time.Time, full bool, all sums) {
	now := time.Now()
	took := now.Sub(began)
	o.metrics.solved(full, took, all)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.notBefore = now.Add(rest * took)
	o.mu.sums = all
	if o.config.Budget > 0 {
		o.mu.plan.budget = o.rates.plan.Budget()
		o.mu.plan.ceiling = o.ceiling()
	}
	if full {
		o.mu.full, o.mu.fullTook, o.mu.updates = began, took, 0
	} else {
		o.mu.updates++
	}
	o.mu.latest = o.planOf(all)
}
