package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines is a connection that remembers its last read deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.read = at; return nil }

// noBody fails a test that reads it.
type noBody struct{ t *testing.T }

func (b noBody) Read([]byte) (int, error) { b.t.Error("read after the end"); return 0, io.EOF }

// A read that begins when its request is over leaves the connection's deadline
// in the past: the server reads on when the handler ends, and would wait for a
// client that sends nothing.
func TestPatientReaderAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	reader := &patientReader{ctx, noBody{t}, http.NewResponseController(conn), time.Minute}
	reader.interrupt()
	if _, err := reader.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if !conn.read.Before(time.Now()) {
		t.Errorf("deadline %s", conn.read)
	}
}
