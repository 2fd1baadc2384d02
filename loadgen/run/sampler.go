package run

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/process"
	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// sampler reads each second what nodes and generator use, and measures how late the
// generator itself is, by a timer.
type sampler struct {
	run *run
	mu  struct {
		sync.Mutex
		points     []NodePoint
		empty      usage // before the first subscription
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

// usage is what was used so far.
type usage struct {
	at        time.Time
	nodes     []use
	generator time.Duration // of the processor
}

// all adds up what the nodes have used.
func (u *usage) all() (sum use) {
	for _, n := range u.nodes {
		sum.processor += n.processor
		sum.written += n.written
	}
	return sum
}

func newSampler(r *run) *sampler { return &sampler{run: r} }

func (s *sampler) usage() usage {
	u := usage{at: time.Now(), nodes: s.run.cluster.used()}
	u.generator, _ = process.CPUTime(os.Getpid()) // 0 where there is no proc(5)
	return u
}

// beginFill notes what was used before the first subscription.
func (s *sampler) beginFill() {
	u := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.empty = u
}

// fill tells what the subscriptions took.
func (s *sampler) fill(f *result.Fill, subscriptions int) {
	now := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	count := float64(max(subscriptions, 1))
	f.SubscribeS = now.at.Sub(s.mu.empty.at).Seconds()
	f.PerS = float64(subscriptions) / f.SubscribeS
	f.CPUUs = 1e6 * (now.all().processor - s.mu.empty.all().processor).Seconds() / count
	f.Written = now.all().written - s.mu.empty.all().written
	f.GeneratorUs = 1e6 * (now.generator - s.mu.empty.generator).Seconds() / count
}

// filled tells what subscriptions and first polls took together.
func (s *sampler) filled(f *result.Fill, polls time.Duration, channels int) {
	now := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.FirstPollsS = polls.Seconds()
	f.ChannelUs = 1e6 * (now.all().processor - s.mu.empty.all().processor).Seconds() / float64(channels)
	for _, p := range s.mu.points {
		f.RSSMax = max(f.RSSMax, p.RSS)
	}
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
	for i, used := range now.nodes {
		s.mu.points = append(s.mu.points, NodePoint{at, i, (used.processor - last.nodes[i].processor).Seconds(), used.resident})
	}
	if !s.mu.from.IsZero() && time.Now().Before(s.mu.to.Add(time.Second)) {
		s.mu.end = now
	}
	return now
}

// window returns when the window began and ended; zero before it began.
func (s *sampler) window() (from, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.from, s.mu.to
}

func (s *sampler) windowSeconds() float64 {
	from, to := s.window()
	return to.Sub(from).Seconds()
}

// ends returns what was used up to the window's ends.
func (s *sampler) ends() (begin, end usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.begin, s.mu.end
}

// nodes returns what nodes used in each second.
func (s *sampler) nodes() []NodePoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.points
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
