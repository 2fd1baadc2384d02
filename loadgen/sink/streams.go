package sink

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// MostFilters is how many subscriptions a stream may name.
const MostFilters = 500

// Stream reads the updates of some subscriptions over one connection at a time.
type Stream struct {
	clients []*api.Client // a stream whose connection breaks connects to the next one
	filter  api.StreamFilter
	members map[string][]Member // by channel
	arrive  func(number int, a Arrival)
	counts  *StreamCounts
	turn    int
	cursor  string
}

// Member is a subscription that a stream reads.
type Member struct {
	Number int    // the tracker's
	ID     string // the node's
	From   uint64 // its first version
}

// StreamCounts are of all streams together.
type StreamCounts struct {
	Open                     atomic.Int64 // now
	Connects                 atomic.Int64 // ever
	Gaps, Resets, Unreadable atomic.Int64
}

// NewStream returns a stream that does not read yet. More members than [MostFilters] are
// chosen from the stream of everything. members are by channel ID.
func NewStream(clients []*api.Client, turn int, members map[string][]Member, counts *StreamCounts, arrive func(number int, a Arrival)) *Stream {
	s := &Stream{clients: clients, members: members, arrive: arrive, counts: counts, turn: turn}
	for _, of := range members {
		for _, m := range of {
			s.filter.Subscriptions = append(s.filter.Subscriptions, m.ID)
		}
	}
	if len(s.filter.Subscriptions) > MostFilters {
		s.filter.Subscriptions = nil
	}
	return s
}

// retryPause is how long a stream waits before it connects again.
const retryPause = 100 * time.Millisecond

// Run reads until the context ends.
func (s *Stream) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.connect(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// connect reads one connection until it breaks: the next one shows whether anything was
// lost.
func (s *Stream) connect(ctx context.Context) {
	client := s.clients[s.turn%len(s.clients)]
	s.turn++
	stream, err := client.Stream(ctx, s.filter, s.cursor)
	if err != nil {
		return
	}
	defer stream.Close()
	s.counts.Connects.Add(1)
	s.counts.Open.Add(1)
	defer s.counts.Open.Add(-1)
	for {
		event, err := stream.Next()
		if err != nil {
			return
		}
		if event.ID != "" {
			s.cursor = event.ID
		}
		s.take(&event, time.Now())
	}
}

func (s *Stream) take(event *api.StreamEvent, at time.Time) {
	switch event.Type {
	case api.StreamGap:
		s.counts.Gaps.Add(1)
		return
	case api.StreamReset:
		s.counts.Resets.Add(1)
		return
	case api.StreamUpdate:
	default:
		return
	}
	var u update
	if json.Unmarshal(event.Data, &u) != nil {
		s.counts.Unreadable.Add(1)
		return
	}
	for _, m := range s.members[u.Channel] {
		if u.Version >= m.From {
			s.arrive(m.Number, u.arrival(at))
		}
	}
}
