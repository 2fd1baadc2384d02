package run

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/honeycomb"
	"github.com/seed-91e7e7c1/corona/loadgen/truth"
)

// settingsOf reads what a node was told to optimise from what it says of itself. Its floor
// is known by its channels alone: where it has none, it is the interval's default.
func settingsOf(ctx context.Context, client *api.Client) (s truth.Settings, err error) {
	status, err := client.Status(ctx)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrNode, err)
	}
	o := status.Optimiser
	s.Interval = time.Duration(o.IntervalS * float64(time.Second))
	s.Floor = min(5*time.Minute, s.Interval)
	if !o.BudgetAuto {
		s.Budget = o.Budget
	}
	if o.TargetS > 0 {
		s.Target = time.Duration(o.TargetS * float64(time.Second))
	}
	if s.Policy, err = honeycomb.ParsePolicy(o.Policy); err != nil {
		return s, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if s.Cost, err = honeycomb.ParseCost(o.Cost); err != nil {
		return s, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if s.Ladder, err = honeycomb.ParseLadder(o.Ladder); err != nil {
		return s, fmt.Errorf("%w: %w", ErrInput, err)
	}
	for ch, err := range client.Channels(ctx) {
		if err != nil {
			return s, fmt.Errorf("%w: %w", ErrNode, err)
		}
		why, err := client.Explain(ctx, ch.ID)
		if err != nil {
			return s, fmt.Errorf("%w: %w", ErrNode, err)
		}
		s.Floor = time.Duration(why.FloorS * float64(time.Second))
		break
	}
	return s, nil
}
