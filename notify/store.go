package notify

import (
	"github.com/seed-91e7e7c1/corona/notify/stream"
	"github.com/seed-91e7e7c1/corona/notify/webhook"
)

// Store is the replicated state that delivery reads, and commits its positions to:
// what each kind of sink needs of it.
type Store interface {
	webhook.Store
	stream.Store
}
