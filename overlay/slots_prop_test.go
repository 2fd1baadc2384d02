package overlay

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawSlots draws slots of every kind that a cluster may plan: intervals from
// 50 ms to a week, rates from 1/48 to 10,000, wedges of any width.
func drawSlots(t *rapid.T) Slots {
	s := Slots{
		Interval: time.Duration(rapid.Int64Range(50e6, 7*24*3600e9).Draw(t, "interval")),
		Rate:     Rate{1, 1},
		Phase:    rapid.Uint64().Draw(t, "phase"),
		Width:    rapid.IntRange(1, 40).Draw(t, "width"),
	}
	if rapid.Bool().Draw(t, "slow") {
		s.Rate.Intervals = rapid.Uint32Range(2, 48).Draw(t, "intervals")
	} else {
		s.Rate.Polls = rapid.Uint32Range(1, 10_000).Draw(t, "polls")
	}
	s.Rank = rapid.IntRange(0, s.Width-1).Draw(t, "rank")
	return s
}

// drawTime draws a time from 1970 to past 2500.
func drawTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 17_000_000_000).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).UTC()
}

// Due is the definition's value to the nanosecond, and Next is its inverse.
func TestSlotsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, after := drawSlots(t), drawTime(t)
		k, due := s.Next(after)
		if k%int64(s.Width) != int64(Seat(s.Rank, s.Width)) {
			t.Fatalf("slot %d does not belong to rank %d of %d", k, s.Rank, s.Width)
		}
		if exactDue(s, k).Cmp(exactNanos(due)) != 0 {
			t.Fatalf("Due(%d) = %v, by definition %v ns", k, due, exactDue(s, k))
		}
		if !due.After(after) {
			t.Fatalf("slot %d at %v is not after %v", k, due, after)
		}
		if before := k - int64(s.Width); before >= 0 && s.Due(before).After(after) {
			t.Fatalf("slot %d at %v is after %v too, and comes before %d", before, s.Due(before), after, k)
		}
	})
}

// The polls of all ranks together are all slots, each once, evenly spaced to a
// nanosecond, in whatever year.
func TestRanksInterleaveEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, after := drawSlots(t), drawTime(t)
		first, _ := Slots{Interval: s.Interval, Rate: s.Rate, Phase: s.Phase}.Next(after)
		gap := Slots{Interval: s.Interval, Rate: s.Rate, Width: 1}.Period()
		dues := make([]time.Time, 3*s.Width)
		for rank := range s.Width {
			own, from := s, after
			own.Rank = rank
			for range 3 {
				k, due := own.Next(from)
				if i := k - first; i < 0 || i >= int64(len(dues)) || !dues[i].IsZero() {
					t.Fatalf("rank %d takes slot %d; the first is %d", rank, k, first)
				}
				dues[k-first], from = due, due
			}
		}
		for i := 1; i < len(dues); i++ {
			if d := dues[i].Sub(dues[i-1]); d < gap || d > gap+1 {
				t.Fatalf("slots %d and %d are %v apart, want %v", i-1, i, d, gap)
			}
		}
	})
}

// With the width that WidthOf gives, slots alone keep the floor.
func TestWidthKeepsFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSlots(t)
		floor := time.Duration(rapid.Int64Range(0, int64(s.Interval)).Draw(t, "floor"))
		s.Width = WidthOf(s.Rate, s.Interval, floor)
		s.Rank %= s.Width
		_, due := s.Next(drawTime(t))
		_, next := s.Next(due)
		if gap := next.Sub(due); gap < floor {
			t.Fatalf("width %d: own polls %v apart, floor %v", s.Width, gap, floor)
		}
		if narrow := s.Width - 1; narrow > 0 {
			s.Width, s.Rank = narrow, 0
			if s.Period() >= floor {
				t.Fatalf("width %d would have done: period %v, floor %v", narrow, s.Period(), floor)
			}
		}
	})
}

// One egress never comes sooner than the floor, whatever happens to rate, width,
// rank and membership, and whenever the plan is asked; and what it plans does
// not drift away by being asked again.
func TestNeverUnderFloorThroughChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawSlots(t), drawTime(t)
		floor := time.Duration(rapid.Int64Range(0, int64(s.Interval)).Draw(t, "floor"))
		var last time.Time
		for range 30 {
			if rapid.Bool().Draw(t, "change") {
				interval, phase := s.Interval, s.Phase
				s = drawSlots(t)
				s.Interval, s.Phase = interval, phase
			}
			next := s.NextPoll(now, last, floor)
			if !next.After(now) {
				t.Fatalf("planned for %v, asked at %v", next, now)
			}
			if !last.IsZero() && next.Sub(last) < floor {
				t.Fatalf("polls at %v and %v: %v apart, floor %v", last, next, next.Sub(last), floor)
			}
			between := now.Add(next.Sub(now) / time.Duration(rapid.IntRange(2, 5).Draw(t, "fraction")))
			if again := s.NextPoll(between, last, floor); !again.Equal(next) {
				t.Fatalf("planned for %v at %v, for %v at %v", next, now, again, between)
			}
			checkSlot(t, s, next, last, floor)
			if rapid.Bool().Draw(t, "poll") {
				lateness := time.Duration(rapid.Int64Range(0, int64(s.Interval)).Draw(t, "lateness"))
				last, now = next.Add(lateness), next.Add(lateness)
			} else {
				now = between
			}
		}
	})
}

// checkSlot holds that a planned poll takes a slot of its own rank: on time, or
// late only for the floor and before the channel's next slot.
func checkSlot(t *rapid.T, s Slots, next, last time.Time, floor time.Duration) {
	k := s.first(next) - 1
	if k < 0 || k%int64(s.Width) != int64(Seat(s.Rank, s.Width)) {
		t.Fatalf("poll at %v falls into slot %d, not of rank %d of %d", next, k, s.Rank, s.Width)
	}
	if due := s.Due(k); !due.Equal(next) && (!last.Add(floor).Equal(next) || !due.After(last)) {
		t.Fatalf("poll at %v: slot %d was due %v, last poll %v, floor %v", next, k, due, last, floor)
	}
}

// However often rates change, a poller that is alone leaves out no more than the
// floor demands: from one poll to the next at most one period and one floor.
func TestNoPollLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawSlots(t), drawTime(t)
		s.Width, s.Rank = 1, 0
		floor := time.Duration(rapid.Int64Range(0, int64(s.Interval)).Draw(t, "floor"))
		last := now
		next := s.NextPoll(now, last, floor)
		if most := s.Period() + 1 + floor; next.Sub(last) > most {
			t.Fatalf("polls %v apart, want at most %v", next.Sub(last), most)
		}
	})
}

// BenchmarkNextPoll asks what planning a poll costs; ns/op counts.
//
//	go test -bench NextPoll -run '^$' ./overlay
func BenchmarkNextPoll(b *testing.B) {
	s := Slots{Interval: 30 * time.Minute, Rate: Rate{7, 1}, Phase: 1 << 60, Width: 2, Rank: 1}
	now := time.Unix(1_800_000_000, 0)
	b.ReportAllocs()
	for b.Loop() {
		now = s.NextPoll(now, now, 5*time.Minute)
	}
}
