package sim

import "time"

// An event happens to a system at a time, before a maintenance
// then.
type event struct {
	at time.Duration
	do func(at time.Duration)
}

// happen lets events, in the order of their times, happen that are due, and
// returns the others.
func happen(events []event, now time.Duration) []event {
	for len(events) > 0 && events[0].at <= now {
		events[0].do(events[0].at)
		events = events[1:]
	}
	return events
}
