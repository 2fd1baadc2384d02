package wedge

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/overlay"
	"github.com/seed-91e7e7c1/corona/wedge/internal/wire"
)

// Session is a range in a term of its owner, and how many batches of it a poller was
// sent.
type Session struct {
	channel.Range
	Term, Sequence uint64
}

// batch is a part of a session.
type batch struct {
	Session
	begin    bool  // what is not ordered from here to complete is dropped
	complete bool  // all channels have been ordered since begin
	items    []any // engine.Order, engine.Pace, channel.ID to be dropped, engine.News, engine.Spare
}

// most bounds the items of a batch: an order takes some 150 bytes. A batch takes no more of them once
// the URLs and patches of those that it has come to mostBytes: no message of more than 16 MiB is sent.
const (
	most      = 1000
	mostBytes = 1 << 20
)

// fit returns how many of the items that wait the next batch has.
func fit(items []any) (n int) {
	for bytes := 0; n < min(len(items), most) && bytes < mostBytes; n++ {
		bytes += textBytes(items[n])
	}
	return n
}

// textBytes returns the bytes of what may be long in an item.
func textBytes(item any) int {
	switch item := item.(type) {
	case engine.Order:
		return len(item.URL) + len(item.Ask) + len(item.MovedTo)
	case engine.News:
		s := item.Shown
		return len(item.Patch) + len(s.ETag) + len(s.LastModified) + len(s.URL) + len(s.FeedURL)
	}
	return 0
}

func (s Session) encode() *wire.Session {
	return &wire.Session{Range: s.ID, From: uint32(s.From), To: uint32(s.To), Term: s.Term, Sequence: s.Sequence}
}

func decodeSession(m *wire.Session) (Session, error) {
	if m.GetFrom() > m.GetTo() || m.GetTo() >= channel.Buckets {
		return Session{}, fmt.Errorf("range of buckets %d to %d", m.GetFrom(), m.GetTo())
	}
	return Session{
		Range: channel.Range{ID: m.GetRange(), From: channel.Bucket(m.GetFrom()), To: channel.Bucket(m.GetTo())},
		Term:  m.GetTerm(), Sequence: m.GetSequence(),
	}, nil
}

func (b batch) encode() *wire.Batch {
	items := make([]*wire.Item, len(b.items))
	for i, item := range b.items {
		items[i] = encodeItem(item)
	}
	return &wire.Batch{Session: b.Session.encode(), Begin: b.begin, Complete: b.complete, Items: items}
}

// channelOf returns the channel that an item is about.
func channelOf(item any) channel.ID {
	switch item := item.(type) {
	case engine.Order:
		return item.Channel
	case engine.Pace:
		return item.Channel
	case channel.ID:
		return item
	case engine.News:
		return item.Channel
	case engine.Spare:
		return item.Channel
	}
	panic(fmt.Sprintf("wedge: an item of type %T", item))
}

func encodeItem(item any) *wire.Item {
	switch item := item.(type) {
	case engine.Order:
		return &wire.Item{Of: &wire.Item_Order{Order: encodeOrder(&item)}}
	case engine.Pace:
		return &wire.Item{Of: &wire.Item_Pace{Pace: encodePace(item)}}
	case channel.ID:
		return &wire.Item{Of: &wire.Item_Drop{Drop: item[:]}}
	case engine.News:
		return &wire.Item{Of: &wire.Item_News{News: encodeNews(&item)}}
	case engine.Spare:
		return &wire.Item{Of: &wire.Item_Spare{Spare: encodeSpare(item)}}
	}
	panic(fmt.Sprintf("wedge: an item of type %T", item))
}

// ItemBytes returns how many bytes of a batch an [engine.Order] or an [engine.Pace] takes, for
// those that reckon what many would.
func ItemBytes[T engine.Order | engine.Pace](item T) int {
	return proto.Size(&wire.Batch{Items: []*wire.Item{encodeItem(item)}})
}

func encodePace(p engine.Pace) *wire.Pace {
	return &wire.Pace{
		Channel: p.Channel[:], Incarnation: p.Incarnation, Polls: p.Rate.Polls, Intervals: p.Rate.Intervals,
		Width: uint32(p.Width), Rank: uint32(p.Rank),
	}
}

func encodeOrder(o *engine.Order) *wire.Order {
	return &wire.Order{
		Pace: encodePace(engine.Pace{Channel: o.Channel, Incarnation: o.Incarnation, Rate: o.Rate, Width: o.Width, Rank: o.Rank}),
		Url:  o.URL, Version: o.Version, Hash: o.Hash[:], Held: o.Held, Ask: o.Ask, MovedTo: o.MovedTo, MovedAgainUs: micros(o.MovedAgain),
		OthersUs: untilMicros(o.Others), Holder: o.Holder, Subscribers: o.Subscribers, MostPolls: o.Most.Polls, MostIntervals: o.Most.Intervals,
	}
}

func encodeNews(n *engine.News) *wire.News {
	return &wire.News{
		Channel: n.Channel[:], Incarnation: n.Incarnation, Version: n.Version, Hash: n.Hash[:], Held: n.Held,
		Base: n.Base[:], Patch: n.Patch, Shown: encodeShown(n.Shown),
	}
}

func encodeSpare(s engine.Spare) *wire.Spare {
	return &wire.Spare{Channel: s.Channel[:], Incarnation: s.Incarnation, UntilUs: untilMicros(s.Until)}
}

func encodeShown(s engine.Shown) *wire.Shown {
	return &wire.Shown{RawHash: s.RawHash, Etag: []byte(s.ETag), LastModified: []byte(s.LastModified), Url: []byte(s.URL), FeedUrl: []byte(s.FeedURL)}
}

func decodeShown(m *wire.Shown) engine.Shown {
	return engine.Shown{RawHash: m.GetRawHash(), ETag: string(m.GetEtag()), LastModified: string(m.GetLastModified()), URL: string(m.GetUrl()), FeedURL: string(m.GetFeedUrl())}
}

// micros is 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// untilMicros returns how long it is until a time, at least 1 of one that is set.
func untilMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(time.Until(t).Microseconds(), 1)
}

// decodeBatch leaves out the items that cannot be obeyed, and returns what is wrong with
// each.
func decodeBatch(m *wire.Batch) (b batch, wrong []error, err error) {
	if b.Session, err = decodeSession(m.GetSession()); err != nil {
		return b, nil, err
	}
	b.begin, b.complete = m.GetBegin(), m.GetComplete()
	for _, item := range m.GetItems() {
		decoded, err := b.decodeItem(item)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		b.items = append(b.items, decoded)
	}
	return b, wrong, nil
}

func (b *batch) decodeItem(m *wire.Item) (any, error) {
	switch of := m.GetOf().(type) {
	case *wire.Item_Order:
		return b.decodeOrder(of.Order)
	case *wire.Item_Pace:
		return b.decodePace(of.Pace)
	case *wire.Item_Drop:
		return b.decodeID(of.Drop)
	case *wire.Item_News:
		return b.decodeNews(of.News)
	case *wire.Item_Spare:
		return b.decodeSpare(of.Spare)
	}
	return nil, fmt.Errorf("an item of no known kind")
}

// decodeID refuses channels of other ranges than the batch's.
func (b *batch) decodeID(bytes []byte) (id channel.ID, err error) {
	if len(bytes) != len(id) {
		return id, fmt.Errorf("an ID of %d bytes", len(bytes))
	}
	if copy(id[:], bytes); !b.Has(id.Bucket()) {
		return id, fmt.Errorf("channel %s is not of range %d", id, b.ID)
	}
	return id, nil
}

func decodeHash(bytes []byte) (hash deltas.Hash, err error) {
	if len(bytes) != 0 && len(bytes) != len(hash) {
		return hash, fmt.Errorf("a hash of %d bytes", len(bytes))
	}
	copy(hash[:], bytes)
	return hash, nil
}

func (b *batch) decodePace(m *wire.Pace) (engine.Pace, error) {
	id, err := b.decodeID(m.GetChannel())
	switch {
	case err != nil:
		return engine.Pace{}, err
	case m.GetPolls() == 0 || m.GetPolls() > math.MaxInt32 || m.GetIntervals() > overlay.MostIntervals:
		return engine.Pace{}, fmt.Errorf("channel %s: a rate of %d polls in %d intervals", id, m.GetPolls(), m.GetIntervals())
	case m.GetRank() >= m.GetWidth() || m.GetWidth() > math.MaxUint16:
		return engine.Pace{}, fmt.Errorf("channel %s: rank %d of %d", id, m.GetRank(), m.GetWidth())
	}
	return engine.Pace{
		Channel: id, Incarnation: m.GetIncarnation(), Rate: overlay.Rate{Polls: m.GetPolls(), Intervals: max(m.GetIntervals(), 1)},
		Width: int(m.GetWidth()), Rank: int(m.GetRank()),
	}, nil
}

func (b *batch) decodeOrder(m *wire.Order) (engine.Order, error) {
	pace, err := b.decodePace(m.GetPace())
	if err != nil {
		return engine.Order{}, err
	}
	hash, err := decodeHash(m.GetHash())
	if err != nil {
		return engine.Order{}, fmt.Errorf("channel %s: %w", pace.Channel, err)
	}
	if channel.IDOf(m.GetUrl()) != pace.Channel {
		return engine.Order{}, fmt.Errorf("channel %s is not that of %q", pace.Channel, m.GetUrl())
	}
	order := engine.Order{
		Channel: pace.Channel, Incarnation: pace.Incarnation, URL: m.GetUrl(), Rate: pace.Rate, Width: pace.Width, Rank: pace.Rank,
		Version: m.GetVersion(), Hash: hash, Held: m.GetHeld(), Ask: m.GetAsk(), MovedTo: m.GetMovedTo(),
		Holder: m.GetHolder(), Subscribers: m.GetSubscribers(), Most: overlay.Rate{Polls: m.GetMostPolls(), Intervals: m.GetMostIntervals()},
	}
	if again := m.GetMovedAgainUs(); again != 0 {
		order.MovedAgain = time.UnixMicro(again)
	}
	if until := m.GetOthersUs(); until > 0 {
		order.Others = untilTime(until)
	}
	return order, nil
}

// maxUntil bounds how long another node may have a poller wait.
const maxUntil = 24 * time.Hour

// untilTime is the time that untilMicros encoded.
func untilTime(us int64) time.Time {
	return time.Now().Add(time.Duration(min(us, maxUntil.Microseconds())) * time.Microsecond)
}

func (b *batch) decodeSpare(m *wire.Spare) (engine.Spare, error) {
	id, err := b.decodeID(m.GetChannel())
	if err != nil {
		return engine.Spare{}, err
	}
	return engine.Spare{Channel: id, Incarnation: m.GetIncarnation(), Until: untilTime(m.GetUntilUs())}, nil
}

// decodeNews leaves out the content.
func (b *batch) decodeNews(m *wire.News) (engine.News, error) {
	id, err := b.decodeID(m.GetChannel())
	if err != nil {
		return engine.News{}, err
	}
	hash, err := decodeHash(m.GetHash())
	if err != nil {
		return engine.News{}, fmt.Errorf("channel %s: %w", id, err)
	}
	base, err := decodeHash(m.GetBase())
	if err != nil {
		return engine.News{}, fmt.Errorf("channel %s: %w", id, err)
	}
	return engine.News{
		Channel: id, Incarnation: m.GetIncarnation(), Version: m.GetVersion(), Hash: hash, Held: m.GetHeld(),
		Base: base, Patch: m.GetPatch(), Shown: decodeShown(m.GetShown()),
	}, nil
}
