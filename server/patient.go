package server

import (
	"context"
	"io"
	"net/http"
	"time"
)

// hurryTime is what a client has for the last write of a stream or batch once
// the server stops.
const hurryTime = time.Second

// patientReader gives a body time as long as something comes.
type patientReader struct {
	ctx     context.Context
	body    io.Reader
	control *http.ResponseController
	timeout time.Duration
}

func (p *patientReader) Read(buf []byte) (int, error) {
	_ = p.control.SetReadDeadline(after(p.timeout))
	// Only now: an interrupt from here on comes after the deadline and stands.
	if err := p.ctx.Err(); err != nil {
		p.interrupt() // one that came before has just been undone, and the server reads on when the handler ends
		return 0, err
	}
	return p.body.Read(buf)
}

// interrupt ends a Read that waits, and each that follows, once the context has
// ended.
func (p *patientReader) interrupt() { _ = p.control.SetReadDeadline(time.Unix(1, 0)) }

// patientWriter writes a long-lived answer. Every write has its own deadline, so a
// client that does not read is cut off, with nothing of its answer in
// memory but what the connection's buffers hold.
type patientWriter struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration
	stopping context.Context
}

func (s *Server) patientWriter(w http.ResponseWriter) *patientWriter {
	return &patientWriter{w, http.NewResponseController(w), s.cfg.WriteTimeout, s.stopping}
}

// writeError is the failure of a write to a client.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write to client: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// send writes content and sends it on its way. Its error is a *writeError.
func (p *patientWriter) send(content []byte) error {
	_ = p.control.SetWriteDeadline(after(p.timeout))
	// Only now: a stop from here on comes after the deadline and stands.
	if p.stopping.Err() != nil {
		p.hurry()
	}
	_, err := p.w.Write(content)
	if err == nil {
		err = p.control.Flush()
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// Write is send.
func (p *patientWriter) Write(content []byte) (int, error) {
	if err := p.send(content); err != nil {
		return 0, err
	}
	return len(content), nil
}

// hurry ends a write that waits soon.
func (p *patientWriter) hurry() { _ = p.control.SetWriteDeadline(after(hurryTime)) }
