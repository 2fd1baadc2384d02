package engine

import (
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Spare says until when an origin asked a poller not to be asked for a channel.
type Spare struct {
	Channel     channel.ID
	Incarnation uint64
	Until       time.Time // a day from now at most counts
}

// Spare has a channel wait whose origin has asked another poller not to be asked for it. A
// poll that is under way, or waits for its host, goes on. It is not kept over a restart; a
// channel that is not ordered, or under another incarnation, is left alone.
func (e *Engine) Spare(s Spare) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.mu.channels.index.get(s.Channel)
	if t == nil || t.Dropped() || t.Channel.incarnation != s.Incarnation {
		return
	}
	e.mu.channels.schedule.Spare(t, s.Until.UnixNano(), wallNow())
}

// tellSpare tells the channel's other pollers until when its origin wants to be spared.
func (e *Engine) tellSpare(p *poll) {
	if e.config.Spared != nil {
		e.config.Spared(Spare{Channel: p.id, Incarnation: p.noted.Incarnation, Until: time.Unix(0, p.noted.NotBefore)})
	}
}
