package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/engine/admission"
)

// An import gets on while due polls begin late all the time, whatever is to blame for
// that, and while a tenth of its hosts hang.
func TestImportWhilePollsAreLate(t *testing.T) {
	s := newRig(Config{Interval: time.Hour, Floor: time.Minute, HostGap: time.Second})
	const channels, step = 2000, int64(100 * time.Millisecond)
	start := int64(1e18)
	for i := range channels {
		s.Attach(s.get(i), s.Host(s.get(i).ID, func() bool { return false })) // a host for each
		s.order(i, 0, start)
	}
	type running struct {
		poll *Poll[site]
		end  int64
	}
	var polls []running
	begun, done := 0, 0
	for now := start; now < start+int64(2*time.Minute); now += step {
		s.Promote(true, now)
		polls = slices.DeleteFunc(polls, func(r running) bool {
			if r.end > now {
				return false
			}
			s.unchanged(r.poll, now)
			done++
			return true
		})
		s.workers.Feedback(admission.Steady, now, now-int64(60*time.Millisecond), admission.Load{}, now)
		for p, ok := s.begin(now); ok; p, ok = s.begin(now) {
			took := int64(300 * time.Millisecond)
			if begun++; begun%10 == 0 {
				took = int64(30 * time.Second)
			}
			polls = append(polls, running{p, now + took})
		}
	}
	if done < channels*9/10 {
		t.Errorf("%d of %d first polls in two minutes", done, channels)
	}
}
