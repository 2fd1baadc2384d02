package server

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// ServeHTTP answers one request. Every request passes here, and is counted here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.requests.Done()
	rec := &recorder{ResponseWriter: w}
	begun := time.Now()
	s.metrics.inFlight.Inc()
	defer func() {
		broken := s.recovered(rec, r, recover())
		s.metrics.inFlight.Dec()
		s.metrics.observe(r.Pattern, rec.status, time.Since(begun))
		if broken {
			panic(http.ErrAbortHandler)
		}
		if rec.status >= http.StatusBadRequest {
			s.linger(rec, r)
		}
	}()
	setHeaders(rec.Header())
	if err := errors.Join(checkFraming(rec, r), s.admit(r)); err != nil {
		s.fail(rec, r, err)
		return
	}
	s.dispatch(rec, r)
}

// dispatch leaves to the mux what it knows a pattern for, and answers the rest
// in our form of error. Without a needed token a client learns neither.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	refusal, pattern := s.mux.Handler(r)
	if !openRoutes[pattern] {
		if err := s.authorize(r); err != nil {
			r.Pattern = pattern // for what is counted
			s.fail(w, r, err)
			return
		}
	}
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	said := &headerOnly{header: http.Header{}}
	refusal.ServeHTTP(said, r)
	if said.status == http.StatusMethodNotAllowed {
		s.fail(w, r, methodNotAllowed(r, said.header.Get("Allow")))
		return
	}
	s.fail(w, r, api.NewProblem(http.StatusNotFound, "nothing is at "+clip(r.URL.Path)))
}

// recovered deals with what a handler panicked with and reports whether the
// answer is broken: then only a cut connection tells the client.
func (s *Server) recovered(rec *recorder, r *http.Request, cause any) (broken bool) {
	if cause == nil {
		return false
	}
	if cause != http.ErrAbortHandler {
		s.log.Error("request panicked", "route", r.Pattern, "cause", cause, "stack", string(debug.Stack()))
		s.metrics.panics.Inc()
		if !rec.wrote() {
			s.fail(rec, r, api.NewProblem(http.StatusInternalServerError, ""))
			return false
		}
	}
	return true
}

// setHeaders sets what every answer carries: nothing of ours is to be guessed
// at, framed, or read by another site.
func setHeaders(header http.Header) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int // 0 until the header is written
}

func (r *recorder) wrote() bool { return r.status != 0 }

func (r *recorder) WriteHeader(status int) {
	if !r.wrote() && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if !r.wrote() {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// headerOnly is a writer for handlers of which only status and header count.
type headerOnly struct {
	header http.Header
	status int
}

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) WriteHeader(status int)      { h.status = status }
func (h *headerOnly) Write(p []byte) (int, error) { return len(p), nil }

func methodNotAllowed(r *http.Request, allow string) error {
	return &refusal{
		problem: api.NewProblem(http.StatusMethodNotAllowed, r.Method+" is not for "+clip(r.URL.Path)+", which has "+allow),
		header:  http.Header{"Allow": {allow}},
	}
}

// clip shortens hostile text for a message, and keeps it valid UTF-8.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
