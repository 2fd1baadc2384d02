package corona

import (
	"context"
	"errors"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// deliveries is the store as package notify asks for it: a node's state without
// what delivery need not know.
type deliveries struct {
	store *ownership.Store
}

// notifyError gives the store's errors the names that notify branches on; notify
// says what it looked for.
func notifyError(err error) error {
	switch {
	case errors.Is(err, ownership.ErrNotFound):
		return notify.ErrNotFound
	case errors.Is(err, ownership.ErrTooOld):
		return notify.ErrTooOld
	}
	return err
}

// convert applies to each of a page of the store's.
func convert[From, To any](from []From, err error, to func(From) To) ([]To, error) {
	if err != nil {
		return nil, notifyError(err)
	}
	converted := make([]To, len(from))
	for i := range from {
		converted[i] = to(from[i])
	}
	return converted, nil
}

// Channel implements [notify.Store].
func (d deliveries) Channel(id channel.ID) (notify.Channel, error) {
	ch, err := d.store.Channel(id)
	return notifyChannel(ch), notifyError(err)
}

// Channels implements [notify.Store].
func (d deliveries) Channels(after *channel.ID, limit int) ([]notify.Channel, error) {
	page, err := d.store.Channels(after, limit)
	return convert(page, err, notifyChannel)
}

func notifyChannel(ch ownership.Channel) notify.Channel {
	return notify.Channel{
		ID:          ch.ID,
		URL:         ch.URL,
		Incarnation: ch.Incarnation,
		Version:     ch.Version,
		Webhooks:    ch.Webhooks,
		Gone:        ch.Gone,
		GoneStamp:   ch.GoneStamp,
		Oldest:      ch.Oldest,
		Trimmed:     ch.TrimmedStamp,
	}
}

// Subscription implements [notify.Store].
func (d deliveries) Subscription(id string) (notify.Subscriber, error) {
	s, err := d.store.Subscription(id)
	return subscriber(s), notifyError(err)
}

func subscriber(s ownership.Subscription) notify.Subscriber {
	return notify.Subscriber{
		ID:          s.ID,
		Seq:         s.Seq,
		Channel:     s.Channel,
		URL:         s.URL,
		Sink:        s.Sink.URL,
		Secret:      s.Sink.Secret,
		Created:     s.Created,
		FromVersion: s.FromVersion,
	}
}

// Webhooks implements [notify.Store].
func (d deliveries) Webhooks(id channel.ID, after uint64, limit int) ([]notify.Subscriber, error) {
	size := limit
	webhooks := make([]notify.Subscriber, 0, limit)
	for len(webhooks) < limit {
		page, err := d.store.Subscribers(id, after, size)
		if err != nil {
			return nil, notifyError(err)
		}
		for _, s := range page {
			after = s.Seq
			if s.Sink.Type == ownership.SinkWebhook && len(webhooks) < limit {
				webhooks = append(webhooks, subscriber(s))
			}
		}
		if len(page) < size {
			break
		}
		size = max(size, minPage) // there are others among them
	}
	return webhooks, nil
}

// minPage is how many subscriptions are read at least to find more webhooks among
// those with other sinks.
const minPage = 256

// Updates implements [notify.Store].
func (d deliveries) Updates(id channel.ID, after uint64, limit int) ([]notify.Update, *notify.Gap, error) {
	page, gap, err := d.store.Updates(id, after, limit)
	updates, err := convert(page, err, notifyUpdate)
	if gap == nil {
		return updates, nil, err
	}
	return updates, &notify.Gap{From: gap.From, To: gap.To}, err
}

func notifyUpdate(u ownership.Update) notify.Update {
	return notify.Update{
		Channel:     u.Channel,
		URL:         u.URL,
		Incarnation: u.Incarnation,
		Version:     u.Version,
		Stamp:       u.Stamp,
		At:          u.At,
		Data:        u.Data,
		Gone:        u.Gone,
	}
}

// UpdatesSince implements [notify.Store].
func (d deliveries) UpdatesSince(after notify.Cursor, limit int) ([]notify.Update, error) {
	page, err := d.store.UpdatesSince(ownership.Cursor{Stamp: after.Stamp, Bucket: after.Bucket}, limit)
	return convert(page, err, notifyUpdate)
}

// Closed implements [notify.Store].
func (d deliveries) Closed() uint64 { return d.store.Closed() }

// Progress implements [notify.Store].
func (d deliveries) Progress(id channel.ID) (notify.Progress, error) {
	p, err := d.store.Progress(id)
	return notifyProgress(p), notifyError(err)
}

func notifyProgress(p ownership.Progress) notify.Progress {
	stragglers := make([]notify.Straggler, len(p.Stragglers))
	for i, s := range p.Stragglers {
		stragglers[i] = notify.Straggler(s)
	}
	return notify.Progress{
		Channel: p.Channel, Incarnation: p.Incarnation, Version: p.Version, Seq: p.Seq, Stragglers: stragglers,
	}
}

// Advance implements [notify.Store].
func (d deliveries) Advance(ctx context.Context, positions []notify.Progress) error {
	stored := make([]ownership.Progress, len(positions))
	for i, p := range positions {
		stragglers := make([]ownership.Straggler, len(p.Stragglers))
		for j, s := range p.Stragglers {
			stragglers[j] = ownership.Straggler(s)
		}
		stored[i] = ownership.Progress{
			Channel: p.Channel, Incarnation: p.Incarnation, Version: p.Version, Seq: p.Seq, Stragglers: stragglers,
		}
	}
	return notifyError(d.store.Advance(ctx, stored))
}

// Endpoints implements [notify.Store].
func (d deliveries) Endpoints() ([]notify.Endpoint, error) {
	stored, err := d.store.Endpoints()
	return convert(stored, err, func(e ownership.Endpoint) notify.Endpoint { return notify.Endpoint(e) })
}

// SetEndpoint implements [notify.Store].
func (d deliveries) SetEndpoint(ctx context.Context, endpoint notify.Endpoint) error {
	return notifyError(d.store.SetEndpoint(ctx, ownership.Endpoint(endpoint)))
}
