package engine

import (
	"context"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine/store"
)

const recallBatch = 256 // records under one lock

// recaller reads the cache's records after a start.
type recaller struct{ e *Engine }

// run reads the records of all channels after a start, until the context ends. In the
// order of their keys this takes a fraction of the time of one read by each poll. A
// poll that comes first still reads its own, so run goes as fast as one processor
// allows.
func (c *recaller) run(ctx context.Context) {
	var last channel.ID
	for more := true; more && ctx.Err() == nil; {
		var found []store.Recorded
		var err error
		found, last, more, err = c.e.cache.Records(last, recallBatch)
		c.e.cache.Failed("read records", err)
		c.some(found)
	}
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	c.e.mu.recalling = false
}

// starting says whether the start is not over: for an interval a poll may be the first
// of its channel, with its record and connection not in memory. The caller holds mu.
func (e *Engine) starting(now int64) bool {
	return e.mu.recalling || now < e.mu.began+int64(e.config.Interval)
}

func (c *recaller) some(found []store.Recorded) {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	now := wallNow()
	for i := range found {
		c.e.mu.channels.recall(found[i].ID, &found[i].Record, now)
	}
}
