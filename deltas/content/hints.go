package content

import (
	"time"
)

// Hints are a feed's words on how often it wants to be asked, as it says them: values
// are not clamped to a sensible range, except to maxHint. Zero fields say nothing.
type Hints struct {
	TTL          time.Duration // how long a copy may be kept: ttl of RSS 2.0
	UpdatePeriod time.Duration // time between two updates: sy:updatePeriod over sy:updateFrequency, RSS 1.0's syndication module
	SkipHours    uint32        // bit h: nothing comes in hour h, UTC; skipHours of RSS 0.91 to 2.0
	SkipDays     uint8         // bit d: nothing comes on weekday d, UTC, as time.Weekday counts them; skipDays
}

// IsZero reports that the feed says nothing.
func (h Hints) IsZero() bool { return h == Hints{} }
