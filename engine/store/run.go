package store

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// Run syncs what was written without, and repairs damage, until the context ends.
func (c *Cache) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { c.syncWrites(ctx) })
	both.Go(func() { c.repair(ctx) })
	both.Wait()
}

// syncDelay is how long a record may wait to be safe from a kill. Losing it costs a
// full GET.
const syncDelay = time.Second

// syncLater has [Cache.Run] sync what was just written.
func (c *Cache) syncLater() {
	select {
	case c.unsynced <- struct{}{}:
	default:
	}
}

// syncWrites makes records durable, many with one sync.
func (c *Cache) syncWrites(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.unsynced:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(syncDelay):
			c.Failed("sync records", c.Sync())
		}
	}
}

// AsideEvery is how often [Cache.Run] looks whether there is room for a store that
// was set aside.
const AsideEvery = 10 * time.Second

// repair cuts out what the cache can no longer read: it is fetched again. A
// compaction that meets damage would be tried again and again. A store that was set
// aside is kept, so that the operator can look into it, until its room is needed.
func (c *Cache) repair(ctx context.Context) {
	ticker := time.NewTicker(AsideEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case found := <-c.damaged:
			c.config.Logger.Error("content cache is damaged: a part of it is dropped, and its contents are fetched again", "path", found.path)
			c.metrics.cacheCut.Inc()
			c.Failed("drop what is damaged", c.cut(ctx, found))
		case <-ticker.C:
			if c.config.Volume.Level() != volume.OK {
				dropAside(c.config)
			}
		}
	}
}
