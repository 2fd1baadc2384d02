package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// BenchmarkLock asks whether a schedule of a million channels needs more than one
// lock: as many workers end a poll and begin the next one, each in one hold, at a
// given rate for the whole, with all channels behind one lock or split by host over
// several.
//
//	go test -bench '^BenchmarkLock$' -run '^$' -benchtime 300000x ./engine/schedule
//
// wait-p99-µs counts, how long a worker waits for the lock, beside cpu-µs/poll of
// the whole process. polls/s says whether the rate was reached. On a loaded machine
// the holder of the lock may lose its processor: then waits are as long as that.
func BenchmarkLock(b *testing.B) {
	for _, shards := range []int{1, 2, 16} {
		all := fillShards(shards)
		for _, workers := range []int{2, 64} {
			for _, rate := range []int{20_000, 100_000, 300_000} {
				if shards <= workers {
					b.Run(fmt.Sprintf("shards=%d/workers=%d/rate=%d", shards, workers, rate), func(b *testing.B) {
						benchmarkLock(b, all, workers, rate)
					})
				}
			}
		}
	}
}

const million = 1_000_000

// shard is a part of the hosts with their channels, and its lock.
type shard struct {
	sync.Mutex
	*rig
}

func fillShards(n int) []*shard {
	shards := make([]*shard, n)
	for i := range shards {
		shards[i] = &shard{rig: newRig(Config{})}
	}
	for i := range million {
		s := shards[i/10%n]
		t := NewTarget[site](channel.IDOf(fmt.Sprint(i)))
		s.Attach(t, s.Host(channel.HostID(fmt.Sprint(i/10)), func() bool { return false }))
		s.Revive(t)
		s.SetRate(t, overlay.Rate{Polls: 1, Intervals: 1}, 1, 0, 1e18)
		s.Plan(t, 1e18)
	}
	return shards
}

func benchmarkLock(b *testing.B, shards []*shard, workers, rate int) {
	waits := make([][]int64, workers)
	var done sync.WaitGroup
	used, begun := processTime(), time.Now()
	for w := range workers {
		done.Go(func() {
			waits[w] = lockWorker(shards[w%len(shards)], max(b.N/workers, 1), time.Second*time.Duration(workers)/time.Duration(rate))
		})
	}
	done.Wait()
	polls := float64(max(b.N/workers, 1) * workers)
	all := slices.Concat(waits...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)*99/100])/1e3, "wait-p99-µs")
	b.ReportMetric(float64((processTime()-used).Microseconds())/polls, "cpu-µs/poll")
	b.ReportMetric(polls/time.Since(begun).Seconds(), "polls/s")
}

// shortestWait is what a worker would only lose to the runtime's timers.
const shortestWait = 100 * time.Microsecond

// lockWorker makes so many polls, one each period from some time within the first
// one on, and returns how long it waited for the lock each time.
func lockWorker(s *shard, polls int, period time.Duration) (waits []int64) {
	waits = make([]int64, 0, polls)
	reply := Reply{Status: 304, Took: time.Millisecond}
	timer := time.NewTimer(0)
	<-timer.C
	next := time.Now().Add(time.Duration(rand.Int64N(int64(period))))
	var p *Poll[site]
	for range polls {
		if ahead := time.Until(next); ahead > shortestWait {
			timer.Reset(ahead)
			<-timer.C
		}
		next = next.Add(period)
		asked := time.Now()
		s.Lock()
		waits = append(waits, int64(time.Since(asked)))
		if p != nil && p.Target != nil {
			s.end(p, reply, Result{}, max(p.Begun.UnixNano(), p.Target.due))
		}
		now := s.NextDue()
		s.Promote(true, now)
		p, _ = s.begin(now)
		s.Unlock()
	}
	s.Lock()
	defer s.Unlock()
	if p.Target != nil {
		s.end(p, reply, Result{}, p.Begun.UnixNano())
	}
	return waits
}
