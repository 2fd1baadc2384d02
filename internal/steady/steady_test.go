package steady

import (
	"log/slog"
	"testing"
	"time"
)

// TestSteady: of a clock that leaps ahead nothing is seen if it comes back soon, and all after a
// minute; what it is set back by is seen at once.
func TestSteady(t *testing.T) {
	const year = 365 * 24 * time.Hour
	begin := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	type step struct {
		passes, set time.Duration // time, and what the clock is set ahead by then
		behind      time.Duration // how far behind the clock the reading is
	}
	for name, steps := range map[string][]step{
		"passes":                   {{time.Hour, 0, 0}, {time.Minute, 0, 0}},
		"is corrected":             {{time.Second, 5 * time.Second, 0}, {time.Second, -5 * time.Second, 0}, {time.Second, 9 * time.Second, 0}},
		"leaps and comes back":     {{time.Second, year, year}, {30 * time.Second, 0, year}, {time.Second, -year, 0}, {time.Hour, 0, 0}},
		"comes back nearly":        {{time.Second, year, year}, {time.Second, -year + 3*time.Second, 0}, {time.Second, 0, 0}},
		"leaps for good":           {{time.Second, year, year}, {59 * time.Second, 0, year}, {time.Second, 0, 0}, {time.Second, -year, 0}},
		"leaps twice":              {{time.Second, time.Hour, time.Hour}, {50 * time.Second, year, year + time.Hour}, {50 * time.Second, 0, year + time.Hour}, {10 * time.Second, 0, 0}},
		"is set back":              {{time.Second, -year, 0}, {time.Second, 0, 0}},
		"leaps, and again a month": {{time.Second, year, year}, {2 * time.Minute, 0, 0}, {time.Second, year, year}, {time.Second, -year, 0}},
	} {
		wall, ran := begin, time.Duration(0)
		c := &clock{wall: func() time.Time { return wall }, ran: func() time.Duration { return ran }, log: slog.New(slog.DiscardHandler)}
		c.now()
		for i, step := range steps {
			wall, ran = wall.Add(step.passes+step.set), ran+step.passes
			if behind := wall.Sub(c.now()); behind != step.behind {
				t.Errorf("a clock that %s, step %d: read %v behind, want %v", name, i, behind, step.behind)
			}
		}
	}
}
