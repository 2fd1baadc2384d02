package webhook

import (
	"log/slog"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// core is what all parts of a [Deliverer] share. Its lock guards every field of
// every part, and of channels, endpoints and lanes, but for those that are set once
// when the deliverer is made. It is held for moments: not over a call of the store
// or of an endpoint, nor while another lock is taken. A method whose comment ends
// with "Locked." is called with it held.
type core struct {
	sync.Mutex
	config  Config
	limits  limits
	store   Store
	log     *slog.Logger
	metrics *metrics
	agenda  agenda
	led     channel.ByRange[*tenure] // the ranges that this node leads
	stopped bool
}

// served returns the tenure of a bucket whose channels are delivered, or whose
// endpoints' records are kept, by this node; nil: they are not, or not yet. Locked.
func (c *core) served(bucket channel.Bucket) *tenure {
	if t := c.led.At(bucket); t != nil && t.serving {
		return t
	}
	return nil
}

// holds reports whether a tenure lasts.
func (c *core) holds(t *tenure) bool {
	c.Lock()
	defer c.Unlock()
	return !t.over
}

// later does something under the lock at a time. Locked.
func (c *core) later(at time.Time, do func()) { c.agenda.add(at, do) }
