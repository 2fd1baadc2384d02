// Package memstore is a store in memory, for tests of package notify and its parts.
package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
)

// Store keeps everything in memory. What Advance and SetEndpoint have written is
// durable; a crash is that they fail from a moment on, with or without having had an
// effect.
type Store struct {
	mu        sync.Mutex
	channels  map[channel.ID]*record
	order     []channel.Update // all channels', by cursor
	endpoints map[string]channel.Endpoint
	trimmed   map[channel.Bucket]uint64 // newest stamps no longer in order
	stamp     uint64
	table     []channel.Range
	held      map[uint32]uint64        // by range: what it has closed stays below
	away      map[uint32]error         // by range: what reads of it fail with
	changed   map[uint32]chan struct{} // by range: closed when it changes
	demands   map[uint32]int           // by range
	demanded  uint64                   // the newest stamp that was

	shared bool // several members write to it, one after the other

	down    error // what reads and writes fail with
	applied bool  // writes fail only after their effect
	reads   int   // updates that Updates returned
	listed  int   // subscriptions that Webhooks returned
	loads   int   // calls of Channel, and channels that SinceOf was asked for

	questions int // calls of SinceOf
	hooks     Hooks
}

// Hooks are told of each change after it is visible.
type Hooks interface {
	ChannelChanged(c channel.Channel, ended bool)
	Committed(u channel.Update, webhooks uint64)
	Subscribed(sub channel.Subscription)
	Unsubscribed(sub channel.Subscription)
}

type record struct {
	channel.Channel
	subs       []channel.Subscription
	updates    []channel.Update
	lastSeq    uint64            // given to a subscription
	version    uint64            // progress
	seq        uint64            // progress
	stragglers map[uint64]uint64 // seq → next
}

// New returns an empty store of 16 ranges.
func New() *Store {
	s := &Store{
		channels: make(map[channel.ID]*record), endpoints: make(map[string]channel.Endpoint), stamp: 1000,
		held: make(map[uint32]uint64), trimmed: make(map[channel.Bucket]uint64), away: make(map[uint32]error), changed: make(map[uint32]chan struct{}), demands: make(map[uint32]int),
	}
	s.Split(16)
	return s
}

// ErrDown is what a store fails with that is told to.
var ErrDown = errors.New("store is down")

// Connect has changes told to hooks from now on; to none if they are nil.
func (s *Store) Connect(hooks Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = hooks
}

// Hooks returns the hooks that changes are told to.
func (s *Store) Hooks() Hooks {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks
}

// AddChannel makes a channel with its first content.
func (s *Store) AddChannel(url string) channel.ID { return s.add(url, 1) }

// AddEmptyChannel adds a channel that was never polled.
func (s *Store) AddEmptyChannel(url string) channel.ID { return s.add(url, 0) }

func (s *Store) add(url string, version uint64) channel.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := channel.IDOf(url)
	s.channels[id] = &record{
		Channel:    channel.Channel{ID: id, URL: url, Incarnation: 1, Version: version},
		version:    1,
		stragglers: make(map[uint64]uint64),
	}
	return id
}

// Subscribe makes a subscription; an empty sink is a cursor sink.
func (s *Store) Subscribe(id channel.ID, sink, secret string) channel.Subscription {
	s.mu.Lock()
	c := s.channels[id]
	c.lastSeq++
	sub := channel.Subscription{
		ID: fmt.Sprintf("sub_%.12s_%d", id, c.lastSeq), Seq: c.lastSeq, Channel: id, URL: c.URL, Sink: channel.Sink{URL: sink, Secret: secret},
		Created: time.Now().UTC(), FromVersion: max(c.Version, 1) + 1,
	}
	c.subs = append(c.subs, sub)
	if sink != "" {
		c.Webhooks++
	}
	changed := c.Channel
	s.mu.Unlock()
	if n := s.Hooks(); n != nil {
		n.ChannelChanged(changed, false)
		n.Subscribed(sub)
	}
	return sub
}

// Unsubscribe deletes a subscription.
func (s *Store) Unsubscribe(sub channel.Subscription) {
	s.mu.Lock()
	c := s.channels[sub.Channel]
	c.subs = slices.DeleteFunc(c.subs, func(other channel.Subscription) bool { return other.Seq == sub.Seq })
	delete(c.stragglers, sub.Seq)
	if sub.Sink.URL != "" {
		c.Webhooks--
	}
	changed := c.Channel
	s.mu.Unlock()
	if n := s.Hooks(); n != nil {
		n.ChannelChanged(changed, false)
		n.Unsubscribed(sub)
	}
}

// Commit publishes a channel's next version.
func (s *Store) Commit(id channel.ID) channel.Update {
	s.mu.Lock()
	c := s.channels[id]
	c.Version++
	c.Gone = false
	if c.GoneStamp > 0 {
		s.order = slices.DeleteFunc(s.order, func(u channel.Update) bool { return u.Gone && u.Stamp == c.GoneStamp })
	}
	c.GoneStamp = 0
	u := s.place(c)
	u.Data = Encoded(u.Version)
	c.updates = append(c.updates, u)
	s.append(u)
	changed := c.Channel
	s.mu.Unlock()
	if n := s.Hooks(); n != nil {
		n.ChannelChanged(changed, false)
		n.Committed(u, changed.Webhooks)
	}
	return u
}

// Gone commits that a channel's origin answered 410.
func (s *Store) Gone(id channel.ID) {
	s.mu.Lock()
	c := s.channels[id]
	if c.Gone {
		s.mu.Unlock()
		return
	}
	c.Gone = true
	u := s.place(c)
	u.Gone = true
	c.GoneStamp = u.Stamp
	s.append(u)
	changed := c.Channel
	s.mu.Unlock()
	if n := s.Hooks(); n != nil {
		n.ChannelChanged(changed, false)
		n.Committed(u, changed.Webhooks)
	}
}

// append adds an update to the order of all, and announces it.
func (s *Store) append(u channel.Update) {
	s.order = append(s.order, u)
	s.ring(s.rangeOf(u.Channel).ID)
}

func (s *Store) place(c *record) channel.Update {
	s.stamp = max(s.stamp+1, uint64(time.Now().UnixMicro()))
	return channel.Update{Channel: c.ID, URL: c.URL, Incarnation: c.Incarnation, Version: c.Version, Stamp: s.stamp, At: time.Now().UTC()}
}

// Trim forgets a channel's updates up to a version.
func (s *Store) Trim(id channel.ID, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	c.updates = slices.DeleteFunc(c.updates, func(u channel.Update) bool { return u.Version <= to })
	s.order = slices.DeleteFunc(s.order, func(u channel.Update) bool {
		drop := u.Channel == id && !u.Gone && u.Version <= to
		if drop {
			s.trimmed[id.Bucket()] = max(s.trimmed[id.Bucket()], u.Stamp)
			c.Oldest, c.TrimmedStamp = u.Version+1, max(c.TrimmedStamp, u.Stamp)
		}
		return drop
	})
}

// Fail makes calls fail with err, nil to heal; applied says that writes have their
// effect all the same.
func (s *Store) Fail(err error, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.applied = err, applied
}

// Encoded returns the data of an update.
func Encoded(version uint64) []byte {
	u := deltas.Update{
		Kind:       deltas.KindFeed,
		Entries:    deltas.Entries{Added: []deltas.Entry{{ID: fmt.Sprint("entry-", version), Title: "a & b"}}, Changed: []deltas.Entry{}, Removed: []deltas.Entry{}},
		Diff:       fmt.Sprintf("+entry %d\n", version),
		DeltaBytes: 42,
	}
	return u.Append(nil)
}

// Channel implements [notify.Store], as do those that follow.
func (s *Store) Channel(id channel.ID) (channel.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	c := s.channels[id]
	if c == nil {
		return channel.Channel{}, errors.Join(s.down, channel.ErrNotFound)
	}
	return c.Channel, errors.Join(s.down, s.away[s.rangeOf(id).ID])
}

func (s *Store) ChannelsIn(r channel.Range, after *channel.ID, limit int) ([]channel.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(s.channels), channel.ID.Compare)
	var out []channel.Channel
	for _, id := range ids {
		if r.Has(id.Bucket()) && (after == nil || id.Compare(*after) > 0) && len(out) < limit {
			out = append(out, s.channels[id].Channel)
		}
	}
	return out, s.down
}

func (s *Store) Subscription(id string) (channel.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.channels {
		for _, sub := range c.subs {
			if sub.ID == id {
				return sub, s.down
			}
		}
	}
	return channel.Subscription{}, channel.ErrNotFound
}

func (s *Store) Beginnings(_ context.Context, ids []string, _ bool) ([]channel.Beginning, error) {
	all := make([]channel.Beginning, len(ids))
	for i, id := range ids {
		sub, err := s.Subscription(id)
		if errors.Is(err, channel.ErrNotFound) {
			all[i].Missing = true
			continue
		}
		updates, gap, failed := s.Updates(sub.Channel, sub.FromVersion-1, 1)
		ch, lost := s.Channel(sub.Channel)
		if err := errors.Join(err, failed, lost); err != nil {
			return nil, err
		}
		all[i] = channel.Beginning{Channel: sub.Channel, From: sub.FromVersion, Gap: gap}
		if len(updates) > 0 {
			all[i].News = updates[0].Cursor()
		} else if ch.GoneStamp > 0 {
			all[i].News = channel.Cursor{Stamp: ch.GoneStamp, Bucket: ch.ID.Bucket()}
		}
	}
	return all, nil
}

func (s *Store) Webhooks(id channel.ID, after uint64, limit int) ([]channel.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	if c == nil {
		return nil, s.down
	}
	first, _ := c.find(after + 1)
	var out []channel.Subscription
	for _, sub := range c.subs[first:] {
		if len(out) == limit {
			break
		}
		if sub.Sink.URL != "" {
			out = append(out, sub)
		}
	}
	s.listed += len(out)
	return out, s.down
}

func (s *Store) Updates(id channel.ID, after uint64, limit int) ([]channel.Update, *channel.Gap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	if c == nil {
		return nil, nil, channel.ErrNotFound
	}
	kept := c.Version + 1
	if len(c.updates) > 0 {
		kept = c.updates[0].Version
	}
	var gap *channel.Gap
	if first := max(after+1, 2); first < kept && first <= c.Version {
		gap = &channel.Gap{From: first, To: kept - 1}
	}
	var out []channel.Update
	for _, u := range c.updates {
		if u.Version > after && len(out) < limit {
			out = append(out, u)
		}
	}
	s.reads += len(out)
	return out, gap, errors.Join(s.down, s.away[s.rangeOf(id).ID])
}

func (s *Store) Progress(id channel.ID) (channel.Progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	if c == nil {
		return channel.Progress{}, channel.ErrNotFound
	}
	p := channel.Progress{Channel: id, Incarnation: c.Incarnation, Version: c.version, Seq: c.seq}
	for seq, next := range c.stragglers {
		p.Stragglers = append(p.Stragglers, channel.Straggler{Seq: seq, Next: next})
	}
	return p, s.down
}

func (s *Store) Advance(_ context.Context, positions []channel.Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil && !s.applied {
		return s.down
	}
	for _, p := range positions {
		c := s.channels[p.Channel]
		if c == nil || c.Incarnation != p.Incarnation || p.Version > max(c.Version, 1) {
			continue
		}
		late := p.Version < c.version || p.Version == c.version && p.Seq < c.seq
		if late && !s.shared {
			panic("a position went back")
		}
		if late { // of a leader before, or of an earlier term
			continue
		}
		c.version, c.seq = p.Version, p.Seq
		for _, straggler := range p.Stragglers {
			c.set(straggler)
		}
	}
	return s.down
}

func (c *record) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(c.subs, seq, func(sub channel.Subscription, seq uint64) int { return cmp.Compare(sub.Seq, seq) })
}

func (c *record) set(s channel.Straggler) {
	_, known := c.find(s.Seq)
	if s.Next == 0 || !known {
		delete(c.stragglers, s.Seq)
		return
	}
	c.stragglers[s.Seq] = s.Next
}

func (s *Store) EndpointsIn(r channel.Range) ([]channel.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []channel.Endpoint
	for url, e := range s.endpoints {
		if r.Has(channel.IDOf(url).Bucket()) {
			out = append(out, e)
		}
	}
	return out, s.down
}

// ErrStale is what a change fails with that was made from another record.
var ErrStale = errors.New("made from another record")

func (s *Store) SetEndpoint(_ context.Context, e, was channel.Endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil && !s.applied {
		return s.down
	}
	stands := s.endpoints[e.URL]
	if stands.URL = e.URL; stands != was {
		return ErrStale
	}
	if e.Healthy() {
		delete(s.endpoints, e.URL)
	} else {
		s.endpoints[e.URL] = e
	}
	return s.down
}

func (s *Store) Endpoint(url string) (channel.Endpoint, error) {
	e := s.Kept(url)
	s.mu.Lock()
	defer s.mu.Unlock()
	return e, s.down
}

// Kept returns what the store has of an endpoint.
func (s *Store) Kept(url string) channel.Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.endpoints[url]
	e.URL = url
	return e
}

// Loads returns how many times a channel was read.
func (s *Store) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// Questions returns how many times chosen channels of a range were asked for.
func (s *Store) Questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.questions
}

// Reads returns how many updates of chosen channels were read.
func (s *Store) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Listed returns how many subscriptions were read as those of a channel.
func (s *Store) Listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// Corrupt makes all updates unreadable that are in the store.
func (s *Store) Corrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.order {
		s.order[i].Data = []byte{255}
	}
	for _, c := range s.channels {
		for i := range c.updates {
			c.updates[i].Data = []byte{255}
		}
	}
}
