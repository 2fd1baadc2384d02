package primary

import (
	"context"
	"time"
)

// lookEach is how often an owner looks whether rates have to follow.
const lookEach = time.Second

// rest is the least time between two solves, in times of what the last one took of the
// processor: solves take a fiftieth of one at most.
const rest = 50

// optimise keeps rates what they should be, until ctx is done.
func (pl *planner) optimise(ctx context.Context) {
	ticker := time.NewTicker(lookEach)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			pl.look(time.Now())
		}
	}
}

// look measures, and solves when something waits for it.
func (pl *planner) look(now time.Time) {
	pl.measure(now)
	full, due := pl.due(now)
	if !due {
		return
	}
	if err := pl.solve(full); err != nil {
		pl.config.Logger.Error("cannot solve for rates; they stay what they are", "error", err)
	}
}

// hurry has everything solved again at the next look. The book is locked.
func (pl *planner) hurry() {
	pl.book.plan.stale = true
	pl.notBefore = time.Time{}
}

// due says whether the optimiser is to look at some channels now, or at all.
func (pl *planner) due(now time.Time) (full, due bool) {
	pl.book.Lock()
	defer pl.book.Unlock()
	p := &pl.book.plan
	full = p.stale || now.Sub(pl.full) >= pl.config.maintenance() || p.drifted()
	due = full || len(p.dirty) > 0 || len(p.rows.left) > 0
	return full, due && pl.book.poller != nil && !now.Before(pl.notBefore)
}

// fail has everything read again after a rest.
func (pl *planner) fail() {
	pl.metrics.solveFailures.Inc()
	pl.book.Lock()
	defer pl.book.Unlock()
	pl.book.plan.stale = true
	pl.notBefore = time.Now().Add(failureRest)
}

const failureRest = time.Minute

// conclude notes a solve that began at a time and used so much processor time, and what
// it has led to.
func (pl *planner) conclude(began time.Time, used time.Duration, full bool, all sums) {
	now := time.Now()
	took := now.Sub(began)
	pl.metrics.solved(full, took, all)
	pl.book.Lock()
	defer pl.book.Unlock()
	pl.notBefore = now.Add(rest * used)
	pl.sums = all
	if pl.config.Budget > 0 {
		pl.book.plan.budget = pl.rates.plan.Budget()
		pl.book.plan.ceiling = pl.ceiling()
	}
	if full {
		pl.full, pl.fullTook, pl.updates = began, took, 0
	} else {
		pl.updates++
	}
	pl.latest = pl.planOf(all)
}
