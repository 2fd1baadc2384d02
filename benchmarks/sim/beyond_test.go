package sim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/honeycomb"
)

func TestBeyond(t *testing.T) {
	o := scaled(t, 40, 500)
	b, err := RunBeyond(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	legacy, ours := b.Flash[0], b.Flash[len(b.Flash)-1] // with the short floor: room to rise
	if legacy.After.Load < 1.3*legacy.Before.Load || legacy.Hit.After < 850 {
		t.Errorf("legacy in a flash crowd: %+v, %+v", legacy.After, legacy.Hit)
	}
	if ours.Hit.After > 0.7*ours.Hit.Before {
		t.Errorf("lite, ours: channels with a flash crowd wait %+v", ours.Hit)
	}
	if fast := b.Flash[4]; fast.After.Load > fast.Before.Load*1.1 {
		t.Errorf("fast, ours: load %v before and %v after a flash crowd", fast.Before.Load, fast.After.Load)
	}
	known, learned, unknown := b.Estimates[0], b.Estimates[1], b.Estimates[3]
	if !(known.Planned < learned.Planned && learned.Planned < unknown.Planned) || known.Error != 0 {
		t.Errorf("planned waits per update: known %v, learned %v, unknown %v", known.Planned, learned.Planned, unknown.Planned)
	}
	for i := 1; i < len(b.Skew); i++ {
		if b.Skew[i].Detection < b.Skew[i-1].Detection*0.99 {
			t.Errorf("%v s of skew wait less than %v", b.Skew[i], b.Skew[i-1])
		}
	}
	if page := b.Report(); len(page.Sections) != 7 {
		t.Errorf("%d sections", len(page.Sections))
	}
	o.Hours = 5
	if _, err := RunBeyond(t.Context(), o); err == nil {
		t.Error("five hours are over before nodes have joined again")
	}
}

// Deaths cost polls and give ranks away; the paper's tree stays consistent.
func TestChurn(t *testing.T) {
	o := small()
	o.Channels, o.Subscriptions, o.Nodes = 400, 20_000, 300
	w := newWorkload(o)
	dead := func(node int) bool { return node%10 == 3 }
	h := newHierarchy(o, w, steady{w, o.Interval}, honeycomb.Lite)
	h.events = []event{
		{eventAt, func(at time.Duration) { h.setAlive(at, dead) }},
		{rejoinAt, func(at time.Duration) { h.setAlive(at, func(int) bool { return false }) }},
	}
	h.run(func() bool {
		for c := range w.ids {
			owners := 0
			for _, p := range h.wedges[c] {
				if p.until != never {
					continue
				}
				if h.members[p.node].dead {
					t.Fatalf("channel %d: node %d is dead and polls", c, p.node)
				}
				if p.base == h.top {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("channel %d has %d owners", c, owners)
			}
		}
		return true
	})
	m := measure(o, w, steady{w, o.Interval}, h.polling)
	if m.Missed > 0 {
		t.Errorf("%d updates that no poll would detect", m.Missed)
	}
}

// Every experiment ends soon after it is interrupted.
func TestInterrupted(t *testing.T) {
	o := scaled(t, 20, 300)
	o.Subscriptions = 3000
	for name, run := range map[string]func(context.Context) error{
		"table2":     func(ctx context.Context) error { _, err := RunTable2(ctx, o); return err },
		"figures":    func(ctx context.Context) error { _, err := RunFigures(ctx, o); return err },
		"deployment": func(ctx context.Context) error { _, err := RunDeployment(ctx, o); return err },
		"heuristics": func(ctx context.Context) error { _, err := RunHeuristics(ctx, o); return err },
		"beyond":     func(ctx context.Context) error { _, err := RunBeyond(ctx, o); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(done, _ int) {
			if done == 3 {
				cancel()
			}
		}
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
