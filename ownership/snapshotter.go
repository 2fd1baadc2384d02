package ownership

import (
	"context"
	"sync"
)

// snapshots truncates the shared log whenever it has grown enough. All groups
// take part, so that no idle one pins old space, and share a flush of the state.
func (s *Store) snapshots(ctx context.Context) {
	for {
		select {
		case <-s.log.Full():
			s.snapshotAll()
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
