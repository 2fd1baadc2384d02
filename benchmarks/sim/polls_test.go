package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// played is the oracle: every poller asks [overlay.Slots.NextPoll] after every
// poll and at every new order, as the engine does.
func played(t *timeline, horizon time.Duration) []time.Duration {
	var polls []time.Duration
	last := map[int]time.Time{}
	for i, s := range t.segments {
		until := min(t.until(i), horizon)
		for rank := range s.slots.Width {
			if odd, ok := s.oddAt(overlay.Seat(rank, s.slots.Width)); ok && odd.first == never {
				delete(last, rank) // dead; who has the rank next has not polled
				continue
			}
			slots := s.slots
			slots.Rank = rank
			for now := epoch.Add(s.from - 1); ; {
				next := slots.NextPoll(now, last[rank], t.floor)
				if next.IsZero() || next.Sub(epoch) >= until {
					break
				}
				polls = append(polls, next.Sub(epoch))
				last[rank], now = next, next
			}
		}
	}
	slices.Sort(polls)
	return polls
}

// Waits and counts by arithmetic are those of polls played one by one, through
// whatever changes of rate, and deaths of pollers.
func TestTimelineAgainstPlayedPolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(int64(time.Minute), int64(time.Hour)).Draw(t, "interval"))
		line := timeline{floor: interval}
		if rapid.Bool().Draw(t, "short floor") {
			line.floor = time.Duration(rapid.Int64Range(1, int64(interval)).Draw(t, "floor"))
		}
		phase := rapid.Uint64().Draw(t, "phase")
		var at time.Duration
		for range rapid.IntRange(1, 6).Draw(t, "segments") {
			rate := overlay.Rate{Polls: rapid.Uint32Range(0, 20).Draw(t, "polls"), Intervals: 1}
			if rate.Polls < 3 {
				rate = overlay.Rate{Polls: rate.Polls, Intervals: rapid.Uint32Range(1, 5).Draw(t, "intervals")}
			}
			line.set(at, interval, rate, phase)
			stands := time.Duration(rapid.Int64Range(int64(interval)/4, 4*int64(interval)).Draw(t, "stands"))
			if rapid.Bool().Draw(t, "deaths") {
				var dead []int
				for rank := range line.width() {
					if rapid.Bool().Draw(t, "dies") {
						dead = append(dead, rank)
					}
				}
				line.silence(at+stands/3, dead)
				line.revive(at + stands/2)
			}
			at += stands
		}
		const buckets = 24
		horizon := at + 2*interval
		width := horizon/buckets + 1
		polls := played(&line, horizon+6*interval)
		for range 40 {
			change := time.Duration(rapid.Int64Range(0, int64(horizon)).Draw(t, "change"))
			i, _ := slices.BinarySearch(polls, change)
			got := line.wait(change)
			switch {
			case i == len(polls):
				if got < 6*interval {
					t.Fatalf("change at %v waits %v, no poll was played", change, got)
				}
			case got != polls[i]-change:
				t.Fatalf("change at %v waits %v, played %v", change, got, polls[i]-change)
			}
		}
		got, want := make([]int, buckets), make([]int, buckets)
		line.count(width, got)
		for _, poll := range polls {
			if int(poll/width) < buckets {
				want[poll/width]++
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("counted %v, played %v", got, want)
		}
	})
}

// No poller comes sooner than its floor after itself, through changes too.
func TestPlayedPollsKeepTheFloor(t *testing.T) {
	line := timeline{floor: 10 * time.Minute}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		line.set(time.Duration(i)*17*time.Minute, 10*time.Minute, overlay.Rate{Polls: 1 + random.Uint32N(9), Intervals: 1}, random.Uint64())
	}
	polls := make([]int, 17*50)
	line.count(time.Minute, polls)
	for from := range len(polls) - 10 {
		var n int
		for _, p := range polls[from : from+10] {
			n += p
		}
		if n > 9+9 { // nine at most in a segment, and once more after a change
			t.Fatalf("%d polls in the ten minutes from %d", n, from)
		}
	}
}

// The mean wait of a change, by how pollers are placed in time: n with random
// phases leave it waiting τ/(n+1), n that take turns τ/(2n).
func TestMeanWaits(t *testing.T) {
	const interval = 30 * time.Minute
	draw := chance{4}
	for _, n := range []int{1, 2, 4, 16, 64} {
		var random, staggered float64
		const draws, changes = 400, 50
		for d := range draws {
			independent := wedge{interval: interval}
			for i := range n {
				independent.pollers = append(independent.pollers,
					poller{from: draw.within(interval, forPhase, uint64(d), uint64(n<<16+i)), until: never})
			}
			line := timeline{floor: interval}
			line.set(0, interval, overlay.Rate{Polls: uint32(n), Intervals: 1}, draw.at(forTie, uint64(d), 0))
			for k := range changes {
				at := interval + draw.within(4*interval, forProbe, uint64(d), uint64(n<<16+k))
				random += independent.wait(at).Seconds() / (draws * changes)
				staggered += line.wait(at).Seconds() / (draws * changes)
			}
		}
		within(t, "random phases", random, interval.Seconds()/float64(n+1), 0.04)
		within(t, "staggered", staggered, interval.Seconds()/float64(2*n), 0.04)
	}
}

// A poller's next poll and its count are those of listing all.
func TestPollerAgainstListing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const interval, width = 100, 30
		from := time.Duration(rapid.IntRange(0, 300).Draw(t, "from"))
		p := poller{from: from, until: from + time.Duration(rapid.IntRange(0, 700).Draw(t, "for"))}
		var listed []time.Duration
		for poll := p.from; poll < p.until; poll += interval {
			listed = append(listed, poll)
		}
		at := time.Duration(rapid.IntRange(0, 1200).Draw(t, "at"))
		want := never
		if i, _ := slices.BinarySearch(listed, at); i < len(listed) {
			want = listed[i]
		}
		if got := p.next(at, interval); got != want {
			t.Fatalf("%+v: next from %v is %v, want %v of %v", p, at, got, want, listed)
		}
		got, counted := make([]int, 20), make([]int, 20)
		p.count(interval, width, got)
		for _, poll := range listed {
			if int(poll/width) < len(counted) {
				counted[poll/width]++
			}
		}
		if !slices.Equal(got, counted) {
			t.Fatalf("%+v: %v, want %v", p, got, counted)
		}
	})
}
