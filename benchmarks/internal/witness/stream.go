package witness

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
)

// streamReader reads one event stream over any number of connections, each to a node
// by turns: it comes back with the ID of the last whole event.
type streamReader struct {
	recorder *Recorder
	origin   *Origin
	client   *Client
	filter   api.StreamFilter
	record   *StreamRecord // guarded by the recorder
	random   *rand.Rand
	last     string // event ID
}

// newStreamReader adds a stream to the history; the record's filter is set.
func newStreamReader(c *Client, o *Origin, record *StreamRecord, seed uint64) *streamReader {
	var filter api.StreamFilter
	switch record.Filter {
	case FilterChannel:
		c.recorder.With(func(h *History) { filter.Channels = []channel.ID{h.Channels[record.Channel].ID} })
	case FilterSubscription:
		filter.Subscriptions = []string{record.Subscribe.Acked().Subscription.ID}
	}
	c.recorder.With(func(h *History) { h.Streams = append(h.Streams, record) })
	return &streamReader{
		recorder: c.recorder,
		origin:   o,
		client:   c,
		filter:   filter,
		record:   record,
		random:   rand.New(rand.NewPCG(seed, 2<<32)),
	}
}

// connectionLife is the longest that a reader stays on one connection, so that
// it resumes at a living node, too.
const connectionLife = 20 * time.Second

// run reads until the context ends.
func (s *streamReader) run(ctx context.Context) {
	for ctx.Err() == nil {
		life, cancel := context.WithTimeout(ctx, UpTo(s.random, connectionLife))
		// A connection ends by a kill, by its time or by the node: the next one
		// shows whether anything was lost.
		_ = s.connect(life)
		cancel()
		Pause(ctx, RetryPause)
	}
}

// connect reads off one connection.
func (s *streamReader) connect(ctx context.Context) error {
	client, err := api.NewClient(s.client.next().URL, s.client.streaming)
	if err != nil {
		return err
	}
	stream, err := client.Stream(ctx, s.filter, s.last)
	if err != nil {
		return err
	}
	defer stream.Close()
	s.recorder.With(func(*History) {
		s.record.Connections++
		if s.last == "" { // without a cursor a stream begins at the present
			s.record.Established = s.recorder.Now()
		}
	})
	for {
		event, err := stream.Next()
		s.last = stream.Cursor() // which an ID without data moves, too
		if err != nil {
			return err
		}
		s.take(&event)
	}
}

func (s *streamReader) take(e *api.StreamEvent) {
	event := StreamEvent{At: s.recorder.Now(), Type: e.Type, ID: e.ID}
	if event.Type == api.StreamUpdate {
		update, err := s.recorder.update(e.Data)
		if err != nil {
			event.Type = "unreadable: " + err.Error()
		} else {
			event.Update = update
			s.origin.arrived(update)
		}
	}
	s.recorder.With(func(*History) { s.record.Events = append(s.record.Events, event) })
	s.recorder.happened(momentStreamed)
}

// RetryPause is how long clients wait before they try again.
const RetryPause = 50 * time.Millisecond

// Pause waits, or returns when the context ends.
func Pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// UpTo returns a random time below a limit.
func UpTo(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(limit)))
}
