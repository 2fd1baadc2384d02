package wedge

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
)

// Alone is the [primary.Poller] of a node alone: its engine polls every channel.
type Alone struct{ *engine.Engine }

// Begin implements [primary.Poller].
func (Alone) Begin(channel.Range, uint64) {}

// Complete implements [primary.Poller].
func (Alone) Complete(channel.Range) {}

// End implements [primary.Poller].
func (a Alone) End(r channel.Range) { a.Drop(idsOf(a.Ordered(r))...) }

// Repace implements [primary.Poller].
func (a Alone) Repace(paces ...engine.Pace) (whole []channel.ID) {
	a.Engine.Repace(paces...)
	return nil
}

// Wait implements [primary.Poller].
func (Alone) Wait() {}
