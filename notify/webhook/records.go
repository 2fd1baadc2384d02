package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// recordSaver commits the records of endpoints that changed. It has a loop of its
// own, since each record is a commit by itself and many may change at once.
type recordSaver struct {
	*core
	endpoints *endpoints
	parking   *parking
}

const parallelRecords = 16 // commits of records under way

// run saves records batchDelay after the first of them changed, until ctx ends.
func (s *recordSaver) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.endpoints.changed:
		}
		pause(ctx, batchDelay) // most failures of a moment are over by then
		s.saveAll(ctx)
	}
}

func (s *recordSaver) saveAll(ctx context.Context) {
	var all sync.WaitGroup
	room := make(chan struct{}, parallelRecords)
	for e, record := range s.take() {
		room <- struct{}{}
		all.Go(func() {
			s.save(ctx, e, record)
			<-room
		})
	}
	all.Wait()
}

// take returns the records to be saved. What waits for an endpoint that still fails
// is parked.
func (s *recordSaver) take() map[*endpoint]channel.Endpoint {
	s.Lock()
	defer s.Unlock()
	records := make(map[*endpoint]channel.Endpoint)
	for e := range s.endpoints.unsaved {
		if !e.record.Healthy() {
			s.parking.parkQueue(e)
		}
		if e.record == e.saved && !e.unsure {
			s.endpoints.forget(e)
		} else if e.lostUntil.IsZero() || e.record.State != channel.EndpointActive {
			records[e], e.unsure = e.record, true
		}
	}
	clear(s.endpoints.unsaved)
	return records
}

func (s *recordSaver) save(ctx context.Context, e *endpoint, record channel.Endpoint) {
	err := s.store.SetEndpoint(ctx, record)
	s.Lock()
	defer s.Unlock()
	if err == nil {
		e.saved, e.unsure = record, false
		s.endpoints.forget(e)
		return
	}
	s.metrics.StoreFailed("endpoint")
	s.endpoints.unsaved[e] = struct{}{}
	s.later(time.Now().Add(retryStore), func() { signal(s.endpoints.changed) })
}
