package overlay

import (
	"math"
	"time"
)

// Slots are the polls of one channel, numbered for ever: poll k is due at
// (k + h)·interval/rate since the Unix epoch, where h = Phase/2^64, and belongs
// to the poller whose [Seat] is k mod Width. A poller's own polls are therefore
// Width·interval/rate apart, which [WidthOf] makes no less than the floor.
//
// A rate of 0, no interval, or a rank outside [0, Width) has no slots.
type Slots struct {
	Interval time.Duration // τ
	Rate     Rate
	Phase    uint64 // of [PhaseOf]
	Width    int    // pollers; less than 1 counts as 1
	Rank     int    // this poller's, from 0
}

// Seat returns which one of every width slots in a row a rank takes. Seats are
// in the order of the ranks' reversed bits (van der Corput's sequence: 0, 1/2,
// 1/4, 3/4, 1/8, …), so that any number of first ranks is spread evenly: a
// poller that stays while the width changes keeps its place in the round within a
// few slots, and newcomers come between the others. The rank is in [0, width).
func Seat(rank, width int) int {
	seat := 0
	for bit := 1; bit <= rank; bit <<= 1 {
		if rank&bit == 0 {
			continue
		}
		first := rank & (bit - 1) // of the ranks that have the same lower bits, and not this one
		seat += (width-first-1)/(2*bit) + 1
	}
	return seat
}

// Due returns when slot k, which is not negative, is due, whichever rank takes it:
// rounded down to a nanosecond, in UTC.
func (s Slots) Due(k int64) time.Time {
	if s.Rate.Polls == 0 || s.Interval <= 0 {
		return time.Time{}
	}
	span := span(s.Rate, s.Interval)
	scaled := mul64(uint64(max(k, 0)), span).add(s.shift(span))
	return timeAt(scaled.div(uint64(s.Rate.Polls)))
}

// Next returns the first slot of this rank that is due strictly after a time,
// or −1 and the zero time when there is none.
func (s Slots) Next(after time.Time) (k int64, due time.Time) {
	width, seat := int64(max(s.Width, 1)), s.seat()
	k = s.first(after)
	if seat < 0 || k < 0 || k > math.MaxInt64-width {
		return -1, time.Time{}
	}
	k += (seat - k%width + width) % width
	return k, s.Due(k)
}

// NextPoll returns when this poller polls next, given when it last began a poll
// of the channel (zero: never) and how long its egress address has to leave the
// channel alone after that. Rate, width and rank may have changed since.
//
// It is the first slot of this rank after now, but never sooner than last+floor:
// a slot that comes sooner is taken late, when the floor ends, if by then the
// channel's next slot, which may be another poller's, is still to come; else it
// is left out. The zero time means never.
func (s Slots) NextPoll(now, last time.Time, floor time.Duration) time.Time {
	end := last.Add(floor)
	if !end.After(now) {
		_, due := s.Next(now)
		return due
	}
	if s.owedAt(end, last) >= 0 {
		return end
	}
	_, due := s.Next(end.Add(-1))
	return due
}

// NextEven is NextPoll, but that a poller whose polls would be late for ever is on its slots
// again when it is its turn. Where the floor is the whole period of several pollers, one that
// is late once stays late, and changes wait longer for polls that do not come evenly: up to
// twice as long. In each round one of the pollers leaves such a slot out, so that no change
// waits long for that.
func (s Slots) NextEven(now, last time.Time, floor time.Duration) time.Time {
	poll := s.NextPoll(now, last, floor)
	if !poll.Equal(last.Add(floor)) {
		return poll
	}
	k, width := s.owedAt(poll, last), int64(max(s.Width, 1))
	if k < 0 || k/width%width != k%width || s.makesUp(poll.Sub(s.Due(k)), floor) {
		return poll
	}
	_, due := s.Next(poll.Add(-1))
	return due
}

// makesUp reports whether a poller that takes a slot so late need not leave it out: it is
// alone, or on its slots again soon, or late by little: what each poll adds to that, a moment,
// must not have it leave out slots often.
func (s Slots) makesUp(late, floor time.Duration) bool {
	const soon = 4 // polls
	period := s.Period()
	return s.Width <= 1 || late <= period/time.Duration(4*s.Width) || late <= soon*(period-floor)
}

// Period returns the time between two polls of one poller, Width·interval/rate,
// rounded down; 0 when the rate is 0.
func (s Slots) Period() time.Duration {
	if s.Rate.Polls == 0 || s.Interval <= 0 {
		return 0
	}
	all := mul64(span(s.Rate, s.Interval), uint64(max(s.Width, 1)))
	period, ok := all.div(uint64(s.Rate.Polls)).uint63()
	if !ok {
		return math.MaxInt64
	}
	return time.Duration(period)
}

// owedAt returns the channel's latest slot at a time if it is this poller's and came after
// the poller's last poll: it has not been taken. Else −1.
func (s Slots) owedAt(at, last time.Time) int64 {
	k := s.first(at) - 1
	if k < 0 || k%int64(max(s.Width, 1)) != s.seat() || !s.Due(k).After(last) {
		return -1
	}
	return k
}

// seat returns the rank's seat, or −1 when it has none.
func (s Slots) seat() int64 {
	width := max(s.Width, 1)
	if s.Rank < 0 || s.Rank >= width {
		return -1
	}
	return int64(Seat(s.Rank, width))
}

// first returns the channel's first slot, of whatever rank, that is due strictly
// after a time, or −1 when it has none that an int64 can number.
//
// Due(k) > t ⟺ ⌊(k·span + shift)/polls⌋ ≥ t+1 ⟺ k ≥ ⌈((t+1)·polls − shift)/span⌉.
func (s Slots) first(after time.Time) int64 {
	if s.Rate.Polls == 0 || s.Interval <= 0 {
		return -1
	}
	if after.Unix() < 0 {
		return 0
	}
	span := span(s.Rate, s.Interval)
	target := nanos(after).add(1).mul(uint64(s.Rate.Polls))
	k, ok := target.subFloor(s.shift(span)).divCeil(span).uint63()
	if !ok {
		return -1
	}
	return k
}

// shift returns the phase in the unit of Due's numerator: ⌊h·span⌋. Rounding it
// down first does not change Due, since ⌊x/n⌋ = ⌊⌊x⌋/n⌋.
func (s Slots) shift(span uint64) uint64 { return mul64(s.Phase, span).hi }
