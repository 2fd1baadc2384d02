package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// recordSaver commits the records of endpoints that changed, of the ranges that this
// node serves. It has a loop of its own, since each record is a commit by itself and
// many may change at once. A range that does not answer holds up its own records only.
type recordSaver struct {
	*core
	endpoints *endpoints
	parking   *parking
	saves     sync.WaitGroup
}

const parallelRecords = 16 // commits of records of one range under way

// run saves records batchDelay after the first of them changed, until ctx ends, and
// returns when no save is under way.
func (s *recordSaver) run(ctx context.Context) {
	defer s.saves.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.endpoints.changed:
		}
		pause(ctx, batchDelay) // most failures of a moment are over by then
		s.begin(ctx)
	}
}

// last saves what is left, when nothing is under way any longer.
func (s *recordSaver) last(ctx context.Context) {
	s.begin(ctx)
	s.saves.Wait()
}

// begin saves the records that changed, those of each range beside the others.
func (s *recordSaver) begin(ctx context.Context) {
	for t, records := range s.take() {
		s.saves.Go(func() {
			s.saveAll(ctx, t, records)
			s.end(t)
		})
	}
}

// end lets the next records of a range be saved.
func (s *recordSaver) end(t *tenure) {
	s.Lock()
	defer s.Unlock()
	t.noting = false
	if len(s.endpoints.unsaved) > 0 {
		signal(s.endpoints.changed)
	}
}

type endpointRecords map[*endpoint]channel.Endpoint

// take returns the records to be saved, by the range that keeps them: those of ranges
// of which none is under way. What waits for an endpoint that still fails is parked.
func (s *recordSaver) take() map[*tenure]endpointRecords {
	s.Lock()
	defer s.Unlock()
	taken := make(map[*tenure]endpointRecords)
	for e := range s.endpoints.unsaved {
		if !e.record.Works() {
			s.parking.parkQueue(e)
		}
		t := s.led.At(e.bucket)
		if t != nil && (!t.serving || t.noting) {
			continue // its turn comes
		}
		delete(s.endpoints.unsaved, e)
		switch {
		case t == nil || e.record == e.kept.saved && !e.kept.unsure:
			s.endpoints.forget(e)
		default:
			if taken[t] == nil {
				taken[t] = make(endpointRecords)
			}
			e.kept.turning = !e.kept.settled()
			taken[t][e], e.kept.unsure = e.record, true
		}
	}
	for t := range taken {
		t.noting = true
	}
	return taken
}

func (s *recordSaver) saveAll(ctx context.Context, t *tenure, records endpointRecords) {
	var all sync.WaitGroup
	room := make(chan struct{}, parallelRecords)
	for e, record := range records {
		room <- struct{}{}
		all.Go(func() {
			s.save(ctx, t, e, record)
			<-room
		})
	}
	all.Wait()
}

func (s *recordSaver) save(ctx context.Context, t *tenure, e *endpoint, record channel.Endpoint) {
	was, err := s.standing(t, e)
	if err == nil {
		err = s.store.SetEndpoint(ctx, record, was)
	}
	s.Lock()
	defer s.Unlock()
	if t.over {
		return // another node may have written since
	}
	if err == nil {
		turned := e.kept.turning
		e.kept.saved, e.kept.unsure, e.kept.turning = record, false, false
		s.settle(e, turned)
		return
	}
	s.metrics.StoreFailed("endpoint")
	e.kept.unread = true
	s.endpoints.unsaved[e] = struct{}{}
	s.later(time.Now().Add(retryStore), func() { signal(s.endpoints.changed) })
}

// settle goes on with what has waited for a record. Locked.
func (s *recordSaver) settle(e *endpoint, turned bool) {
	if turned && e.kept.settled() {
		e.kept.wake()
		s.parking.reopen(e)
	}
	s.endpoints.forget(e)
}

// standing returns the record that the store has of an endpoint.
func (s *recordSaver) standing(t *tenure, e *endpoint) (channel.Endpoint, error) {
	s.Lock()
	saved, unread := e.kept.saved, e.kept.unread
	s.Unlock()
	if !unread {
		return saved, nil
	}
	stands, err := s.store.Endpoint(e.url)
	if err != nil {
		return channel.Endpoint{}, err
	}
	s.Lock()
	defer s.Unlock()
	if !t.over {
		e.kept.saved, e.kept.unread = stands, false
	}
	return stands, nil
}
