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
}

// Owner judges and commits what pollers see. An error means that the outcome is
// not known; the poller stores nothing and reports again after its next poll.
type Owner interface {
	Report(ctx context.Context, report Report) (Answer, error)
}

// Report is what one poll of a channel showed.
type Report struct {
	Channel     channel.ID
	Incarnation uint64
	Begun       time.Time    // of the poll
	BaseVersion uint64       // the version that the poller holds or knows to be current; 0: none
	Base        *deltas.Core // content of BaseVersion; nil: the poller has none
	Core        *deltas.Core // what the origin shows; nil: BaseVersion still stands
	Gone        bool         // the origin answered 410
}

// Answer is what the owner has made durable.
type Answer struct {
	Version uint64       // current
	Hash    deltas.Hash  // core hash of Version
	Held    bool         // a candidate waits: polls that show the current content are reported too
	Current *deltas.Core // content of Version, when the report's base was another; may be nil
	Ended   bool         // the owner knows no such channel or incarnation, or it is gone: stop polling
}

// Fetcher makes one conditional request; see [fetcher.Fetcher]. Its errors are
// [*fetcher.Error]s.
type Fetcher interface {
	Fetch(ctx context.Context, req fetcher.Request) (*fetcher.Response, error)
}
