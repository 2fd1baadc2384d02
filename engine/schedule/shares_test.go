package schedule

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// capped is a schedule of one of some nodes with a host where channels wait for the first
// poll: it is asked whenever it may be.
func capped(nodes, channels int, now int64) (*rig, *Host[site]) {
	s := newRig(Config{HostGap: time.Second, HostParallel: 8, Nodes: nodes})
	for i := range channels {
		s.order(10*i, 0, now)
	}
	return s, s.hostOf(0)
}

// next passes the time until the next poll begins, which ends at once.
func (r *rig) next(now int64) (begun int64) {
	for {
		r.Promote(true, now)
		if p, ok := r.begin(now); ok {
			r.end(p, Reply{Status: 200, Took: time.Millisecond}, Result{Blame: Failed}, now)
			return now
		}
		now = r.NextDue()
	}
}

// TestShareOfCap: what is granted of a host's cap sets its gap, also that which runs, and
// when the grant ends what is left of the gap gets longer.
func TestShareOfCap(t *testing.T) {
	const second, start = int64(time.Second), int64(1e18)
	s, h := capped(4, 20, start) // 1/80 of the cap is this node's
	now := s.next(start)
	if next := s.next(now); next != now+80*second {
		t.Errorf("unasked: asked after %v, want 80 s", time.Duration(next-now))
	}
	now += 80 * second
	s.Grant(h.ID, 487_500, now+60*second, now+20*second) // a quarter of the gap has passed
	if next := s.next(now + 20*second); next != now+20*second+3*second/2 {
		t.Errorf("granted: asked after %v, want 21.5 s", time.Duration(next-now))
	}
	now += 20*second + 3*second/2
	if next := s.next(now); next != now+2*second {
		t.Errorf("granted: asked after %v, want 2 s", time.Duration(next-now))
	}
	now += 2 * second
	if manners := s.MannersOf(h, now); manners.Gap != 2*time.Second || manners.Parallel != 4 {
		t.Errorf("manners %+v, want 2 s and 4 of 8 requests", manners)
	}
	s.Grant(h.ID, 487_500, now+second, now)
	if next := s.next(now); next != now+41*second {
		t.Errorf("it ends within the gap: asked after %v, want 41 s", time.Duration(next-now))
	}
	if manners := s.MannersOf(h, now+second); manners.Gap != 80*time.Second {
		t.Errorf("manners after the grant: %+v", manners)
	}
}

// TestNodesComeAndGo: as nodes join and leave, each has another part of a cap, also of the gap
// that runs; a node that was alone asks for what it needs beyond its part.
func TestNodesComeAndGo(t *testing.T) {
	const second, start = int64(time.Second), int64(1e18)
	s, h := capped(4, 20, start) // 1/80 of the cap is this node's
	now := s.next(start)
	s.SetNodes(2, now+20*second) // a quarter of the gap has passed; the rest goes twice as fast
	if next := s.next(now + 20*second); next != now+50*second {
		t.Errorf("of two: asked after %v, want 50 s", time.Duration(next-now))
	}
	now += 50 * second
	s.SetNodes(1, now+10*second)
	if next := s.next(now + 10*second); next != now+10*second+3*second/4 {
		t.Errorf("alone: asked after %v, want 10.75 s", time.Duration(next-now))
	}
	now += 10*second + 3*second/4
	if len(s.Demands()) > 0 {
		t.Errorf("alone it demands %v", s.Demands())
	}
	s.SetNodes(5, now)
	if next := s.next(now); next != now+100*second {
		t.Errorf("of five: asked after %v, want 100 s", time.Duration(next-now))
	}
	if demands := s.Demands(); len(demands) != 1 || demands[0].Host != h.ID {
		t.Errorf("of five it demands %v", demands)
	}
}

// TestAloneHasAll: no grant changes what a node alone does.
func TestAloneHasAll(t *testing.T) {
	s, h := capped(1, 3, 1e18)
	now := s.next(1e18)
	s.Grant(h.ID, 1000, now+1e12, now)
	if next := s.next(now); next != now+1e9 || len(s.Demands()) > 0 {
		t.Errorf("asked after %v, %v; want a second, and no demand", time.Duration(next-now), s.Demands())
	}
}

// TestRequestsFollowShares: however grants come, change and end, a host gets no more
// requests than a node's share of its cap comes to, and one.
func TestRequestsFollowShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := int64(1e18)
		s, h := capped(2, 200, now)
		var part, until int64
		worth := 0.0 // requests that the share came to so far
		var at []float64
		pass := func(to int64) {
			granted := min(max(until-now, 0), to-now)
			worth += (float64(granted)*float64(part) + float64(to-now)*float64(s.hosts.shares.unasked)) / channel.WholeCap / 1e9
			now = to
		}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				part = rapid.SampledFrom([]int64{0, 10_000, 475_000, 950_000}).Draw(t, "part")
				until = now + rapid.Int64Range(-1e9, 40e9).Draw(t, "until")
				s.Grant(h.ID, part, until, now)
			},
			"pass": func(t *rapid.T) {
				to := now + rapid.Int64Range(0, 20e9).Draw(t, "time")
				for {
					s.Promote(true, now)
					if p, ok := s.begin(now); ok {
						at = append(at, worth)
						s.end(p, Reply{Status: 200, Took: time.Millisecond}, Result{Blame: Failed}, now)
						continue
					}
					if s.NextDue() > to {
						break
					}
					pass(max(s.NextDue(), now))
				}
				pass(to)
			},
			"": func(t *rapid.T) {
				for i := 1; i < len(at); i++ {
					if got := at[i] - at[i-1]; got < 1-1e-6 {
						t.Fatalf("request %d was begun %.9f of a gap after the one before", i, got)
					}
				}
				if len(at) > 0 && h.waiting > 0 && worth-at[len(at)-1] > 1+1e-6 {
					t.Fatalf("no request for %.9f gaps, and %d wait", worth-at[len(at)-1], h.waiting)
				}
			},
		})
	})
}

// TestDemands: a node asks for hosts alone of whose caps it needs more than it may take
// unasked, and names a quarter more than its channels' polls come to.
func TestDemands(t *testing.T) {
	s := newRig(Config{HostGap: 10 * time.Second, Nodes: 5})
	want := func(when string, want ...channel.Demand) {
		t.Helper()
		if got := s.Demands(); !slices.EqualFunc(got, want, func(a, b channel.Demand) bool {
			return a.Host == b.Host && math.Abs(float64(a.Part-b.Part)) <= 1
		}) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	s.order(1, 1, 1e18) // 1/180 of its cap
	want("one channel")
	for i := range 36 {
		s.order(10*i, 1, 1e18)
	}
	host := s.hostOf(0).ID
	want("channels", channel.Demand{Host: host, Part: 250_000})
	want("again", channel.Demand{Host: host, Part: 250_000})
	for i := range 35 {
		s.Drop(s.get(10*i), 1e18)
	}
	want("most dropped")
	for i := range 3 {
		s.order(10*i+2, 0, 1e18)
	}
	s.Promote(true, 1e18)
	want("first polls wait", channel.Demand{Host: s.hostOf(2).ID, Part: channel.WholeCap})
	s.next(1e18)
}
