package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// A job is an experiment under way: its caller sees its progress, and may not
// want it any more.
type job struct {
	ctx      context.Context
	progress func(done, total int)
	steps    int
	done     atomic.Int64
}

func newJob(ctx context.Context, o Options, steps int) *job {
	return &job{ctx: ctx, progress: o.Progress, steps: steps}
}

// step tells that one more step is done, and returns whether to go on.
func (j *job) step() bool {
	if n := j.done.Add(1); j.progress != nil {
		j.progress(int(n), j.steps)
	}
	return j.wanted()
}

func (j *job) wanted() bool { return j.ctx.Err() == nil }

// inParallel calls f with 0 to n−1, as many at a time as there are processors,
// until all are done or the job is interrupted.
func (j *job) inParallel(n int, f func(i int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && j.wanted(); i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
	return j.ctx.Err()
}
