package engine

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// Order says how a channel is polled, and what its owner has committed.
type Order struct {
	Channel     channel.ID
	Incarnation uint64 // of the channel; a higher one starts from nothing
	URL         string // canonical
	Rate        overlay.Rate
	Width, Rank int         // pollers, and which of them this node is
	Version     uint64      // committed; 0: no content yet
	Hash        deltas.Hash // core hash of Version; zero when that is 0
	Held        bool        // a candidate waits, as in [Answer]
	Ask         string      // asked instead of URL, which redirects there for good; empty: URL
	MovedTo     string      // where permanent redirects lead, as the owner has heard; empty: nowhere
	Others      time.Time   // until when other nodes may ask for the channel, if this order is the first since it was dropped; zero: none does
	MovedAgain  time.Time   // from when on the owner wants to hear again that they do; zero: never, it is learned or doubted
	Subscribers uint64      // told to the origin; 0: not told

	// Holder is a node that may hold Version, where the owner knows of none at this node;
	// empty: it knows none that does. The engine does not use it.
	Holder string

	// Most is the highest rate that the origin's words allow, [overlay.RateOf] of what
	// Bound told the owner last; no polls: Bound told nothing.
	Most overlay.Rate
}

// Pace is how often a channel is polled, of an [Order] that stands otherwise.
type Pace struct {
	Channel     channel.ID
	Incarnation uint64 // of the order; a pace for another one changes nothing
	Rate        overlay.Rate
	Width, Rank int
}

// Owner judges and commits what pollers see. An error means that the outcome is
// not known; the poller stores nothing and reports again after its next poll.
type Owner interface {
	Report(ctx context.Context, report Report) (Answer, error)

	// Leased reports that no other node has polled a channel yet, whatever has happened to
	// this one: it is asked just before each request is sent, and that is not where it says
	// no. It must not block.
	Leased(id channel.ID) bool

	// Bound says that the origin wants so much time between two polls of a channel, a
	// day at most; 0: it asks for nothing. It is called after a poll from which another
	// Order.Most would follow than the order has. It must not block.
	Bound(id channel.ID, incarnation uint64, atLeast time.Duration)

	// Sized says how many bytes on the wire a poll of a channel is expected to take,
	// after the first poll under an order and those that have moved it by about a quarter
	// from what was said last, with Config.Sizes. It must not block.
	Sized(id channel.ID, incarnation uint64, bytes int64)

	// Moved says where a poll has shown that a channel has moved, or that it has not,
	// when the order says otherwise. After an error it is called again with the next
	// poll that shows it.
	Moved(ctx context.Context, move Move) error
}

// Report is what one poll of a channel showed.
type Report struct {
	Channel     channel.ID
	Incarnation uint64
	Begun       time.Time    // of the poll
	Known       time.Time    // when the latest poll before it began that showed BaseVersion; zero: not known
	BaseVersion uint64       // the version that the poller holds or knows to be current; 0: none
	Base        *deltas.Core // content of BaseVersion; nil: the poller has none
	Core        *deltas.Core // what the origin shows; nil: BaseVersion still stands
	Delta       []byte       // makes Core of Base; nil: it has not been made
	Late        bool         // the poll began before the poller knew of BaseVersion, whose content may be newer than Core
	Gone        bool         // the origin answered 410
	Shown       Shown        // with Core
}

// Shown is what an origin sent with a content, by which a poller recognises it.
type Shown struct {
	RawHash            uint64 // of the body
	ETag, LastModified string // validators, empty: none
	URL                string // whose validators they are; empty: the channel's own
	FeedURL            string // the feed that an HTML page names
}

// News is a version of a channel as another poller holds it: its owner has committed it.
type News struct {
	Channel     channel.ID
	Incarnation uint64
	Version     uint64
	Hash        deltas.Hash // of the content of Version
	Held        bool        // a candidate waits, as in [Answer]
	Base        deltas.Hash // of the content that Patch is applied to
	Patch       []byte      // makes the content of Version; nil: it is not told
	Shown       Shown       // with the content of Version

	Content *deltas.Core // of Version; nil: it is not told
}

// Answer is what the owner has made durable.
type Answer struct {
	Version uint64       // current
	Hash    deltas.Hash  // core hash of Version
	Held    bool         // a candidate waits: polls that show the current content are reported too
	Current *deltas.Core // content of Version, when the report's base was another; may be nil
	Ended   bool         // the owner knows no such channel or incarnation, or it is gone: stop polling
}

// An owner brings a poller forward by the patches of so many versions at most, and a patch
// has so many bytes at most: large content that changed altogether must still become a
// version.
const (
	MostPatches = 64
	MaxPatch    = 1 << 20
)

// Move is what a poll showed of where a channel has moved.
type Move struct {
	Channel     channel.ID
	Incarnation uint64
	To          string      // where permanent redirects (301, 308) alone lead; empty: they lead nowhere
	Since       time.Time   // when a poll was led there first, without another in between that was not
	Kind        deltas.Kind // of the document at the end of all redirects; 0: not known
	Foreign     bool        // that is another kind than what was current before the poll
	Learned     bool        // the poll began at the learned URL instead of the channel's own
	At          time.Time   // when the poll began
}

// Fetcher makes one conditional request; see [fetcher.Fetcher]. Its errors are
// [*fetcher.Error]s.
type Fetcher interface {
	Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error)
	Reserve(ctx context.Context, url string, bytes int64, whole bool) (fetcher.Room, error)
}
