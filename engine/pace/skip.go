package pace

import "time"

// Skip is a set of hours and weekdays, UTC, in which a channel is not to be polled.
// Neither excludes all time. The zero value excludes nothing.
type Skip struct {
	hours uint32 // bit h: from h to h+1
	days  uint8  // bit d: as time.Weekday counts them
}

const (
	allHours = 1<<24 - 1
	allDays  = 1<<7 - 1
)

// NewSkip ignores hours, or days, that would exclude all time.
func NewSkip(hours uint32, days uint8) (s Skip) {
	if hours &= allHours; hours != allHours {
		s.hours = hours
	}
	if days &= allDays; days != allDays {
		s.days = days
	}
	return s
}

// Excludes reports a time, in nanoseconds since 1970, that is in the set.
func (s Skip) Excludes(at int64) bool {
	t := time.Unix(0, at).UTC()
	return s.hours>>t.Hour()&1 == 1 || s.days>>t.Weekday()&1 == 1
}

// next returns the first time, from one on, that is not excluded.
func (s Skip) next(at int64) int64 {
	for s.Excludes(at) {
		at += int64(time.Hour) - at%int64(time.Hour)
	}
	return at
}

// Longest returns the longest time that is excluded without a break.
func (s Skip) Longest() time.Duration {
	const week = 7 * 24
	longest, run := 0, 0
	for hour := range 2 * week {
		if !s.Excludes(int64(hour) * int64(time.Hour)) {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return time.Duration(longest) * time.Hour
}
