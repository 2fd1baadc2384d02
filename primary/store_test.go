package primary

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// memory is a Store that keeps the rules of the replicated one.
type memory struct {
	mu       sync.Mutex
	channels map[channel.ID]channel.Channel
	seen     map[channel.ID][]uint64
	commits  []ownership.Commit
	ended    []channel.ID
	fail     error // of the next commit, which is not made
	changed  func(ch channel.Channel, ended bool)
}

func newMemory() *memory {
	return &memory{
		channels: make(map[channel.ID]channel.Channel),
		seen:     make(map[channel.ID][]uint64),
		changed:  func(channel.Channel, bool) {},
	}
}

func (m *memory) Channel(id channel.ID) (channel.Channel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch, ok := m.channels[id]
	if !ok {
		return ch, fmt.Errorf("channel %s: %w", id, channel.ErrNotFound)
	}
	return ch, nil
}

func (m *memory) Seen(id channel.ID) ([]uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen[id]), nil
}

func (m *memory) ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page []channel.Channel
	for id, ch := range m.channels {
		if r.Has(id.Bucket()) && (after == nil || id.Compare(*after) > 0) {
			page = append(page, ch)
		}
	}
	slices.SortFunc(page, func(a, b channel.Channel) int { return a.ID.Compare(b.ID) })
	return page[:min(limit, len(page))], nil
}

func (m *memory) Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var updates []channel.Update
	for _, c := range m.commits {
		if c.Channel == id && c.Update != nil && c.Version > after && len(updates) < limit {
			updates = append(updates, channel.Update{Channel: id, Version: c.Version, Data: c.Update, Patch: c.Patch})
		}
	}
	return updates, nil, nil
}

func (m *memory) Commit(_ context.Context, c ownership.Commit) error {
	m.mu.Lock()
	if err := m.fail; err != nil {
		m.fail = nil
		m.mu.Unlock()
		return err
	}
	ch := m.channels[c.Channel]
	if ch.Incarnation != c.Incarnation || ch.Version != c.Base || ch.Forgotten != c.Forgotten {
		m.mu.Unlock()
		return ownership.ErrStale
	}
	ch.Version, ch.Hash, ch.Kind, ch.Judge, ch.Held, ch.Hold, ch.Gone = c.Version, c.Hash, c.Kind, c.Judge, c.Held, c.Hold, c.Gone
	if c.Moved != nil {
		ch.Moved = *c.Moved
	}
	if c.Learned != nil {
		ch.Learned = c.Learned
	}
	if c.Version == 1 && c.Base == 0 {
		ch.FirstContent = c.At
	} else if c.Version > c.Base {
		ch.LastChange = c.At
	}
	m.channels[c.Channel] = ch
	m.seen[c.Channel] = append(m.seen[c.Channel], c.Seen...)
	m.commits = append(m.commits, c)
	m.mu.Unlock()
	m.changed(ch, false)
	return nil
}

func (m *memory) Forget(_ context.Context, from channel.Channel, judge []byte) error {
	m.mu.Lock()
	ch := m.channels[from.ID]
	if ch.Incarnation != from.Incarnation || ch.Version != from.Version || ch.Hash != from.Hash {
		m.mu.Unlock()
		return ownership.ErrStale
	}
	ch.Judge, ch.Held, ch.Hold = judge, false, channel.Hold{}
	ch.Forgotten++
	m.channels[from.ID] = ch
	m.mu.Unlock()
	m.changed(ch, false)
	return nil
}

func (m *memory) EndChannel(_ context.Context, id channel.ID, incarnation uint64) error {
	m.mu.Lock()
	ch := m.channels[id]
	if ch.Incarnation != incarnation || ch.Subscribers > 0 {
		m.mu.Unlock()
		return ownership.ErrStale
	}
	delete(m.channels, id)
	m.ended = append(m.ended, id)
	m.mu.Unlock()
	m.changed(ch, true)
	return nil
}

// put makes a channel, or changes its subscribers.
func (m *memory) put(ch channel.Channel) {
	m.mu.Lock()
	m.channels[ch.ID] = ch
	m.mu.Unlock()
	m.changed(ch, false)
}

// orders is a Poller that keeps what it is told.
type orders struct {
	mu      sync.Mutex
	ordered map[channel.ID]engine.Order
	dropped []channel.ID
	paced   int // paces

	begun, completed []channel.Range
	strange          map[channel.ID]bool // whose paces have to come as orders
}

func (o *orders) Order(given ...engine.Order) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, order := range given {
		o.ordered[order.Channel] = order
	}
}

func (o *orders) Begin(r channel.Range, _ uint64) { o.begun = append(o.begun, r) }
func (o *orders) Complete(r channel.Range)        { o.completed = append(o.completed, r) }
func (o *orders) Wait()                           {}

func (o *orders) End(r channel.Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.ordered {
		if r.Has(id.Bucket()) {
			delete(o.ordered, id)
		}
	}
}

func (o *orders) Repace(given ...engine.Pace) (whole []channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paced += len(given)
	for _, pace := range given {
		if o.strange[pace.Channel] {
			whole = append(whole, pace.Channel)
			continue
		}
		order := o.ordered[pace.Channel]
		order.Rate, order.Width, order.Rank = pace.Rate, pace.Width, pace.Rank
		o.ordered[pace.Channel] = order
	}
	return whole
}

func (o *orders) Drop(ids ...channel.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		delete(o.ordered, id)
		o.dropped = append(o.dropped, id)
	}
}

const feedURL = "https://example.com/feed"

var feedID = channel.IDOf(feedURL)

// world is an owner on a store in memory with one channel of one subscriber.
func world(t *testing.T) (*memory, *Owner) {
	t.Helper()
	return worldOf(t, 1)
}

// worldOf is a world where so many nodes poll.
func worldOf(t *testing.T, pollers int) (*memory, *Owner) {
	t.Helper()
	store := newMemory()
	store.put(channel.Channel{ID: feedID, URL: feedURL, Incarnation: 7, Subscribers: 1})
	config := Config{Interval: time.Minute, Floor: 10 * time.Second, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Pollers: func() int { return pollers }}
	owner := New(config, store, nil)
	owner.RangeGained(everything, 1)
	return store, owner
}

// everything is the range of a cluster that has one.
var everything = channel.Range{To: channel.Buckets - 1}

func core(t *testing.T, body string) *deltas.Core {
	t.Helper()
	core, err := deltas.Extract(deltas.Document{Body: []byte(body), URL: feedURL})
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// feed is an RSS document with the given item titles.
func feed(t *testing.T, titles ...string) *deltas.Core {
	t.Helper()
	body := `<?xml version="1.0"?><rss version="2.0"><channel><title>Example</title><link>https://example.com/</link>`
	for _, title := range titles {
		body += fmt.Sprintf("<item><guid>id-%s</guid><title>%s</title><link>https://example.com/%s</link></item>", title, title, title)
	}
	return core(t, body+"</channel></rss>")
}
