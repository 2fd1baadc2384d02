package notify

import (
	"fmt"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// compose returns the message that a subscription needs at next; ok is false when
// there is nothing for it any more. The channel's record may be newer than next.
func (w *webhooks) compose(info channel.Channel, sub channel.Subscription, next step, lostUntil time.Time) (m message, ok bool, err error) {
	head := headOf(info)
	next = next.within(head)
	switch {
	case next > head:
		return message{}, false, nil
	case next.gone():
		return goneMessage(sub, next, time.Now()), true, nil
	}
	version := next.version()
	updates, gap, err := w.store.Updates(info.ID, version-1, 1)
	if err != nil {
		return message{}, false, fmt.Errorf("read updates: %w", err)
	}
	to, reason, err := w.lostTo(info.ID, version-1, gap, updates, lostUntil)
	if err != nil {
		return message{}, false, err
	}
	if to >= version {
		return gapMessage(sub, channel.Gap{From: version, To: to}, reason, time.Now()), true, nil
	}
	if len(updates) == 0 || updates[0].Version != version || updates[0].Incarnation != info.Incarnation {
		return message{}, false, fmt.Errorf("update %d is missing", version)
	}
	return w.composeUpdate(sub, updates[0])
}

// composeUpdate returns an update's message. An update that cannot be read must not
// stop all that follow it: it becomes a gap.
func (w *webhooks) composeUpdate(sub channel.Subscription, u channel.Update) (message, bool, error) {
	encoded, err := w.bodies.get(u)
	if err != nil {
		w.log.Error("committed update is unreadable", "channel", u.Channel, "version", u.Version, "error", err)
		return gapMessage(sub, channel.Gap{From: u.Version, To: u.Version}, reasonUnreadable, time.Now()), true, nil
	}
	return updateMessage(sub, u, encoded), true, nil
}

// lostTo returns up to which version behind after everything is lost, and why:
// what the store does not keep, and what was committed before lostUntil.
func (w *webhooks) lostTo(id channel.ID, after uint64, gap *channel.Gap, updates []channel.Update, lostUntil time.Time) (to uint64, reason string, err error) {
	to, reason = after, reasonRetention
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
			to, reason = u.Version, reasonSuspended
		}
		if updates, _, err = w.store.Updates(id, to, w.limits.page); err != nil {
			return 0, "", fmt.Errorf("read updates: %w", err)
		}
	}
	return to, reason, nil
}
