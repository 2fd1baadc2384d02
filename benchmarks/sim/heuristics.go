package sim

import (
	"context"
	"math"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/overlay/ring"
)

// Heuristics compares rules of thumb with the optimum, as Figure 2 of "Corona: a
// practical approach to peer-to-peer publish-subscribe" (;login: 2006) does, at
// planned rates.
type Heuristics struct {
	Command string         `json:"command"` // that makes it again
	Rows    []HeuristicRow `json:"rows"`
	options Options
}

// A HeuristicRow is one scheme in one setting. Detection is the mean wait that
// is planned, weighted by subscribers; Load is in polls per interval and
// channel, and Spent what it costs of the budget, which is what readers would
// cost alone.
type HeuristicRow struct {
	Scheme    string  `json:"scheme"`
	Ladder    string  `json:"ladder"`
	Sizes     string  `json:"sizes"`     // equal: a poll costs 1; real: its bytes
	HostCaps  bool    `json:"host_caps"` // at most a poll a second for all channels of a host
	Detection float64 `json:"detection_s"`
	Load      float64 `json:"load"`
	Spent     float64 `json:"spent"`
	// AboveOptimum is how much longer the wait is than lite's, relative: 0 means
	// that the rule is as good as optimising.
	AboveOptimum float64 `json:"above_optimum"`
}

// A setting is one of the problems that all schemes are tried on.
type setting struct {
	ladder honeycomb.Ladder
	real   bool // sizes
	caps   bool
}

// A crowdRule says in what proportion channels are polled, by subscribers.
type crowdRule struct {
	name  string
	share func(q float64) float64
}

var crowdRules = []crowdRule{
	{"proportional", func(q float64) float64 { return q }},
	{"square-root", math.Sqrt},
	{"uniform", func(float64) float64 { return 1 }},
}

// hostGap is the time that a host's channels keep between polls where hosts have
// caps: H = τ/gap polls an interval.
const hostGap = time.Second

// RunHeuristics tries all schemes in all settings, unless the context ends
// before.
func RunHeuristics(ctx context.Context, o Options) (*Heuristics, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := newWorkload(o)
	var settings []setting
	for _, ladder := range []honeycomb.Ladder{honeycomb.Prefix(ring.Base), honeycomb.Any()} {
		for _, real := range []bool{false, true} {
			settings = append(settings, setting{ladder, real, false}, setting{ladder, real, true})
		}
	}
	rows := make([][]HeuristicRow, len(settings))
	j := newJob(ctx, o, len(settings))
	err := j.inParallel(len(settings), func(i int) {
		rows[i] = newTrial(o, w, settings[i]).rows()
		j.step()
	})
	if err != nil {
		return nil, err
	}
	h := &Heuristics{Command: o.command("heuristics"), options: o}
	for _, some := range rows {
		h.Rows = append(h.Rows, some...)
	}
	return h, nil
}

// A trial is a setting with its channels.
type trial struct {
	setting
	options  Options
	workload *workload
	channels honeycomb.Channels
	config   honeycomb.Config
	budget   float64
	rates    []float64 // that the ladder has, rising; nil: any whole number
}

func newTrial(o Options, w *workload, s setting) *trial {
	t := &trial{setting: s, options: o, workload: w, config: o.config(honeycomb.Lite, s.ladder),
		channels: honeycomb.Channels{Subscribers: w.subscribers}}
	if s.real {
		t.config.Cost = honeycomb.Bytes
		t.channels.SizeBytes = w.sizes()
	}
	if s.caps {
		t.config.HostCap = o.Interval.Seconds() / hostGap.Seconds()
		t.channels.Host = w.hosts()
	}
	if s.ladder != honeycomb.Any() {
		all := ring.New(w.nodes)
		t.rates = nominal(o.Nodes, all.Top())
		t.channels.MaxRate = w.orphansRate(all)
	}
	for c, q := range w.subscribers {
		t.budget += q * t.cost(c)
	}
	return t
}

func (t *trial) cost(c int) float64 {
	if t.channels.SizeBytes == nil {
		return 1
	}
	return t.channels.SizeBytes[c]
}

// rows are all schemes in this setting.
func (t *trial) rows() []HeuristicRow {
	legacy := t.row("legacy", t.workload.subscribers)
	legacy.Detection = t.options.Interval.Seconds() / 2
	lite := t.row("lite", t.optimum(honeycomb.Lite))
	rows := []HeuristicRow{legacy}
	for _, rule := range crowdRules {
		rows = append(rows, t.row(rule.name, t.shared(rule.share)))
	}
	rows = append(rows, lite, t.row("fast", t.optimum(honeycomb.Fast)))
	for i := range rows {
		rows[i].AboveOptimum = rows[i].Detection/lite.Detection - 1
	}
	return rows
}

func (t *trial) row(name string, rates []float64) HeuristicRow {
	r := HeuristicRow{Scheme: name, Ladder: t.ladder.String(), Sizes: "equal", HostCaps: t.caps}
	if t.real {
		r.Sizes = "real"
	}
	r.Detection, _, r.Load = t.workload.planned(t.options.Interval, rates)
	for c, rate := range rates {
		r.Spent += rate * t.cost(c) / t.budget
	}
	return r
}

// optimum solves for all channels at once. Fast may spend as much as it needs,
// up to its ceiling.
func (t *trial) optimum(policy honeycomb.Policy) []float64 {
	config := t.config
	config.Policy = policy
	if policy == honeycomb.Fast {
		config.Budget = t.budget * fastCeiling
	}
	p, err := honeycomb.Prepare(config, t.channels)
	if err != nil {
		panic(err) // the workload is ours, and checked
	}
	p.Solve()
	rates := make([]float64, t.channels.Len())
	fill(rates, p.Rate)
	return rates
}

// shared polls every channel in proportion to its share, rounded down to what
// the ladder has, as often as the budget allows.
func (t *trial) shared(share func(q float64) float64) []float64 {
	rates := make([]float64, t.channels.Len())
	spend := func(scale float64) (spent float64) {
		for c, q := range t.workload.subscribers {
			rates[c] = t.rung(c, share(q)*scale)
		}
		t.capHosts(rates)
		for c, rate := range rates {
			spent += rate * t.cost(c)
		}
		return spent
	}
	low, high := 0.0, float64(t.options.Nodes)
	for range 60 {
		if middle := (low + high) / 2; spend(middle) <= t.budget {
			low = middle
		} else {
			high = middle
		}
	}
	spend(low)
	return rates
}

// rung rounds a rate down to one that there is, a poll an interval at least.
func (t *trial) rung(c int, rate float64) float64 {
	if most := t.channels.MaxRate; most != nil && most[c] > 0 {
		return most[c]
	}
	if t.rates == nil {
		return min(max(math.Floor(rate), 1), float64(t.options.Nodes))
	}
	for _, rung := range t.rates {
		if rung <= rate {
			return rung
		}
	}
	return 1
}

// capHosts lowers the rates of hosts whose channels together pass the cap, all
// by the same factor, to what the ladder has.
func (t *trial) capHosts(rates []float64) {
	if !t.caps {
		return
	}
	polls := make([]float64, crowdedHosts)
	for c, host := range t.channels.Host {
		if host >= 0 && int(host) < crowdedHosts {
			polls[host] += rates[c]
		}
	}
	for c, host := range t.channels.Host {
		if host >= 0 && int(host) < crowdedHosts && polls[host] > t.config.HostCap {
			rate := rates[c] * t.config.HostCap / polls[host]
			rates[c] = t.below(c, rate)
		}
	}
}

// below rounds down like rung, but to 1/2, 1/3, … where it must.
func (t *trial) below(c int, rate float64) float64 {
	if rate >= 1 {
		return t.rung(c, rate)
	}
	return 1 / math.Ceil(1/rate)
}
