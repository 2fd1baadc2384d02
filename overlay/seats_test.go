package overlay

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Seats are the order of the ranks' reversed bits.
func TestSeat(t *testing.T) {
	for width := range 130 {
		order := make([]int, width)
		for rank := range order {
			order[rank] = rank
		}
		slices.SortFunc(order, func(a, b int) int {
			return int(bits.Reverse8(uint8(a))) - int(bits.Reverse8(uint8(b)))
		})
		for seat, rank := range order {
			if got := Seat(rank, width); got != seat {
				t.Fatalf("rank %d of %d has seat %d, want %d", rank, width, got, seat)
			}
		}
	}
}

// Whoever stays keeps its place in the round whatever the width: within the
// discrepancy of van der Corput's sequence (Béjian and Faure 1977: log₂n/3 + 1
// places of n).
func TestSeatsStayInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 1<<20).Draw(t, "width")
		rank := rapid.IntRange(0, width-1).Draw(t, "rank")
		place := float64(bits.Reverse32(uint32(rank))) / (1 << 32)
		most := math.Log2(float64(width))/3 + 1
		if moved := math.Abs(float64(Seat(rank, width)) - place*float64(width)); moved > most {
			t.Fatalf("rank %d of %d: seat %d, %v places from its place %v", rank, width, Seat(rank, width), moved, place)
		}
	})
}

// Another poller moves no other poller by a slot.
func TestOneMoreMovesNoOther(t *testing.T) {
	for width := 1; width < 300; width++ {
		for rank := range width {
			before := float64(Seat(rank, width)) / float64(width)
			after := float64(Seat(rank, width+1)) / float64(width+1)
			if slot := 1 / float64(width+1); math.Abs(after-before) >= slot {
				t.Fatalf("rank %d moves from %v to %v when %d become %d", rank, before, after, width, width+1)
			}
		}
	}
}

// With a floor as long as the interval pollers cannot come sooner than the rate
// before had them. When the rate rises changes wait hardly longer all the same:
// some of those who stay sit a turn out, and newcomers come in everywhere.
// (Were seats the ranks themselves, changes would wait up to 73 times as long.)
func TestRiseLeavesNoGap(t *testing.T) {
	const draws = 100
	random := rand.New(rand.NewPCG(1, 1))
	for more, most := range map[uint32]float64{1: 1.01, 2: 1.1, 5: 1.7, 20: 1.3, 100: 1, 1000: 0.3} {
		var longer float64 // than before the rise, on average
		for range draws {
			before := Slots{Interval: 30 * time.Minute, Phase: random.Uint64(), Rate: Rate{8 + random.Uint32N(292), 1}}
			after := before
			after.Rate.Polls += more
			before.Width, after.Width = int(before.Rate.Polls), int(after.Rate.Polls)
			changed := time.Unix(1e9+random.Int64N(1e9), random.Int64N(1e9))
			longer += meanWait(before, after, changed) / (before.Interval.Seconds() / 2 / float64(before.Width)) / draws
		}
		if longer > most {
			t.Errorf("rate rises by %d: changes of the interval after it wait %.2f times as long as before, want %v", more, longer, most)
		}
	}
}

// meanWait returns how many seconds changes of the interval that follows a change
// of the rate wait for a poll, with a floor of the interval.
func meanWait(before, after Slots, changed time.Time) (mean float64) {
	var polls []time.Time
	for rank := range after.Width {
		polls = append(polls, pollsThrough(before, after, rank, changed)...)
	}
	slices.SortFunc(polls, time.Time.Compare)
	last := changed
	for _, poll := range polls {
		if poll.After(changed) && poll.Sub(changed) <= after.Interval {
			gap := poll.Sub(last).Seconds()
			mean += gap * gap / 2 / after.Interval.Seconds()
			last = poll
		}
	}
	return mean
}

// pollsThrough returns when a rank polls in the interval before a change of the
// rate and in the two after it, with a floor of the interval.
func pollsThrough(before, after Slots, rank int, changed time.Time) (polls []time.Time) {
	before.Rank, after.Rank = rank, rank
	var last time.Time
	if rank < before.Width {
		_, last = before.Next(changed.Add(-before.Interval))
		polls = append(polls, last)
	}
	for now := changed; ; {
		now = after.NextPoll(now, last, after.Interval)
		if now.Sub(changed) > 2*after.Interval {
			return polls
		}
		polls, last = append(polls, now), now
	}
}

// BenchmarkSeat asks what finding a seat of a thousand costs; ns/op counts.
//
//	go test -bench Seat -run '^$' ./overlay
func BenchmarkSeat(b *testing.B) {
	rank := 0
	for b.Loop() {
		rank = Seat(rank&1023, 1024) + 511
	}
}
