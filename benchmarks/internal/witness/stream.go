package witness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// streamReader reads one event stream over any number of connections, each to a node
// by turns: it comes back with the ID of the last whole event.
type streamReader struct {
	recorder *Recorder
	origin   *Origin
	client   *Client
	path     string
	record   *StreamRecord // guarded by the recorder
	random   *rand.Rand
	last     string // event ID
}

// newStreamReader adds a stream to the history; the record's filter is set.
func newStreamReader(c *Client, o *Origin, record *StreamRecord, seed uint64) *streamReader {
	query := make(url.Values)
	switch record.Filter {
	case FilterChannel:
		c.recorder.With(func(h *History) { query.Set("channel", h.Channels[record.Channel].ID.String()) })
	case FilterSubscription:
		query.Set("subscription", record.Subscribe.Acked().Subscription.ID)
	}
	c.recorder.With(func(h *History) { h.Streams = append(h.Streams, record) })
	return &streamReader{
		recorder: c.recorder,
		origin:   o,
		client:   c,
		path:     "/v1/updates?" + query.Encode(),
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

func (s *streamReader) connect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.client.next().URL+s.path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	if s.last != "" {
		request.Header.Set("Last-Event-ID", s.last)
	}
	response, err := s.client.streaming.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("stream: %s", response.Status)
	}
	s.recorder.With(func(*History) {
		s.record.Connections++
		if s.last == "" { // without a cursor a stream begins at the present
			s.record.Established = s.recorder.Now()
		}
	})
	return s.read(bufio.NewScanner(response.Body))
}

// read takes events off a connection. An event counts once the empty line behind
// it is there; an ID without data is a cursor all the same.
func (s *streamReader) read(lines *bufio.Scanner) error {
	lines.Buffer(nil, maxBody)
	var event StreamEvent
	var data []string
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if event.ID != "" {
				s.last = event.ID
			}
			if data != nil {
				s.take(event, strings.Join(data, "\n"))
			}
			event, data = StreamEvent{}, nil
		case name == "event":
			event.Type = value
		case name == "id":
			event.ID = value
		case name == "data":
			data = append(data, value)
		}
	}
	return errors.Join(lines.Err(), errors.New("the stream ended"))
}

func (s *streamReader) take(event StreamEvent, data string) {
	event.At = s.recorder.Now()
	if event.Type == api.StreamUpdate {
		update, err := s.recorder.update([]byte(data))
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
