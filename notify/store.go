package notify

import (
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

// Stores are the replicated state that delivery reads, and commits its positions to, as
// each kind of sink needs it.
type Stores struct {
	Webhooks webhook.Store // of the ranges that this node leads
	Streams  stream.Store  // of the whole cluster
}
