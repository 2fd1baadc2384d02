package sim

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/benchmarks/internal/costs"
)

// scaled are options of a small cluster, with the costs of this version.
func scaled(t *testing.T, nodes, channels int) Options {
	t.Helper()
	measured, err := MeasuredCosts()
	if err != nil {
		t.Fatal(err)
	}
	o := BeyondOptions()
	o.Nodes, o.Channels, o.Subscriptions, o.Costs = nodes, channels, SubscriptionsFor(channels), measured
	return o
}

// Each channel is owned by one node, whichever of them is sampled; the plans of all come to
// the budget, and the polls that each node gets from all owners to the rates planned.
func TestSharesAddUp(t *testing.T) {
	o := scaled(t, 7, 7000)
	o.Subscriptions = 20 * o.Channels // the floor allows 42 polls an interval
	var owned int
	var subscribers, load, polls float64
	byNode := make([]float64, o.Nodes)
	numbers := make(map[int]bool)
	for node := range o.Nodes {
		sh, err := newShare(newJob(t.Context(), o, 1), o, node)
		if err != nil {
			t.Fatal(err)
		}
		if sh.channels != o.Channels || math.Abs(sh.subscribers/float64(o.Subscriptions)-1) > 0.01 {
			t.Errorf("node %d sees %d channels with %v subscribers", node, sh.channels, sh.subscribers)
		}
		for _, m := range sh.own {
			numbers[m.number] = true
			subscribers += m.subscribers
		}
		owned += len(sh.own)
		load += sh.sums.load
		for n, s := range sh.seats {
			byNode[n] += s.polls
			polls += s.polls
		}
		if node == o.Nodes-1 && subscribers != sh.subscribers {
			t.Errorf("nodes own channels with %v subscribers, all have %v", subscribers, sh.subscribers)
		}
	}
	if owned != o.Channels || len(numbers) != o.Channels {
		t.Errorf("nodes own %d channels, %d of them different, of %d", owned, len(numbers), o.Channels)
	}
	within(t, "polls planned, to the budget", load, subscribers, 0.02)
	within(t, "polls of all nodes, to those planned", polls, load, 1e-9)
	within(t, "polls of the busiest, to those of the idlest", slices.Max(byNode), slices.Min(byNode), 0.15)
}

// What one node's share says of all is what all nodes' shares come to.
func TestShareStandsForAll(t *testing.T) {
	o := scaled(t, 4, 40_000)
	whole := o
	whole.Nodes = 1 // a node alone owns every channel
	all, err := newShare(newJob(t.Context(), whole, 1), whole, 0)
	if err != nil {
		t.Fatal(err)
	}
	one, err := newShare(newJob(t.Context(), o, 1), o, 0)
	if err != nil {
		t.Fatal(err)
	}
	// A node alone polls a channel six times an interval at most: its wait is no measure.
	within(t, "channels", 4*float64(len(one.own)), float64(len(all.own)), 0.03)
	within(t, "subscribers", 4*one.sums.subscribers, all.sums.subscribers, 0.03)
	if all.sums.load > all.sums.subscribers*1.001 || one.sums.load > one.sums.subscribers*1.01 {
		t.Errorf("over the budget: %+v, %+v", all.sums, one.sums)
	}
}

// Nodes and channels that grow alike leave each node's share as it is; what goes with the
// nodes grows, and is no more than is named.
func TestScaleIsLevel(t *testing.T) {
	o := scaled(t, 48, 96_000)
	s, err := runScale(newJob(t.Context(), o, scaleSteps(o)), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Sizes) != 3 || s.Sizes[0].Nodes != 12 || s.Sizes[2].Channels != o.Channels || !s.Level {
		t.Fatalf("sizes %+v, level %t: %+v", s.Sizes, s.Level, s.Figures)
	}
	named := map[string]bool{}
	for _, f := range s.Figures {
		for _, v := range f.PerNode {
			if !(v > 0) || math.IsInf(v, 0) || len(f.PerNode) != 3 || f.Why == "" {
				t.Errorf("%+v", f)
			}
		}
		if f.Goes == withNodes {
			named[f.Name] = true
		}
		if exactly := f.Name == "bytes of tradeoffs" || f.Name == "bytes of leases"; exactly && (f.Growth < 3.5 || f.Growth > 5) {
			t.Errorf("%s grow by %v when nodes quadruple", f.Name, f.Growth)
		}
	}
	if len(named) == 0 || len(named) > 11 {
		t.Errorf("these go with the number of nodes: %v", named)
	}
	i := slices.IndexFunc(s.Figures, func(f ScaleFigure) bool { return f.Name == "channels polled" })
	s.Figures[i].PerNode[2] *= 4 // as if each node polled a part of all channels that does not shrink
	sh := &share{own: make([]owned, 100_000)}
	if s.judge([]*share{sh, sh}); s.Level {
		t.Errorf("%+v counts as level", s.Figures[i])
	}
}

// A cost that was not measured is left out.
func TestScaleRefusesCosts(t *testing.T) {
	o := scaled(t, 4, 400)
	for name := range o.Costs.Figures {
		for _, wrong := range []func(f *costs.File){
			func(f *costs.File) { delete(f.Figures, name) },
			func(f *costs.File) { f.Figures[name] = costs.Figure{Run: f.Figures[name].Run} },
			func(f *costs.File) { f.Figures[name] = costs.Figure{Value: math.NaN(), Run: f.Figures[name].Run} },
			func(f *costs.File) { f.Figures[name] = costs.Figure{Value: 1} },
		} {
			spoilt := *o.Costs
			spoilt.Figures = make(map[string]costs.Figure)
			for other, figure := range o.Costs.Figures {
				spoilt.Figures[other] = figure
			}
			wrong(&spoilt)
			bad := o
			bad.Costs = &spoilt
			if _, err := RunBeyond(t.Context(), bad); !errors.Is(err, costs.ErrCosts) {
				t.Errorf("%s is %+v: %v", name, spoilt.Figures[name], err)
			}
		}
	}
	bad := o
	bad.Costs = nil
	if _, err := RunBeyond(t.Context(), bad); !errors.Is(err, ErrOptions) {
		t.Errorf("without costs: %v", err)
	}
	if len(o.Costs.Figures) != len(costs.Names()) {
		t.Errorf("%d figures, want %d", len(o.Costs.Figures), len(costs.Names()))
	}
}

// A fit finds what measurements were made of; what would have to be negative is nothing.
func TestFit(t *testing.T) {
	for _, want := range []line{{1, 2, 3}, {5, 0, 1}, {0, 0, 2}, {4, 0, 0}} {
		var measured []costs.Idle
		for _, size := range [][2]int{{5, 16}, {5, 64}, {9, 64}, {12, 64}} {
			i := costs.Idle{Nodes: size[0], Ranges: size[1]}
			i.Sent = want.of(i.Replicas(), float64(i.Nodes-1))
			measured = append(measured, i)
		}
		got := fitIdle(measured).sent
		if math.Abs(got.base-want.base)+math.Abs(got.replica-want.replica)+math.Abs(got.peer-want.peer) > 1e-6 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	got := fitChange([]costs.Change{{Hops: 1, Processor: 5}, {Hops: 3, Processor: 4}})
	if got.base < 0 || got.hop != 0 {
		t.Errorf("a change that costs less with more messages: %+v", got)
	}
}

func TestScaleRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"too many channels":     func(o *Options) { o.Channels = mostScaled + 1 },
		"too many nodes":        func(o *Options) { o.Nodes = mostRanges + 1 },
		"too few subscriptions": func(o *Options) { o.Subscriptions = o.Channels - 1 },
		"no nodes":              func(o *Options) { o.Nodes = 0 },
	} {
		o := scaled(t, 100, 50_000_000)
		change(&o)
		if _, err := RunBeyond(t.Context(), o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
