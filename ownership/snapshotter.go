package ownership

import (
	"context"
	"sync"
	"time"
)

// dividedEvery is how often it is looked for ranges that were split.
const dividedEvery = time.Second

// snapshots truncates the shared log whenever it has grown enough. All groups
// take part, so that no idle one pins old space, and share a flush of the state. The log of a
// range that was split is truncated at once, if it was not before.
func (s *Store) snapshots(ctx context.Context) {
	divided := time.NewTicker(dividedEvery)
	defer divided.Stop()
	for {
		select {
		case <-s.log.Full():
			s.snapshotAll()
		case <-divided.C:
			for _, g := range s.groups() {
				if g.replays() {
					g.snapshot()
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) snapshotAll() {
	var snapshots sync.WaitGroup
	for _, g := range s.groups() {
		snapshots.Go(g.snapshot)
	}
	snapshots.Wait()
	if err := s.log.Truncated(); err != nil {
		s.tools.log.Warn("log keeps its space", "error", err)
	}
}
