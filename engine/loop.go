package engine

import (
	"context"
	"sync"
	"time"
)

// Run polls until the context ends or [Engine.Close] is called, and returns when
// every poll has ended; polls under way are cut off. It runs once.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, err := e.start(ctx, cancel)
	if err != nil {
		return err
	}
	defer close(done)
	var janitors sync.WaitGroup
	janitors.Go(func() { (&sweeper{e}).run(ctx) })
	janitors.Go(func() { (&recaller{e}).run(ctx) })
	janitors.Go(func() { e.cache.Run(ctx) })
	e.loop(ctx)
	e.stopWorkers()
	janitors.Wait()
	return nil
}

func (e *Engine) start(ctx context.Context, cancel context.CancelFunc) (chan struct{}, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed || e.mu.done != nil {
		return nil, ErrClosed
	}
	e.mu.cancel = cancel
	e.mu.began, e.mu.recalling = wallNow(), true
	e.mu.done = make(chan struct{})
	e.mu.pool.start(ctx)
	return e.mu.done, nil
}

// loop is the only goroutine that promotes channels and hosts whose time has come, and
// that notices that the clock was set.
func (e *Engine) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	clock := stepClock{ahead: start.UnixNano()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-e.kick:
		}
		begun := time.Now()
		timer.Reset(e.turn(clock.step(begun.UnixNano(), begun.Sub(start))))
		e.metrics.loopBusy.Add(time.Since(begun).Seconds())
	}
}

// together is how long polls that come due wait for others, at most, so that they begin in one
// turn: where there are some hundreds a second, most of what each costs is waking up for it.
const together = 10 * time.Millisecond

// nextTurn returns when the loop has something to do again. The caller holds mu.
func (e *Engine) nextTurn() int64 {
	return e.mu.channels.schedule.NextTurn(e.mu.turned, e.mu.turned+int64(together))
}

// longestSleep bounds how long a clock that was set goes unnoticed.
const longestSleep = 5 * time.Second

// turn does what is due and returns how long there is nothing more to do.
func (e *Engine) turn(step time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := wallNow()
	if step != 0 {
		e.metrics.clockSteps.Inc()
		e.mu.channels.realign(int64(step), now)
		e.config.Logger.Warn("clock was set, slots are planned again", "step", step)
	}
	e.mu.channels.schedule.Promote(e.config.hasRoom(), now)
	e.dispatch(now)
	e.mu.turned = now
	e.mu.alarm = min(e.nextTurn(), now+int64(longestSleep))
	return time.Duration(e.mu.alarm - now)
}

// stepClock notices when the wall clock is set: its distance from the time that the
// process has been running changes.
type stepClock struct {
	ahead int64 // nanoseconds
}

// smallestStep is what is not taken for a step: slewing and measuring.
const smallestStep = time.Second

// step returns by how much the wall clock was set since the last call, forwards
// or back; 0 when it only passed. running is from a clock that cannot be set.
func (c *stepClock) step(wall int64, running time.Duration) time.Duration {
	ahead := wall - int64(running)
	step := time.Duration(ahead - c.ahead)
	c.ahead = ahead
	if step.Abs() < smallestStep {
		return 0
	}
	return step
}
