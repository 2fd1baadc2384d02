package payload

import (
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Encoded is an update as it is sent. JSON is shared: it must not be changed.
type Encoded struct {
	Version uint64
	At      time.Time
	JSON    []byte
}

// Cache remembers the newest encoded updates, since all subscriptions of a channel
// get the same one. It forgets in the order of insertion. It is safe for concurrent
// use.
type Cache struct {
	most int // bytes
	mu   struct {
		sync.Mutex
		known map[key]Encoded
		order []key // oldest first
		bytes int
	}
}

type key struct {
	channel     channel.ID
	incarnation uint64
	version     uint64
}

// NewCache returns a cache of at most so many bytes of encoded updates.
func NewCache(most int) *Cache {
	c := &Cache{most: most}
	c.mu.known = make(map[key]Encoded)
	return c
}

// Get returns an update that was encoded not long ago.
func (c *Cache) Get(id channel.ID, incarnation, version uint64) (Encoded, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	encoded, ok := c.mu.known[key{id, incarnation, version}]
	return encoded, ok
}

// Encode returns an update as it is sent, and remembers it.
func (c *Cache) Encode(u channel.Update) (Encoded, error) {
	if encoded, ok := c.Get(u.Channel, u.Incarnation, u.Version); ok {
		return encoded, nil
	}
	json, err := Encode(u)
	if err != nil {
		return Encoded{}, err
	}
	encoded := Encoded{Version: u.Version, At: u.At, JSON: json}
	c.put(key{u.Channel, u.Incarnation, u.Version}, encoded)
	return encoded, nil
}

func (c *Cache) put(key key, encoded Encoded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.known[key]; ok || len(encoded.JSON) > c.most {
		return
	}
	for c.mu.bytes+len(encoded.JSON) > c.most {
		oldest := c.mu.order[0]
		c.mu.order = c.mu.order[1:]
		c.mu.bytes -= len(c.mu.known[oldest].JSON)
		delete(c.mu.known, oldest)
	}
	c.mu.known[key] = encoded
	c.mu.order = append(c.mu.order, key)
	c.mu.bytes += len(encoded.JSON)
}
