package overlay

import (
	"math/big"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

const halfPhase = 1 << 63

func at(seconds int64, nanos int64) time.Time { return time.Unix(seconds, nanos).UTC() }

func TestDue(t *testing.T) {
	tests := []struct {
		name  string
		slots Slots
		k     int64
		want  time.Time
	}{
		{"the epoch", Slots{Interval: time.Second, Rate: Rate{1, 1}}, 0, at(0, 0)},
		{"phase", Slots{Interval: time.Second, Rate: Rate{1, 1}, Phase: halfPhase}, 7, at(7, 500_000_000)},
		{"rate 3 rounds down", Slots{Interval: time.Second, Rate: Rate{3, 1}}, 1, at(0, 333_333_333)},
		{"rate 3, whole again", Slots{Interval: time.Second, Rate: Rate{3, 1}}, 3, at(1, 0)},
		{"rate 1/48", Slots{Interval: 30 * time.Minute, Rate: Rate{1, 48}}, 2, at(2*24*3600, 0)},
		{"rate 1/48, phase", Slots{Interval: 30 * time.Minute, Rate: Rate{1, 48}, Phase: halfPhase}, 2, at(2*24*3600+12*3600, 0)},
		{"last phase stays in its slot", Slots{Interval: time.Second, Rate: Rate{1, 1}, Phase: 1<<64 - 1}, 0, at(0, 999_999_999)},
		{"no intervals count as one", Slots{Interval: time.Second, Rate: Rate{Polls: 1}}, 5, at(5, 0)},
		{"year 2500", Slots{Interval: 100 * time.Millisecond, Rate: Rate{1, 1}}, 167252256003, time.Date(2500, 1, 1, 0, 0, 0, 300_000_000, time.UTC)},
		{"a negative number is the first", Slots{Interval: time.Second, Rate: Rate{1, 1}}, -1, at(0, 0)},
		{"no rate", Slots{Interval: time.Second}, 1, time.Time{}},
		{"no interval", Slots{Rate: Rate{1, 1}}, 1, time.Time{}},
		{"no end of time", Slots{Interval: 1<<63 - 1, Rate: Rate{1, 48}}, 1<<63 - 1, at(lastSecond, 0)},
	}
	for _, test := range tests {
		if got := test.slots.Due(test.k); !got.Equal(test.want) {
			t.Errorf("%s: Due(%d) = %v, want %v", test.name, test.k, got, test.want)
		}
	}
}

func TestNext(t *testing.T) {
	second := Slots{Interval: time.Second, Rate: Rate{1, 1}}
	third := Slots{Interval: 3 * time.Second, Rate: Rate{3, 1}, Width: 3, Rank: 2}
	tests := []struct {
		name  string
		slots Slots
		after time.Time
		k     int64
		due   time.Time
	}{
		{"strictly after", second, at(5, 0), 6, at(6, 0)},
		{"a nanosecond before", second, at(5, 999_999_999), 6, at(6, 0)},
		{"a nanosecond after", second, at(6, 1), 7, at(7, 0)},
		{"before the epoch", second, time.Time{}, 0, at(0, 0)},
		{"own rank only", third, at(4, 0), 7, at(7, 0)},
		{"own rank, at once", third, at(3, 999), 4, at(4, 0)},
		{"first of the rank", third, time.Time{}, 1, at(1, 0)},
		{"no rate", Slots{Interval: time.Second}, at(5, 0), -1, time.Time{}},
		{"no such rank", Slots{Interval: time.Second, Rate: Rate{1, 1}, Width: 2, Rank: 2}, at(5, 0), -1, time.Time{}},
		{"negative rank", Slots{Interval: time.Second, Rate: Rate{1, 1}, Rank: -1}, at(5, 0), -1, time.Time{}},
		{"numbers run out", Slots{Interval: 1, Rate: Rate{1 << 31, 1}}, at(1<<40, 0), -1, time.Time{}},
	}
	for _, test := range tests {
		k, due := test.slots.Next(test.after)
		if k != test.k || !due.Equal(test.due) {
			t.Errorf("%s: Next = %d, %v; want %d, %v", test.name, k, due, test.k, test.due)
		}
	}
}

func TestNextPoll(t *testing.T) {
	// Slots of the channel every 10 s; two pollers take them in turn.
	even := Slots{Interval: 10 * time.Second, Rate: Rate{1, 1}, Width: 2, Rank: 0} // 0, 20, 40, …
	alone := Slots{Interval: 10 * time.Second, Rate: Rate{1, 1}, Width: 1}         // 0, 10, 20, …
	tests := []struct {
		name  string
		slots Slots
		now   int64
		last  int64 // −1: never
		floor time.Duration
		want  int64
	}{
		{"never polled: the next slot", even, 101, -1, time.Minute, 120},
		{"steady", even, 100, 100, 20 * time.Second, 120},
		{"floor over long ago", even, 141, 100, 20 * time.Second, 160},
		{"too soon, late before the next poller", even, 111, 111, 15 * time.Second, 126},
		{"asked again while waiting for the floor", even, 121, 111, 15 * time.Second, 126},
		{"floor ends on the slot", even, 111, 111, 9 * time.Second, 120},
		{"too soon, next poller's turn: left out", even, 111, 111, 20 * time.Second, 140},
		{"the slot at the floor's end is another's", even, 109, 109, 22 * time.Second, 140},
		{"the slot at the floor's end was taken", alone, 101, 101, 5 * time.Second, 110},
		{"late by more than a slot: taken late again", alone, 103, 103, 10 * time.Second, 113},
		{"late before the channel's next slot", alone, 105, 95, 12 * time.Second, 107},
		{"the same with an odd slot", alone, 115, 105, 12 * time.Second, 117},
		{"a slow poll skips what it missed", alone, 147, 101, 5 * time.Second, 150},
		{"clock set back", alone, 50, 101, 5 * time.Second, 110},
	}
	for _, test := range tests {
		last := at(test.last, 0)
		if test.last < 0 {
			last = time.Time{}
		}
		if got := test.slots.NextPoll(at(test.now, 0), last, test.floor); !got.Equal(at(test.want, 0)) {
			t.Errorf("%s: NextPoll = %v, want %d s", test.name, got, test.want)
		}
	}
	if got := (Slots{Interval: time.Second}).NextPoll(at(5, 0), at(4, 0), time.Minute); !got.IsZero() {
		t.Errorf("rate 0: NextPoll = %v, want never", got)
	}
}

func TestWidthAndPeriod(t *testing.T) {
	tests := []struct {
		rate            Rate
		interval, floor time.Duration
		width           int
		period          time.Duration
	}{
		{Rate{1, 1}, 30 * time.Minute, 5 * time.Minute, 1, 30 * time.Minute},
		{Rate{6, 1}, 30 * time.Minute, 5 * time.Minute, 1, 5 * time.Minute},
		{Rate{7, 1}, 30 * time.Minute, 5 * time.Minute, 2, 2 * 30 * time.Minute / 7},
		{Rate{6144, 1}, 30 * time.Minute, 5 * time.Minute, 1024, 5 * time.Minute},
		{Rate{5, 1}, time.Minute, time.Minute, 5, time.Minute},
		{Rate{1, 48}, 30 * time.Minute, 30 * time.Minute, 1, 24 * time.Hour},
		{Rate{1, 1}, time.Second, 0, 1, time.Second},
		{Rate{0, 1}, time.Second, time.Second, 0, 0},
		{Rate{1, 1}, 0, time.Second, 0, 0},
		{Rate{1 << 31, 1}, 1, 1<<63 - 1, 1<<31 - 1, 0},
	}
	for _, test := range tests {
		width := WidthOf(test.rate, test.interval, test.floor)
		if width != test.width {
			t.Errorf("WidthOf(%v, %v, %v) = %d, want %d", test.rate, test.interval, test.floor, width, test.width)
		}
		slots := Slots{Interval: test.interval, Rate: test.rate, Width: width}
		if got := slots.Period(); got != test.period {
			t.Errorf("Period of %v = %v, want %v", test.rate, got, test.period)
		}
	}
}

func TestPhaseOf(t *testing.T) {
	id := channel.ID{0: 0xff, 12: 0x80, 19: 1}
	if got, want := PhaseOf(id), uint64(0x80_00_00_00_00_00_00_01); got != want {
		t.Errorf("PhaseOf = %#x, want %#x", got, want)
	}
}

func TestRateFloat(t *testing.T) {
	for rate, want := range map[Rate]float64{{0, 1}: 0, {3, 1}: 3, {1, 4}: 0.25, {2, 0}: 2} {
		if got := rate.Float(); got != want {
			t.Errorf("%v.Float() = %v, want %v", rate, got, want)
		}
	}
}

// exactDue is Due by its definition, in arithmetic without bounds.
func exactDue(s Slots, k int64) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(k), 64)
	n.Add(n, new(big.Int).SetUint64(s.Phase))
	n.Mul(n, big.NewInt(int64(s.Interval)))
	n.Mul(n, big.NewInt(int64(s.Rate.Intervals)))
	return n.Div(n, new(big.Int).Lsh(big.NewInt(int64(s.Rate.Polls)), 64))
}

func exactNanos(t time.Time) *big.Int {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(nanosPerSecond))
	return n.Add(n, big.NewInt(int64(t.Nanosecond())))
}

func TestNextEven(t *testing.T) {
	even := Slots{Interval: 10 * time.Second, Rate: Rate{1, 1}, Width: 2, Rank: 0} // 0, 20, 40, … in rounds 0, 1, 2, …
	alone := Slots{Interval: 20 * time.Second, Rate: Rate{1, 1}, Width: 1}
	for _, test := range []struct {
		name  string
		slots Slots
		last  int64
		floor time.Duration
		want  int64
	}{
		{"on its slots", even, 60, 20 * time.Second, 80},
		{"late by little", even, 62, 20 * time.Second, 82},
		{"late for ever: left out", even, 64, 20 * time.Second, 100},
		{"late for ever, but the other's turn", even, 44, 20 * time.Second, 64},
		{"late, and on its slots two polls later", even, 66, 18 * time.Second, 84},
		{"late alone", alone, 64, 20 * time.Second, 84},
	} {
		if got := test.slots.NextEven(at(test.last, 0), at(test.last, 0), test.floor); !got.Equal(at(test.want, 0)) {
			t.Errorf("%s: NextEven = %v, want %d s", test.name, got, test.want)
		}
	}
}

// Pollers whose rate has risen until their period is the floor come evenly again, each in its
// turn, and none sooner than the floor.
func TestPollersComeEvenlyAgain(t *testing.T) {
	const floor, width = 20 * time.Second / 6, 4
	late := 0
	for n := range 100 {
		before := Slots{Interval: 20 * time.Second, Rate: Rate{19 + uint32(n%5), 1}, Width: width, Phase: uint64(n) << 57}
		after := Slots{Interval: 20 * time.Second, Rate: Rate{24, 1}, Width: width, Phase: before.Phase}
		changed := at(1000, int64(n)*1e8)
		for rank := range width {
			before.Rank, after.Rank = rank, rank
			now := changed
			_, last := before.Next(changed.Add(-before.Period()))
			for now.Before(changed.Add((width + 3) * floor)) {
				next := after.NextEven(now, last, floor)
				if next.Sub(last) < floor {
					t.Fatalf("rank %d: %s after the poll before", rank, next.Sub(last))
				}
				if !onSlot(after, next) {
					late++
				}
				now, last = next, next
			}
			if !onSlot(after, last) {
				t.Fatalf("rank %d still polls late at %s", rank, last)
			}
		}
	}
	if late == 0 {
		t.Error("no poll was late: this tests nothing")
	}
}

// onSlot reports whether a poll is late by no more than a quarter of the time between two of
// the channel.
func onSlot(s Slots, poll time.Time) bool {
	_, due := s.Next(poll.Add(-s.Period()/time.Duration(4*s.Width) - 1))
	return !due.After(poll)
}
