// Package wedge joins the primary owners of channels with the nodes that poll them. The
// wedge of a channel is the set of its pollers, by rank.
//
// On the owner's side an [Owner] carries out what package primary orders: it chooses the
// pollers of each channel and sends each its part. On the poller's side a [Poller] obeys
// the owners of all ranges, and takes what the engine reports to them. A node alone has
// neither: see [Alone].
package wedge

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
)

// Engine polls the channels that it has orders for; see [engine.Engine].
type Engine interface {
	Order(orders ...engine.Order)
	Repace(paces ...engine.Pace)
	Drop(ids ...channel.ID)
	Learn(news engine.News)
	Spare(spare engine.Spare)
	Ordered(r channel.Range) []engine.Pace
	Lacks(id channel.ID) bool
	Held(id channel.ID) (news engine.News, ok bool)
	Stats(id channel.ID) (engine.ChannelStats, bool)
	Content(id channel.ID, hash deltas.Hash) (*deltas.Core, error)
}

// Config is what both sides need to know. Self, Egress, Interval, Call and Ask are required; the
// zero value of another field means its default.
type Config struct {
	Self     string        // node ID
	Egress   string        // label of the address that origins see
	Interval time.Duration // τ

	// Call sends a request to another node and returns what its [Node.Serve] does.
	Call func(ctx context.Context, node string, request []byte) (reply []byte, err error)
	Ask  Asker

	Lease  time.Duration // of a range's orders; 0: 60 s. It is renewed three times as often
	Stands time.Duration // how long a node must be seen, or not, before channels move, and twice that at most; 0: 10 s
	Fanout int           // pollers that are told of one version directly, and by each that passes it on; 0: 32
	Logger *slog.Logger  // nil: discard

	Registerer prometheus.Registerer // of metrics; nil: none
	metrics    *metrics              // of both sides of a node
}

// Asker asks the node that leads the range with a bucket.
type Asker interface {
	// Report has [Owner.ServeReport] answer a report.
	Report(ctx context.Context, b channel.Bucket, report []byte) (answer []byte, err error)
	// Note gives notes to [Owner.ServeNotes].
	Note(ctx context.Context, b channel.Bucket, notes []byte) error
	// Move tells the primary owner of a move.
	Move(ctx context.Context, b channel.Bucket, move engine.Move) error
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Stands = cmp.Or(c.Stands, 10*time.Second)
	c.Fanout = cmp.Or(c.Fanout, 32)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// renewals are how often a lease is renewed before it lapses.
const renewals = 3

// handover is how long after an order another node behind the same address may still poll:
// its lease may be renewed once more by an owner that does not know yet that it is none.
func (c Config) handover() time.Duration { return c.Lease + c.Lease/renewals }

func idsOf(paces []engine.Pace) []channel.ID {
	ids := make([]channel.ID, len(paces))
	for i, pace := range paces {
		ids[i] = pace.Channel
	}
	return ids
}
