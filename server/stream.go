package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// stream answers GET /v1/updates: events until the client leaves, the node ends
// the stream, or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	filter, cursor, err := streamQuery(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		setStreamHeaders(w.Header())
		return nil
	}
	leave, ok := s.streams.take(r)
	if !ok {
		return api.NewProblem(http.StatusServiceUnavailable, "too many streams are open")
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	events, err := s.openStream(ctx, filter, cursor)
	if err != nil {
		return err
	}
	defer events.Close()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	err = s.pump(ctx, s.patientWriter(w), events)
	cause := s.endOf(r, err)
	s.metrics.streamEnds.WithLabelValues(cause).Inc()
	if cause == endSlow || cause == endNode {
		s.log.Info("stream ended", "cause", cause, "error", err)
	}
	return nil
}

// openStream bounds the opening, but not the stream, by the time of a call.
func (s *Server) openStream(ctx context.Context, filter api.StreamFilter, cursor string) (api.EventStream, error) {
	opening, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.cfg.CallTimeout, func() { cancel(context.DeadlineExceeded) })
	events, err := s.node.Stream(opening, filter, cursor)
	if !timer.Stop() && err == nil {
		events.Close()
		return nil, context.DeadlineExceeded
	}
	return events, err
}

// streamQuery reads what a stream is to carry and from where. A browser that
// connects again sends the header, with a newer cursor than its URL has.
func streamQuery(r *http.Request) (filter api.StreamFilter, cursor string, err error) {
	q := parseQuery(r, []string{"last_event_id"}, []string{"channel", "subscription"})
	filter.Channels = q.channels("channel")
	filter.Subscriptions = q.subscriptions("subscription")
	if len(filter.Channels)+len(filter.Subscriptions) > maxFilters {
		q.fail("channel", "more than %d channels and subscriptions: leave them out and choose from the stream of everything", maxFilters)
	}
	cursor = q.text("last_event_id", maxPlace)
	if header := r.Header.Get("Last-Event-ID"); header != "" {
		cursor = header
	}
	if len(cursor) > maxPlace {
		q.fail("Last-Event-ID", "longer than %d bytes", maxPlace)
	}
	return filter, cursor, q.err
}

// pump writes events as they come, and heartbeats between them. It returns why
// it ended, never nil.
func (s *Server) pump(ctx context.Context, out *patientWriter, events api.EventStream) error {
	defer context.AfterFunc(s.stopping, out.hurry)()
	setStreamHeaders(out.w.Header())
	if err := out.send(comment("corona")); err != nil {
		return err
	}
	source := startSource(ctx, events)
	defer source.stop()
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	for {
		var err error
		select {
		case event, ok := <-source.events:
			if !ok {
				return source.err
			}
			s.metrics.streamEvents.Inc()
			err = out.send(frame(event))
		case <-heartbeat.C:
			err = out.send(comment("heartbeat"))
		}
		if err != nil {
			return err
		}
	}
}

// source is the goroutine that waits for the next event, so that its reader can
// wait for a heartbeat too. It holds one event.
type source struct {
	events chan api.StreamEvent // closed at the end
	err    error                // why; set before events is closed
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startSource(ctx context.Context, events api.EventStream) *source {
	ctx, cancel := context.WithCancel(ctx)
	s := &source{events: make(chan api.StreamEvent), cancel: cancel}
	s.done.Go(func() {
		defer close(s.events)
		for s.err == nil {
			s.err = s.forward(ctx, events)
		}
	})
	return s
}

func (s *source) forward(ctx context.Context, events api.EventStream) error {
	event, err := events.Next(ctx)
	if err != nil {
		return err
	}
	select {
	case s.events <- event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *source) stop() {
	s.cancel()
	s.done.Wait()
}

// The causes of a stream's end.
const (
	endClient = "client" // left, or its connection broke
	endSlow   = "slow"   // did not read for WriteTimeout
	endNode   = "node"   // the node had no more, or failed
	endStop   = "stop"   // the server stops
)

func (s *Server) endOf(r *http.Request, err error) string {
	unwritten := errors.As(err, new(*writeError))
	switch {
	case unwritten && errors.Is(err, os.ErrDeadlineExceeded):
		return endSlow
	case s.stopping.Err() != nil:
		return endStop
	case unwritten || r.Context().Err() != nil:
		return endClient
	default:
		return endNode
	}
}

// setStreamHeaders sets what a stream begins with.
func setStreamHeaders(header http.Header) {
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back
}
