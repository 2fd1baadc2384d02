package streak

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"pgregory.net/rapid"
)

const (
	sinkA         = "http://a.example/hook"
	maxRetryAfter = 24 * time.Hour
)

var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestSchedule(t *testing.T) {
	if n := len(schedule); n != 10 {
		t.Fatalf("%d steps, want 10", n)
	}
	if last := schedule[len(schedule)-1]; last != 75*time.Hour+35*time.Minute {
		t.Errorf("the last step comes after %s, want 75h35m", last)
	}
	e := channel.Endpoint{URL: sinkA}
	now := epoch2000
	for step := 1; step <= len(schedule); step++ {
		e = failed(e, now, "no")
		if e.Attempts != step || !e.FailingSince.Equal(epoch2000) {
			t.Fatalf("after failure %d: %+v", step, e)
		}
		if step == len(schedule) {
			break
		}
		due := epoch2000.Add(schedule[step])
		earliest := due.Add(-min(maxJitter, (schedule[step]-schedule[step-1])/10) - time.Microsecond)
		if e.State != channel.EndpointActive || e.NextAttempt.After(due) || e.NextAttempt.Before(earliest) {
			t.Errorf("step %d: %+v, want an attempt at %s or a little before", step, e, due)
		}
		now = e.NextAttempt
	}
	if wait := e.NextAttempt.Sub(now); e.State != channel.EndpointSuspended || wait > 24*time.Hour || wait < 24*time.Hour-maxJitter {
		t.Errorf("after the schedule: %+v", e)
	}
}

// However late the attempts are, the streak ends, and none comes at once.
func TestScheduleProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := channel.Endpoint{URL: rapid.String().Draw(t, "url")}
		now := epoch2000.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "begin")))
		began := stamp(now)
		for e.State == channel.EndpointActive {
			before := e
			e = failed(e, now, "no")
			if e.Attempts <= before.Attempts || !e.FailingSince.Equal(began) {
				t.Fatalf("%+v became %+v", before, e)
			}
			if !e.NextAttempt.After(now) {
				t.Fatalf("at %s: next attempt %s", now, e.NextAttempt)
			}
			now = e.NextAttempt.Add(time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "late")))
		}
		if e.Attempts > len(schedule) {
			t.Fatalf("suspended after %d attempts", e.Attempts)
		}
	})
}

// An endpoint is left alone for as long as it asks, a day at most, but not beyond
// the last step of the schedule, before which what it missed falls out.
func TestPostponeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := channel.Endpoint{URL: rapid.String().Draw(t, "url")}
		now := epoch2000
		for e.State == channel.EndpointActive {
			planned := failed(e, now, "no")
			wait := time.Duration(rapid.Int64Range(0, int64(maxRetryAfter)).Draw(t, "wait"))
			e = postponed(planned, now, wait)
			asked, last := stamp(now.Add(wait)), stamp(epoch2000.Add(schedule[len(schedule)-1]))
			if e.NextAttempt.Before(planned.NextAttempt) || e.NextAttempt.Before(asked) && e.NextAttempt.Before(last.Add(-maxJitter-time.Microsecond)) {
				t.Fatalf("at %s, asked for %s: %+v instead of %+v", now, wait, e, planned)
			}
			if e.State == channel.EndpointActive && e.NextAttempt.After(last) {
				t.Fatalf("at %s, asked for %s: %+v is beyond the schedule", now, wait, e)
			}
			if e.NextAttempt.After(now.Add(maxRetryAfter)) && e.NextAttempt != planned.NextAttempt {
				t.Fatalf("at %s, asked for %s: %+v", now, wait, e)
			}
			now = e.NextAttempt
		}
	})
	gone := disabled(channel.Endpoint{URL: sinkA}, epoch2000, "gone")
	if got := postponed(gone, epoch2000, time.Hour); got != gone {
		t.Errorf("a disabled endpoint became %+v", got)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"abc", "abc"}, {"abcd", "abcd"}, {"abcde", "abcd…"}, {"abcé", "abc…"}, {"", ""},
	} {
		if got := clip(test.in, 4); got != test.want {
			t.Errorf("clip(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}
