package notify

import (
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// bodies remembers the newest encoded updates, since all subscriptions of a
// channel get the same one.
type bodies struct {
	most int // bytes
	mu   struct {
		sync.Mutex
		known map[bodyKey][]byte
		order []bodyKey // oldest first
		bytes int
	}
}

type bodyKey struct {
	channel     channel.ID
	incarnation uint64
	version     uint64
}

func newBodies(most int) *bodies {
	b := &bodies{most: most}
	b.mu.known = make(map[bodyKey][]byte)
	return b
}

// get returns the update as the contract has it. It is shared: not to be changed.
func (b *bodies) get(u channel.Update) ([]byte, error) {
	key := bodyKey{u.Channel, u.Incarnation, u.Version}
	b.mu.Lock()
	encoded, ok := b.mu.known[key]
	b.mu.Unlock()
	if ok {
		return encoded, nil
	}
	encoded, err := encodeUpdate(u)
	if err != nil {
		return nil, err
	}
	b.put(key, encoded)
	return encoded, nil
}

func (b *bodies) put(key bodyKey, encoded []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.mu.known[key]; ok || len(encoded) > b.most {
		return
	}
	for b.mu.bytes+len(encoded) > b.most {
		oldest := b.mu.order[0]
		b.mu.order = b.mu.order[1:]
		b.mu.bytes -= len(b.mu.known[oldest])
		delete(b.mu.known, oldest)
	}
	b.mu.known[key] = encoded
	b.mu.order = append(b.mu.order, key)
	b.mu.bytes += len(encoded)
}
