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

// near says that two times differ by what rounding gaps to nanoseconds may come to.
func near(a, b int64) bool { return max(a-b, b-a) <= 100 }

// TestShareOfCap: what is granted of a host's cap sets its gap, also that which runs, and
// when the grant ends what is left of the gap gets longer.
func TestShareOfCap(t *testing.T) {
	const start = int64(1e18)
	s, h := capped(4, 20, start) // 1/80 of the cap is this node's
	gap := s.hosts.capGap(h)
	now := s.next(start)
	if next := s.next(now); !near(next, now+80*gap) {
		t.Errorf("unasked: asked after %v, want 80 of %v", time.Duration(next-now), time.Duration(gap))
	}
	now += 80 * gap
	s.Grant(h.ID, 487_500, now+60*gap, now+20*gap) // a quarter of the gap has passed
	if next := s.next(now + 20*gap); !near(next, now+20*gap+3*gap/2) {
		t.Errorf("granted: asked after %v, want 21.5 of %v", time.Duration(next-now), time.Duration(gap))
	}
	now += 20*gap + 3*gap/2
	if next := s.next(now); !near(next, now+2*gap) {
		t.Errorf("granted: asked after %v, want 2 of %v", time.Duration(next-now), time.Duration(gap))
	}
	now += 2 * gap
	if manners := s.MannersOf(h, now); !near(int64(manners.Gap), 2*gap) || manners.Parallel != 4 {
		t.Errorf("manners %+v, want 2 of %v and 4 of 8 requests", manners, time.Duration(gap))
	}
	s.Grant(h.ID, 487_500, now+gap, now)
	if next := s.next(now); !near(next, now+41*gap) {
		t.Errorf("it ends within the gap: asked after %v, want 41 of %v", time.Duration(next-now), time.Duration(gap))
	}
	if manners := s.MannersOf(h, now+gap); !near(int64(manners.Gap), 80*gap) {
		t.Errorf("manners after the grant: %+v", manners)
	}
}

// TestNodesComeAndGo: as nodes join and leave, each has another part of a cap, also of the gap
// that runs; a node that was alone asks for what it needs beyond its part.
func TestNodesComeAndGo(t *testing.T) {
	const second, start = int64(time.Second), int64(1e18)
	s, h := capped(4, 20, start) // 1/80 of the cap is this node's
	now, ofFour := s.next(start), s.hosts.capGap(h)
	s.SetNodes(2, now+20*ofFour) // a quarter of the gap has passed; the rest goes twice as fast
	ofTwo := s.hosts.capGap(h)
	if next := s.next(now + 20*ofFour); !near(next, now+20*ofFour+30*ofTwo) {
		t.Errorf("of two: asked after %v, want 20 of %v and 30 of %v", time.Duration(next-now), time.Duration(ofFour), time.Duration(ofTwo))
	}
	now += 20*ofFour + 30*ofTwo
	s.SetNodes(1, now+10*ofTwo)
	if next := s.next(now + 10*ofTwo); !near(next, now+10*ofTwo+3*second/4) {
		t.Errorf("alone: asked after %v, want 10 of %v and 0.75 s", time.Duration(next-now), time.Duration(ofTwo))
	}
	now += 10*ofTwo + 3*second/4
	if len(s.Demands()) > 0 {
		t.Errorf("alone it demands %v", s.Demands())
	}
	s.SetNodes(5, now)
	if next, ofFive := s.next(now), s.hosts.capGap(h); !near(next, now+100*ofFive) {
		t.Errorf("of five: asked after %v, want 100 of %v", time.Duration(next-now), time.Duration(ofFive))
	}
	if demands := s.Demands(); len(demands) != 1 || demands[0].Host != h.ID {
		t.Errorf("of five it demands %v", demands)
	}
}

// TestCapOfSeveral: nodes that have all of a host's cap among them, and use it whenever they
// may, ask no more in any window of an interval than one node alone might, however long a
// grant has run when the window begins.
func TestCapOfSeveral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const start = int64(1e18)
		nodes := rapid.IntRange(2, 7).Draw(t, "nodes")
		cap := rapid.Int64Range(20*int64(nodes), 200).Draw(t, "cap")
		part := (channel.WholeCap - channel.KeptBack) / int64(nodes)
		var asked []int64
		for range nodes {
			s := newRig(Config{HostGap: halfHour / time.Duration(cap), HostParallel: 8, Nodes: nodes})
			for i := range 4 * cap {
				s.order(10*int(i), 0, start)
			}
			now := start + rapid.Int64Range(0, int64(halfHour)).Draw(t, "phase")
			s.Grant(s.hostOf(0).ID, part, math.MaxInt64, start)
			for now = s.next(now); now < start+int64(4*halfHour); now = s.next(now) {
				asked = append(asked, now)
			}
		}
		slices.Sort(asked)
		for i := range asked {
			if last := i + int(cap); last < len(asked) && asked[last]-asked[i] < int64(halfHour-time.Microsecond) {
				t.Fatalf("%d nodes: more than %d requests in %v", nodes, cap, time.Duration(asked[last]-asked[i]))
			}
		}
	})
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
			worth += (float64(granted)*float64(part) + float64(to-now)*float64(s.hosts.shares.unasked)) / channel.WholeCap / float64(s.hosts.capGap(h))
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
	const quarter = 250_000 * 180 / 175 // of what five nodes may divide
	want("channels", channel.Demand{Host: host, Part: quarter})
	want("again", channel.Demand{Host: host, Part: quarter})
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
