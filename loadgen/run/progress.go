package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/loadgen/track"
)

// Progress is how far a run is.
type Progress struct {
	Phase         string
	Begun         time.Time     // the phase
	Planned       time.Duration // how long the phase takes; 0: as long as it takes
	Subscriptions int
	PollsPerS     float64 // of the last second
	PlannedPerS   float64 // 0: not known yet
	Updates       int64   // delivered, of the window
	WorstLateMs   float64
	Broken        []string // thresholds that are broken already
}

// phase is where a run is.
type phase struct {
	mu    sync.Mutex
	name  string
	begun time.Time
	long  time.Duration
}

func (p *phase) enter(name string, long time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.begun, p.long = name, time.Now(), long
}

// tell tells how far the run is, each second.
func (r *run) tell(ctx context.Context) error {
	if r.Progress == nil {
		return nil
	}
	for next := time.Now(); ; {
		next = next.Add(time.Second)
		if pause(ctx, next) != nil {
			return nil
		}
		r.Progress(r.progress())
	}
}

func (r *run) progress() Progress {
	r.phase.mu.Lock()
	p := Progress{Phase: r.phase.name, Begun: r.phase.begun, Planned: r.phase.long}
	r.phase.mu.Unlock()
	p.Subscriptions = r.subscriber.crowd.total()
	p.PollsPerS = float64(r.tracker.RecentPolls(time.Now()))
	if plan := r.plans.latest(); plan != nil {
		p.PlannedPerS = plan.PollsPerS
	}
	now := r.tracker.Progress()
	p.Updates, p.WorstLateMs = now.Deliveries, now.WorstLateMs
	p.Broken = r.broken(now)
	return p
}

// broken returns the thresholds on counts, which only grow, that are broken already.
func (r *run) broken(now track.Progress) (broken []string) {
	counts := map[string]int64{
		"duplicates": now.Duplicates, "out_of_order": now.OutOfOrder, "polls_skipped": now.Skipped, "floor_violations": now.Floors,
	}
	for _, l := range r.Scenario.Limits() {
		if count, known := counts[l.Metric]; known && l.Max != nil && float64(count) > l.Max.Value {
			broken = append(broken, fmt.Sprintf("%s %d", l.Metric, count))
		}
	}
	return broken
}
