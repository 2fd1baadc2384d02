package run

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/process"
)

// sampler reads each second what nodes and generator use, and measures how late the
// generator itself is, by a timer.
type sampler struct {
	run *run
	mu  struct {
		sync.Mutex
		points     []NodePoint
		begin, end usage // of the window
		from, to   time.Time
		late       []time.Duration // of the timer's ticks in the window
	}
}

// NodePoint is what a node used in a second.
type NodePoint struct {
	S    int     `json:"s"`
	Node int     `json:"node"` // from 0
	CPU  float64 `json:"cpu"`  // cores
	RSS  int64   `json:"rss_bytes"`
}

// usage is processor time used so far.
type usage struct {
	nodes     []time.Duration
	generator time.Duration
}

func newSampler(r *run) *sampler { return &sampler{run: r} }

func (s *sampler) usage() usage {
	u := usage{}
	for _, n := range s.run.nodes {
		used, _ := n.sample()
		u.nodes = append(u.nodes, used)
	}
	u.generator, _ = process.CPUTime(os.Getpid()) // 0 where there is no proc(5)
	return u
}

// begin begins the window.
func (s *sampler) begin(from, to time.Time) {
	u := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.begin, s.mu.from, s.mu.to = u, from, to
}

// cut ends the window early.
func (s *sampler) cut(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.to = at
}

// tick is the time between two ticks of the timer.
const tick = 10 * time.Millisecond

// loop ticks until the context ends.
func (s *sampler) loop(ctx context.Context) error {
	last := s.usage()
	for n, next := 1, time.Now(); ; n++ {
		next = next.Add(tick)
		if err := pause(ctx, next); err != nil {
			return nil
		}
		now := time.Now()
		left := s.lateness(next, now)
		n, next = n+left, next.Add(time.Duration(left)*tick)
		if n%int(time.Second/tick) <= left {
			last = s.second(last)
		}
	}
}

// lateness notes how late a tick came, and those that were due by then and are left out for
// it: a generator that stood still for a second was late a hundred times, not once. It
// returns the number of those.
func (s *sampler) lateness(meant, now time.Time) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; ; left++ {
		if !s.mu.from.IsZero() && !meant.Before(s.mu.from) && meant.Before(s.mu.to) {
			s.mu.late = append(s.mu.late, now.Sub(meant))
		}
		if meant = meant.Add(tick); meant.After(now) {
			return left
		}
	}
}

// second notes what was used since the second before.
func (s *sampler) second(last usage) usage {
	now, at := s.usage(), int(time.Since(s.run.begun)/time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.run.nodes {
		_, resident := n.sample()
		s.mu.points = append(s.mu.points, NodePoint{at, i, (now.nodes[i] - last.nodes[i]).Seconds(), resident})
	}
	if !s.mu.from.IsZero() && time.Now().Before(s.mu.to.Add(time.Second)) {
		s.mu.end = now
	}
	return now
}

// quantile returns a quantile of the ticks' lateness.
func (s *sampler) quantile(q float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.late) == 0 {
		return 0
	}
	slices.Sort(s.mu.late)
	return s.mu.late[int(q*float64(len(s.mu.late)-1))]
}
