package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// streamSilence is how long a stream may say nothing before it counts as
// broken: three of the heartbeats that a node sends every 15 s.
const streamSilence = 45 * time.Second

// errSilent is the cause of a stream's end by silence.
var errSilent = fmt.Errorf("nothing came for %v, not even a heartbeat", streamSilence)

// StreamFilter chooses what a stream brings: the updates of these channels, and
// those that these subscriptions get. The zero filter is everything.
type StreamFilter struct {
	Channels      []channel.ID
	Subscriptions []string
}

func (f StreamFilter) query() string {
	query := url.Values{}
	for _, id := range f.Channels {
		query.Add("channel", id.String())
	}
	for _, id := range f.Subscriptions {
		query.Add("subscription", id)
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// Update returns the data of an event of type [StreamUpdate].
func (e StreamEvent) Update() (Update, error) { return eventData[Update](e) }

// Gap returns the data of an event of type [StreamGap].
func (e StreamEvent) Gap() (ChannelGap, error) { return eventData[ChannelGap](e) }

// Gone returns the data of an event of type [StreamGone].
func (e StreamEvent) Gone() (ChannelGone, error) { return eventData[ChannelGone](e) }

func eventData[T any](event StreamEvent) (T, error) {
	var data T
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return data, fmt.Errorf("read event %q: %w", event.Type, err)
	}
	return data, nil
}

// Stream is one connection to GET /v1/updates. It is used by one goroutine.
type Stream struct {
	server  string
	body    io.ReadCloser
	events  *eventReader
	cancel  context.CancelCauseFunc
	ctx     context.Context
	silence *time.Timer
}

// Stream opens a stream from a cursor; an empty cursor means from now, or with
// a filter of subscriptions from each one's first version. It lasts until the
// context is done, [Stream.Close], or the connection breaks.
func (c *Client) Stream(ctx context.Context, filter StreamFilter, cursor string) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	header := http.Header{
		"Accept":          {"text/event-stream"},
		"Accept-Encoding": {"identity"}, // a compressor would hold events back
	}
	if cursor != "" {
		header.Set("Last-Event-ID", cursor)
	}
	response, err := c.send(ctx, http.MethodGet, "/v1/updates"+filter.query(), header, nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if mediaType != "text/event-stream" {
		response.Body.Close()
		cancel(nil)
		return nil, &CallError{c.base, fmt.Errorf("GET /v1/updates: answer of type %q instead of a stream", mediaType)}
	}
	stream := &Stream{server: c.base, body: response.Body, ctx: ctx, cancel: cancel}
	stream.silence = time.AfterFunc(streamSilence, func() { cancel(errSilent) })
	stream.events = newEventReader(heard{response.Body, stream.silence}, cursor)
	return stream, nil
}

// heard puts off the end by silence whenever something arrives.
type heard struct {
	body    io.Reader
	silence *time.Timer
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.body.Read(p)
	if n > 0 {
		h.silence.Reset(streamSilence)
	}
	return n, err
}

// Next waits for the next event. Its error is a [*CallError], which is
// io.EOF when the node ended the stream, or the context's error.
func (s *Stream) Next() (StreamEvent, error) {
	event, err := s.events.next()
	if err == nil {
		return event, nil
	}
	if cause := context.Cause(s.ctx); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return StreamEvent{}, cause
	}
	return StreamEvent{}, &CallError{s.server, fmt.Errorf("read updates: %w", err)}
}

// Cursor is where the stream stands: behind the last event, or where the node
// said that it begins.
func (s *Stream) Cursor() string { return s.events.cursor }

// Close ends the stream.
func (s *Stream) Close() {
	s.silence.Stop()
	s.cancel(context.Canceled)
	s.body.Close()
}
