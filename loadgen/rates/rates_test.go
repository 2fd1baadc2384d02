package rates

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/result"
)

// world is a node that polls ten channels at two polls per interval of 10 s for 60 s, then one of
// them at six, since a crowd has come to it for 5 s, and ends all rates but that one's after 120 s.
type world struct {
	rate    func(channel int, s float64) float64 // polls per interval, as the node explains and plans
	polled  func(channel int, s float64) float64 // as the origins are polled
	counted float64                              // by the node, for a poll
	load    float64                              // the node's, beside the generator's
	budget  float64                              // beside the node's load
}

func sound() *world {
	rate := func(channel int, s float64) float64 {
		switch {
		case channel == 0 && s >= 62:
			return 6
		case channel > 0 && s > 120:
			return 1
		}
		return 2
	}
	return &world{rate: rate, polled: rate, counted: 1, load: 1, budget: 1}
}

const channels = 10

func (w *world) sum(of func(int, float64) float64, s float64) (sum float64) {
	for n := range channels {
		sum += of(n, s)
	}
	return sum
}

// record plays the world, and records it as a follower does.
func (w *world) record() *Record {
	begin := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	r := &Record{Interval: 10 * time.Second, From: at(0), To: at(180), Load: func(when time.Time) float64 { return w.sum(sound().rate, when.Sub(begin).Seconds()) }}
	polls, crowd := make([]float64, channels), []Look(nil)
	requests, count := 0.0, 0.0
	for tick := range 1801 {
		s := float64(tick) / 10
		look := Look{At: at(s)}
		for n := range channels {
			look.Rates, look.Polls = append(look.Rates, w.rate(n, s)), append(look.Polls, polls[n])
		}
		crowd = append(crowd, Look{look.At, look.Rates[:1], look.Polls[:1]})
		if tick%50 == 0 {
			r.Looks = append(r.Looks, look)
		}
		if load := w.load * w.sum(w.rate, s); tick%5 == 0 {
			r.Points = append(r.Points, Point{at(s), count, requests, w.sum(w.rate, s), load, load * w.budget})
		}
		for n := range channels {
			polls[n] += w.polled(n, s) / 100
			requests, count = requests+w.polled(n, s)/100, count+w.counted*w.polled(n, s)/100
		}
	}
	r.Events = []Event{{at(60), at(65), crowd}, {at(120), at(121), nil}}
	return r
}

// held reports whether all figures are as scenario rates wants them.
func held(f *result.Rates) bool {
	return f.Parts == 3 && f.Channels == channels && f.PlannedOff <= 0.01 && f.OverBudget <= 1e-9 && f.PollsOff <= 0.037 && f.CountOff <= 0.01 &&
		f.ChannelsOff <= 0.05 && f.RiseS <= 5 && f.SettleS <= 10 && f.CrowdOverPlan <= 0.03 && f.CrowdOff <= 0.03
}

// Each figure tells of what it is of: a world in which one thing is wrong breaks it.
func TestJudge(t *testing.T) {
	if f := sound().record().Judge(); !held(f) || f.RiseS < 1.9 || f.RiseS > 2.1 {
		t.Errorf("a sound node: %+v", f)
	}
	within := func(of func(int, float64) float64, from, to, factor float64) func(int, float64) float64 {
		return func(n int, s float64) float64 {
			if s >= from && s < to {
				return factor * of(n, s)
			}
			return of(n, s)
		}
	}
	tests := map[string]struct {
		spoil func(*world)
		found func(*result.Rates) bool
	}{
		"a plan below what the budget allows": {func(w *world) { w.load = 0.98 }, func(f *result.Rates) bool { return f.PlannedOff > 0.01 }},
		"a plan over the budget":              {func(w *world) { w.budget = 0.999 }, func(f *result.Rates) bool { return f.OverBudget > 1e-4 }},
		"fewer polls than planned":            {func(w *world) { w.polled = within(w.rate, 80, 120, 0.95) }, func(f *result.Rates) bool { return f.PollsOff > 0.04 }},
		"polls that the origins never got":    {func(w *world) { w.counted = 1.02 }, func(f *result.Rates) bool { return f.CountOff > 0.01 }},
		"one channel polled at another's rate": {func(w *world) {
			rate := w.rate
			w.polled = func(n int, s float64) float64 {
				if n == 3 && s < 60 {
					return 2 * rate(n, s)
				}
				return rate(n, s)
			}
		}, func(f *result.Rates) bool { return f.ChannelsOff == 0.1 }},
		"a rate that does not follow a crowd": {func(w *world) { w.rate = func(int, float64) float64 { return 2 } }, func(f *result.Rates) bool { return f.RiseS == 120 && f.PlannedOff > 0.01 }},
		"a rate that follows late":            {func(w *world) { w.rate = within(w.rate, 62, 68, 1.0/3) }, func(f *result.Rates) bool { return f.RiseS > 5 }},
		"a plan that moves for long":          {func(w *world) { w.rate = within(w.rate, 121, 135, 1.5) }, func(f *result.Rates) bool { return f.SettleS > 10 }},
		"more polls than planned in a crowd":  {func(w *world) { w.polled = within(w.rate, 60, 70, 1.3) }, func(f *result.Rates) bool { return f.CrowdOverPlan > 0.03 }},
		"a crowd's channel polled too often": {func(w *world) {
			rate := w.rate
			w.polled = func(n int, s float64) float64 {
				if n == 0 && s >= 65 && s < 75 {
					return 3 * rate(n, s)
				}
				return rate(n, s)
			}
		}, func(f *result.Rates) bool { return f.CrowdOff > 0.03 }},
		"a node that tells nothing": {nil, func(f *result.Rates) bool { return f.Parts == 0 }},
	}
	for name, test := range tests {
		w := sound()
		if test.spoil != nil {
			test.spoil(w)
		}
		record := w.record()
		if test.spoil == nil {
			record.Points = nil
		}
		if f := record.Judge(); held(f) || !test.found(f) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
