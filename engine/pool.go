package engine

import (
	"context"

	"github.com/seed-91e7e7c1/corona/internal/part"
)

// pool is the workers: started when there is work and none is idle, never more than
// Config.Workers. The one that became idle last works first, so that few goroutines run
// when few are needed. Guarded by Engine.mu.
type pool struct {
	ctx   context.Context // of Run: polls end with it; nil while there are no workers
	idle  []chan poll     // one per idle worker, each with room for one poll
	count int
}

func (p *pool) start(ctx context.Context) { p.ctx = ctx }

// dispatch hands out what may begin. The caller holds mu.
func (e *Engine) dispatch(now int64) {
	pool := &e.mu.pool
	for pool.ctx != nil && (len(pool.idle) > 0 || pool.count < e.config.Workers) {
		p, ok := e.mu.channels.begin(now)
		if !ok {
			return
		}
		if last := len(pool.idle) - 1; last >= 0 {
			pool.idle[last] <- p
			pool.idle = pool.idle[:last]
			continue
		}
		pool.count++
		ctx, inbox := pool.ctx, make(chan poll, 1)
		inbox <- p
		e.workers.Go(func() { e.work(ctx, inbox) })
	}
}

// work polls until the pool stops.
func (e *Engine) work(ctx context.Context, inbox chan poll) {
	part.Join(ctx)
	for p := range inbox {
		for more := true; more; {
			r := e.asker.poll(ctx, &p)
			p, more = e.finish(&p, &r, inbox)
		}
	}
}

// finish is the one exit of every poll: it gives host and worker back, counts,
// and, if the order that the poll began with still stands, updates the channel's
// state, notes in the ledger what has changed, and plans its next poll. It returns
// the worker's next poll, if there is one, so that a busy worker neither sleeps
// nor wakes another.
func (e *Engine) finish(p *poll, r *result, inbox chan poll) (next poll, more bool) {
	e.metrics.count(p, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	e.mu.recent.note(now, kindOf(p, r), p.Lateness())
	if e.mu.channels.conclude(p, r, now) {
		e.mu.Unlock()
		e.noteEnd(p) // while the target is still the worker's
		e.mu.Lock()
		now = wallNow()
	}
	e.mu.channels.finish(p, r, now)
	next, more = e.another(inbox, now)
	e.dispatch(now)
	e.wakeIfSooner()
	return next, more
}

// another takes a worker's next poll, or notes the worker as idle. The caller
// holds mu.
func (e *Engine) another(inbox chan poll, now int64) (poll, bool) {
	if e.mu.pool.ctx == nil {
		close(inbox)
		return poll{}, false
	}
	p, ok := e.mu.channels.begin(now)
	if !ok {
		e.mu.pool.idle = append(e.mu.pool.idle, inbox)
	}
	return p, ok
}

// stopWorkers lets every worker end what it does, and waits for them.
func (e *Engine) stopWorkers() {
	e.mu.Lock()
	for _, inbox := range e.mu.pool.idle {
		close(inbox)
	}
	e.mu.pool = pool{}
	e.mu.Unlock()
	e.workers.Wait()
}

// releaseHost releases the host before the poll ends: reading a document and reporting it
// do not keep the host busy.
func (e *Engine) releaseHost(p *poll, r *result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	e.mu.channels.release(p, r, now)
	e.dispatch(now)
	e.wakeIfSooner()
}

// mayAsk reports that a poll which has waited for memory may ask now.
func (e *Engine) mayAsk(p *poll) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	ok := e.mu.channels.schedule.MayAsk(&p.Poll, p.Target.Channel.incarnation == p.incarnation, now)
	e.dispatch(now)
	e.wakeIfSooner()
	return ok
}

// wakeIfSooner wakes the loop when it has something to do before its alarm. The caller
// holds mu.
func (e *Engine) wakeIfSooner() {
	if e.nextTurn() >= e.mu.alarm {
		return
	}
	select {
	case e.kick <- struct{}{}:
	default: // it is awake, or about to be
	}
}
