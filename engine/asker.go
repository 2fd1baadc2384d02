package engine

import (
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

// asker does a poll outside the engine's lock: it asks the origin, compares what
// comes with what is held, and reports to the owner. It changes no state but the
// cache's; [Engine.finish] does.
type asker struct {
	config  Config
	fetcher Fetcher
	owner   Owner
	cache   *store.Cache
	metrics *metrics
	cpu     chan struct{}         // held while a document is read
	leased  func(channel.ID) bool // owner.Leased

	// engine keeps the state that a poll under way needs. Not an interface: what polls
	// pass to it would have to be on the heap.
	engine *Engine
}
