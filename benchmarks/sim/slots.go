package sim

import (
	"slices"
	"time"

	"github.com/seed-91e7e7c1/corona/overlay"
)

// epoch is when simulations begin: slots are numbered from the Unix epoch.
var epoch = time.Unix(1_800_000_000, 0).UTC()

// A timeline is a channel that pollers share by slots, each in its turn: this
// project's way. Its segments follow each other; ranks stay with their nodes.
type timeline struct {
	segments []segment
	floor    time.Duration
}

// A segment is the time during which rate and width stand, up to the next one.
type segment struct {
	from  time.Duration
	slots overlay.Slots
	odd   []oddRank // by rising seat
}

// An oddRank is a poller whose polls are not all on its slots, since it polled
// under the segment before and keeps the floor: its m-th poll is at first +
// m·floor or on slot slot + m·width, whichever is later. Lateness never grows,
// so no later slot is left out. One whose first poll is never has died.
type oddRank struct {
	seat  int // of the rank
	slot  int64
	first time.Duration
}

// set begins a segment.
func (t *timeline) set(at time.Duration, interval time.Duration, rate overlay.Rate, phase uint64) {
	s := segment{from: at, slots: overlay.Slots{Interval: interval, Rate: rate, Phase: phase,
		Width: overlay.WidthOf(rate, interval, t.floor)}}
	for rank := range s.slots.Width {
		if odd, ok := t.carryOver(s, rank); ok {
			s.odd = append(s.odd, odd)
		}
	}
	slices.SortFunc(s.odd, bySeat)
	t.segments = append(t.segments, s)
}

// width is how many pollers take turns now.
func (t *timeline) width() int { return t.segments[len(t.segments)-1].slots.Width }

// silence begins a segment that is like the last but for some ranks that no
// longer poll.
func (t *timeline) silence(at time.Duration, ranks []int) {
	s := t.segments[len(t.segments)-1]
	s.from = at
	s.odd = slices.Clone(s.odd)
	for _, rank := range ranks {
		dead := oddRank{seat: overlay.Seat(rank, s.slots.Width), first: never}
		s.odd = slices.DeleteFunc(s.odd, func(o oddRank) bool { return o.seat == dead.seat })
		s.odd = append(s.odd, dead)
	}
	slices.SortFunc(s.odd, bySeat)
	t.segments = append(t.segments, s)
}

func bySeat(a, b oddRank) int { return a.seat - b.seat }

// revive begins a segment in which newcomers, who have not polled before, have
// the ranks that were silent.
func (t *timeline) revive(at time.Duration) {
	s := t.segments[len(t.segments)-1]
	s.from = at
	s.odd = slices.DeleteFunc(slices.Clone(s.odd), func(o oddRank) bool { return o.first == never })
	t.segments = append(t.segments, s)
}

// carryOver returns how a rank goes on in a new segment, where its last poll
// makes a difference.
func (t *timeline) carryOver(s segment, rank int) (oddRank, bool) {
	last := t.last(rank, s.from-1)
	if last < 0 {
		return oddRank{}, false
	}
	slots := s.slots
	slots.Rank = rank
	now := epoch.Add(s.from - 1)
	_, plain := slots.Next(now)
	poll := slots.NextPoll(now, epoch.Add(last), t.floor)
	if poll.Equal(plain) {
		return oddRank{}, false
	}
	slot, _ := slots.Next(poll)
	return oddRank{overlay.Seat(rank, slots.Width), slot - int64(slots.Width), poll.Sub(epoch)}, true
}

// last returns when a rank polled last, not after a time, or a negative time when
// it has not within the floor before.
func (t *timeline) last(rank int, before time.Duration) time.Duration {
	end := before
	for _, s := range slices.Backward(t.segments) {
		if rank < s.slots.Width {
			seat := overlay.Seat(rank, s.slots.Width)
			if odd, ok := s.oddAt(seat); ok && odd.first == never {
				return -1 // another node has the rank now
			}
			if last := s.last(seat, end, t.floor); last >= s.from {
				return last
			}
		}
		if s.from <= before-t.floor {
			break
		}
		end = s.from - 1
	}
	return -1
}

// last returns the last poll in the segment, of the rank of a seat, that is not
// after a time; what comes before the segment stands for none.
func (s *segment) last(seat int, at, floor time.Duration) time.Duration {
	if odd, ok := s.oddAt(seat); ok {
		poll := time.Duration(-1)
		for m := int64(0); ; m++ {
			next := s.late(odd, m, floor)
			if next > at {
				return poll
			}
			poll = next
		}
	}
	next := s.after(at)
	width := int64(s.slots.Width)
	k := next - 1
	k -= (k - int64(seat)%width + width) % width
	return s.due(k)
}

// after returns the first slot that is due strictly after a time.
func (s *segment) after(at time.Duration) int64 {
	all := s.slots
	all.Width, all.Rank = 1, 0
	k, _ := all.Next(epoch.Add(at))
	return k
}

func (s *segment) due(k int64) time.Duration { return s.slots.Due(k).Sub(epoch) }

// late returns the m-th poll of an odd rank.
func (s *segment) late(odd oddRank, m int64, floor time.Duration) time.Duration {
	if odd.first == never {
		return never
	}
	return max(s.due(odd.slot+m*int64(s.slots.Width)), odd.first+time.Duration(m)*floor)
}

// oddAt returns the odd rank that has a seat.
func (s *segment) oddAt(seat int) (oddRank, bool) {
	i, found := slices.BinarySearchFunc(s.odd, seat, func(o oddRank, seat int) int { return o.seat - seat })
	if !found {
		return oddRank{}, false
	}
	return s.odd[i], true
}

// next returns the segment's first poll that is not before a time.
func (s *segment) next(at, floor time.Duration) time.Duration {
	soonest := never
	for k := s.after(at - 1); ; k++ {
		if len(s.odd) == s.slots.Width || s.slots.Rate.Polls == 0 {
			break
		}
		if _, odd := s.oddAt(int(k % int64(s.slots.Width))); !odd {
			soonest = s.due(k)
			break
		}
	}
	period := s.slots.Period()
	for _, odd := range s.odd {
		m := max(int64((at-odd.first)/period), 0)
		poll := s.late(odd, m, floor)
		for ; poll < at; m++ {
			poll = s.late(odd, m+1, floor)
		}
		soonest = min(soonest, poll)
	}
	return soonest
}

// wait returns how long a change waits for a poll, or never.
func (t *timeline) wait(at time.Duration) time.Duration {
	for i := range t.segments {
		s, until := &t.segments[i], t.until(i)
		if at >= until {
			continue
		}
		if poll := s.next(max(at, s.from), t.floor); poll < until {
			return poll - at
		}
	}
	return never
}

// until is when a segment ends.
func (t *timeline) until(i int) time.Duration {
	if i+1 < len(t.segments) {
		return t.segments[i+1].from
	}
	return never
}

// count adds polls to the buckets that they fall into.
func (t *timeline) count(width time.Duration, buckets []int) {
	horizon := width * time.Duration(len(buckets))
	for i := range t.segments {
		s := &t.segments[i]
		if until := min(t.until(i), horizon); s.slots.Rate.Polls > 0 && s.from < until {
			s.countSlots(until, width, buckets)
			s.countOdd(until, t.floor, width, buckets)
		}
	}
}

// countSlots counts every slot in [from, until).
func (s *segment) countSlots(until, width time.Duration, buckets []int) {
	k := s.after(s.from - 1)
	for at := s.from; at < until; {
		bucket := at / width
		at = min((bucket+1)*width, until)
		next := s.after(at - 1)
		buckets[bucket] += int(next - k)
		k = next
	}
}

// countOdd takes back the slots of odd ranks and counts their polls.
func (s *segment) countOdd(until, floor, span time.Duration, buckets []int) {
	for _, odd := range s.odd {
		width := int64(s.slots.Width)
		k := s.after(s.from - 1)
		k += (int64(odd.seat) - k%width + width) % width
		for at := s.due(k); at < until; at = s.due(k) {
			buckets[at/span]--
			k += width
		}
		for m := int64(0); ; m++ {
			at := s.late(odd, m, floor)
			if at >= until {
				break
			}
			if at >= s.from {
				buckets[at/span]++
			}
		}
	}
}
