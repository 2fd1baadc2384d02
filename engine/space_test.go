package engine

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// watchedVolume returns a volume with a reserve of 16 MiB, of which free has what is
// free, in MiB. It is watched until the test ends.
func watchedVolume(t *testing.T, free *atomic.Uint64) *volume.Volume {
	t.Helper()
	v, err := volume.Open(volume.Config{
		Dir: t.TempDir(), Reserve: 16 << 20, Fatal: func(err error) { t.Error(err) },
		Usage: func(string) (uint64, uint64, error) { return free.Load() << 20, 1000 << 20, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { v.Run(ctx) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	return v
}

// row 60: polls go on while the disk fills up. What it has no room for is not
// reported, so that it is found again when there is space; channels without content are
// not asked meanwhile.
func TestNoSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64 // MiB, of a reserve of 16
		free.Store(1000)
		v := watchedVolume(t, &free)
		w := newWorld(t, Config{Interval: time.Minute, Floor: time.Second, Volume: v})
		defer w.close()

		old, fresh := "http://a.example/old", "http://b.example/fresh"
		ids := map[string]channel.ID{old: channel.IDOf(old), fresh: channel.IDOf(fresh)}
		say := func(u, text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.origins[u] = &origin{status: 200, body: text}
		}
		version := func(u string) uint64 {
			w.mu.Lock()
			defer w.mu.Unlock()
			if o := w.owned[ids[u]]; o != nil {
				return o.version
			}
			return 0
		}
		say(old, "one")
		say(fresh, "one")
		w.engine.Order(orderURL(old))
		w.pass(10 * time.Second)
		for i, step := range []struct {
			free       uint64
			old, fresh uint64
		}{
			{10, 2, 0}, // low: no first contents
			{3, 2, 0},  // critical: no changes either
			{1000, 3, 1},
		} {
			free.Store(step.free)
			w.pass(2 * time.Second)
			before, asked := w.requests(old), w.requests(fresh)
			w.engine.Order(orderURL(fresh))
			say(old, strings.Repeat("more ", i+2))
			w.pass(3 * time.Minute)
			if got := w.requests(old) - before; got < 3 {
				t.Errorf("%s: %d polls in three minutes", v.Level(), got)
			}
			if got := w.requests(fresh) - asked; (got > 0) != (step.fresh > 0) {
				t.Errorf("%s: %d polls of a channel without content", v.Level(), got)
			}
			if version(old) != step.old || version(fresh) != step.fresh {
				t.Errorf("%s: versions %d and %d, want %d and %d", v.Level(), version(old), version(fresh), step.old, step.fresh)
			}
		}
	})
}
