package webhook

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/payload"
	"github.com/seed-91e7e7c1/corona/notify/position"
)

// composer reads from the store what a subscription needs, and makes the message of
// it. It has no state but its cache.
type composer struct {
	*core
	cache *payload.Cache
}

// compose returns the message that a subscription needs at next; ok is false when
// there is nothing for it any more. The channel's record may be newer than next.
// What was committed until lostUntil is a gap, unless that is zero.
func (c *composer) compose(info channel.Channel, sub channel.Subscription, next position.Step, lostUntil time.Time) (m message, ok bool, err error) {
	head := position.Head(info)
	next = next.Within(head)
	switch {
	case next > head:
		return message{}, false, nil
	case next.Gone():
		return goneMessage(sub, next, time.Now()), true, nil
	}
	version := next.Version()
	if known, ok := c.cache.Get(info.ID, info.Incarnation, version); ok && known.At.After(lostUntil) {
		return updateMessage(sub, known), true, nil
	}
	updates, gap, err := c.store.Updates(info.ID, version-1, 1)
	if err != nil {
		return message{}, false, fmt.Errorf("read updates: %w", err)
	}
	to, reason, err := c.lostTo(info.ID, version-1, gap, updates, lostUntil)
	if err != nil {
		return message{}, false, err
	}
	if to >= version {
		return gapMessage(sub, channel.Gap{From: version, To: to}, reason, time.Now()), true, nil
	}
	if len(updates) == 0 || updates[0].Version != version || updates[0].Incarnation != info.Incarnation {
		return message{}, false, fmt.Errorf("update %d is missing", version)
	}
	return c.composeUpdate(sub, updates[0])
}

// composeUpdate returns an update's message. An update that cannot be read must not
// stop all that follow it: it becomes a gap.
func (c *composer) composeUpdate(sub channel.Subscription, u channel.Update) (message, bool, error) {
	encoded, err := c.cache.Encode(u)
	if err != nil {
		c.log.Error("committed update is unreadable", "channel", u.Channel, "version", u.Version, "error", err)
		return gapMessage(sub, channel.Gap{From: u.Version, To: u.Version}, payload.ReasonUnreadable, time.Now()), true, nil
	}
	return updateMessage(sub, encoded), true, nil
}

// lostTo returns up to which version behind after everything is lost, and why:
// what the store does not keep, and what was committed before lostUntil.
func (c *composer) lostTo(id channel.ID, after uint64, gap *channel.Gap, updates []channel.Update, lostUntil time.Time) (to uint64, reason string, err error) {
	to, reason = after, payload.ReasonRetention
	if gap != nil {
		to = gap.To
	}
	if lostUntil.IsZero() {
		return to, reason, nil
	}
	for len(updates) > 0 {
		for _, u := range updates {
			if u.At.After(lostUntil) {
				return to, reason, nil
			}
			to, reason = u.Version, payload.ReasonSuspended
		}
		if updates, _, err = c.store.Updates(id, to, c.limits.page); err != nil {
			return 0, "", fmt.Errorf("read updates: %w", err)
		}
	}
	return to, reason, nil
}
