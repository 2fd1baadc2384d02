package payload

import (
	"sync"

	"github.com/seed-91e7e7c1/corona/channel"
)

// Cache remembers the newest encoded updates, since all subscriptions of a channel
// get the same one. It forgets in the order of insertion. It is safe for concurrent
// use.
type Cache struct {
	most int // bytes
	mu   struct {
		sync.Mutex
		known map[key][]byte
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
	c.mu.known = make(map[key][]byte)
	return c
}

// Encode is [Encode] through the cache. The result is shared: it must not be changed.
func (c *Cache) Encode(u channel.Update) ([]byte, error) {
	key := key{u.Channel, u.Incarnation, u.Version}
	c.mu.Lock()
	encoded, ok := c.mu.known[key]
	c.mu.Unlock()
	if ok {
		return encoded, nil
	}
	encoded, err := Encode(u)
	if err != nil {
		return nil, err
	}
	c.put(key, encoded)
	return encoded, nil
}

func (c *Cache) put(key key, encoded []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.known[key]; ok || len(encoded) > c.most {
		return
	}
	for c.mu.bytes+len(encoded) > c.most {
		oldest := c.mu.order[0]
		c.mu.order = c.mu.order[1:]
		c.mu.bytes -= len(c.mu.known[oldest])
		delete(c.mu.known, oldest)
	}
	c.mu.known[key] = encoded
	c.mu.order = append(c.mu.order, key)
	c.mu.bytes += len(encoded)
}
