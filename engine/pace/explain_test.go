package pace

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

const (
	minute = int64(time.Minute)
	half   = 1 << 63 // of a period, as a phase
)

// paced is a pace whose slots, of a channel of phase 0 and one poll an interval, are at
// :00 and :30.
var paced = Pace{Interval: halfHour, Floor: 5 * time.Minute}

var once = overlay.Rate{Polls: 1, Intervals: 1}

// What makes a channel wait, at 9:10 on a Friday: until when, why, and when it is polled.
func TestExplain(t *testing.T) {
	nine, now := at(0, 9, 0), at(0, 9, 10)
	day := overlay.Rate{Polls: 1, Intervals: 48} // at 12:00, with half a phase
	tests := []struct {
		name    string
		channel Channel
		wait    Wait
		due     int64
		until   int64
		why     Cause
	}{
		{"its next slot", Channel{LastPoll: nine}, Wait{}, nine + 30*minute, 0, ByNothing},
		{"never polled", Channel{}, Wait{}, nine + 30*minute, 0, ByNothing},
		{"its slots by its phase", Channel{LastPoll: nine - 15*minute}, Wait{Phase: half}, nine + 15*minute, 0, ByNothing},
		{"not under the floor", Channel{LastPoll: nine + 26*minute}, Wait{}, nine + 31*minute, 0, ByNothing},
		{"slots that it has missed", Channel{LastPoll: nine - 100*minute}, Wait{}, nine + 30*minute, 0, ByNothing},
		{"no rate", Channel{Rate: overlay.Rate{Intervals: 1}, LastPoll: nine}, Wait{}, Never, 0, ByNothing},

		{"a first poll", Channel{}, Wait{First: true}, now, 0, ByNothing},
		{"a first poll again", Channel{LastPoll: now - minute}, Wait{First: true}, now + 4*minute, 0, ByRetryAfter},
		{"a first poll long ago", Channel{LastPoll: now - 9*minute}, Wait{First: true}, now, 0, ByRetryAfter},
		{"a first poll that is to wait", Channel{LastPoll: now - minute}, Wait{First: true, NotBefore: now + 20*minute}, now + 20*minute, now + 20*minute, ByRetryAfter},
		{"a first poll, of a host that refused", Channel{}, Wait{First: true, Host: &Refusals{Count: 1}}, nine + 30*minute, 0, ByNothing},

		{"one failure", Channel{LastPoll: nine, Failures: 1}, Wait{}, nine + 30*minute, 0, ByNothing},
		{"two failures", Channel{LastPoll: nine, Failures: 2}, Wait{}, nine + 60*minute, nine + 30*minute, ByFailures},
		{"three failures", Channel{LastPoll: nine, Failures: 3}, Wait{}, nine + 120*minute, nine + 90*minute, ByFailures},
		{"Retry-After", Channel{LastPoll: nine}, Wait{NotBefore: nine + 70*minute}, nine + 90*minute, nine + 70*minute, ByRetryAfter},
		{"Retry-After, longer than failures", Channel{LastPoll: nine, Failures: 2}, Wait{NotBefore: nine + 31*minute}, nine + 60*minute, nine + 31*minute, ByRetryAfter},
		{"failures, longer than Retry-After", Channel{LastPoll: nine, Failures: 2}, Wait{NotBefore: nine + 29*minute}, nine + 60*minute, nine + 30*minute, ByFailures},
		{"Retry-After that is over", Channel{LastPoll: nine}, Wait{NotBefore: now - minute}, nine + 30*minute, now - minute, ByRetryAfter},

		{"its host rests, it is next", Channel{LastPoll: nine}, Wait{Phase: 1, Host: &Refusals{Count: 1, Until: now + 40*minute}}, now + 40*minute, now + 40*minute, ByHost},
		{"its host rests, it is in the middle", Channel{LastPoll: nine}, Wait{Phase: half + 1, Host: &Refusals{Count: 1, Until: now + 40*minute}}, now + 55*minute, now + 40*minute, ByHost},
		{"its host rests, its turn is counted from the one that was refused", Channel{LastPoll: nine}, Wait{Phase: 8, Host: &Refusals{Count: 1, Turn: 7, Until: now + 40*minute}}, now + 40*minute, now + 40*minute, ByHost},
		{"its host rests for less than the floor", Channel{LastPoll: now - minute}, Wait{Phase: 1, Host: &Refusals{Count: 1, Until: now + minute}}, now + 4*minute, now + minute, ByHost},
		{"its host rests, and a first poll with it", Channel{}, Wait{First: true, Phase: 1, Host: &Refusals{Count: 1, Until: now + 40*minute}}, now + 40*minute, now + 40*minute, ByHost},
		{"its host's rest is over", Channel{LastPoll: nine}, Wait{Host: &Refusals{Count: 1, Until: now}}, nine + 30*minute, now, ByHost},

		{"fresh until between two slots", Channel{LastPoll: nine, FreshUntil: nine + 45*minute}, Wait{}, nine + 60*minute, nine + 45*minute, ByFreshness},
		{"fresh until shortly after a slot", Channel{LastPoll: nine, FreshUntil: nine + 30*minute + 50e9}, Wait{}, nine + 30*minute + 50e9, nine + 30*minute + 50e9, ByFreshness},
		{"fresh until a thirty-second after a slot", Channel{LastPoll: nine, FreshUntil: nine + 30*minute + 57e9}, Wait{}, nine + 60*minute, nine + 30*minute + 57e9, ByFreshness},
		{"fresh for less than Retry-After", Channel{LastPoll: nine, FreshUntil: nine + 45*minute}, Wait{NotBefore: nine + 70*minute}, nine + 90*minute, nine + 70*minute, ByRetryAfter},
		{"fresh no more", Channel{LastPoll: nine, FreshUntil: now - minute}, Wait{}, nine + 30*minute, 0, ByNothing},
		{"fresh while its host rests", Channel{LastPoll: nine, FreshUntil: now + 50*minute}, Wait{Phase: 1, Host: &Refusals{Count: 1, Until: now + 40*minute}}, now + 50*minute, now + 40*minute, ByHost},

		{"an hour left out", Channel{LastPoll: nine - 30*minute}, Wait{Skip: NewSkip(1<<9, 0)}, at(0, 10, 0), at(0, 10, 0), BySkip},
		{"an hour left out, spread up to the next slot", Channel{LastPoll: nine - 15*minute}, Wait{Phase: half, Skip: NewSkip(1<<9, 0)}, at(0, 10, 15), at(0, 10, 0), BySkip},
		{"an hour left out, spread by the phase", Channel{Rate: day, LastPoll: at(-1, 12, 0)}, Wait{Phase: half, Skip: NewSkip(1<<12, 0)}, at(0, 13, 30), at(0, 13, 0), BySkip},
		{"an hour left out that it does not come to", Channel{LastPoll: nine}, Wait{Skip: NewSkip(1<<11, 0)}, nine + 30*minute, 0, ByNothing},
		{"three days left out, of which it waits one", Channel{LastPoll: nine}, Wait{Skip: NewSkip(0, 1<<time.Friday|weekend)}, at(1, 9, 0), at(1, 9, 0), BySkip},
		{"three days left out, never polled", Channel{}, Wait{Skip: NewSkip(0, 1<<time.Friday|weekend)}, at(3, 0, 0), at(3, 0, 0), BySkip},
		{"a day left out", Channel{LastPoll: at(-1, 23, 30)}, Wait{Skip: NewSkip(0, 1<<time.Friday)}, at(1, 0, 0), at(1, 0, 0), BySkip},
		{"three days left out, and a day has passed", Channel{LastPoll: at(-1, 9, 5)}, Wait{Skip: NewSkip(0, 1<<time.Thursday|1<<time.Friday|1<<time.Saturday)}, nine + 30*minute, 0, ByNothing},
	}
	for _, tc := range tests {
		if tc.channel.Rate == (overlay.Rate{}) {
			tc.channel.Rate = once
		}
		tc.channel.Width = 1
		if tc.wait.Host == nil {
			tc.wait.Host = &Refusals{}
		}
		due, until, why := paced.Explain(&tc.channel, tc.wait, now)
		if due != tc.due || until != tc.until || why != tc.why {
			t.Errorf("%s: due %v, until %v by %q; want due %v, until %v by %q", tc.name, clock(due), clock(until), why, clock(tc.due), clock(tc.until), tc.why)
		}
	}
}

func clock(at int64) string {
	if at == 0 || at == Never {
		return "never"
	}
	return time.Unix(0, at).UTC().Format("Mon 15:04:05.999999999")
}

// A slot that has come just now is taken at once; one that was earlier than drift is
// exact has been missed.
func TestSlotJustNow(t *testing.T) {
	nine := at(0, 9, 0)
	for _, tc := range []struct{ late, due int64 }{
		{0, nine}, {50e6, nine + 50e6}, {54_931_641, nine + 54_931_641}, {54_931_642, nine + 30*minute}, {60e6, nine + 30*minute},
	} {
		c := Channel{Rate: once, Width: 1, LastPoll: nine - 30*minute}
		if due := paced.Next(&c, Wait{Host: &Refusals{}}, nine+tc.late); due != tc.due {
			t.Errorf("%v after a slot: due %s, want %s", time.Duration(tc.late), clock(due), clock(tc.due))
		}
	}
}
