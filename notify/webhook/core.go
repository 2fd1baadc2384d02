package webhook

import (
	"log/slog"
	"sync"
	"time"
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
	stopped bool
}

// later does something under the lock at a time. Locked.
func (c *core) later(at time.Time, do func()) { c.agenda.add(at, do) }
