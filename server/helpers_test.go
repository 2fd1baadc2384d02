package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

// newServer returns a server of a node and what it counts.
func newServer(t testing.TB, node server.Node, cfg server.Config) (*server.Server, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	s, err := server.New(cfg, node, registry)
	if err != nil {
		t.Fatal(err)
	}
	return s, registry
}

// request is made as a program on the same machine would make it.
func request(method, target, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8410"+target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func serve(s http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// read decodes a JSON answer of a status.
func read[T any](t *testing.T, w *httptest.ResponseRecorder, status int) T {
	t.Helper()
	var answer T
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return answer
}

// wantProblem checks that an answer is a problem document of a status, about a
// field, whose detail contains a text.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, field, text string) {
	t.Helper()
	var problem api.Problem
	decoder := json.NewDecoder(w.Body)
	if err := decoder.Decode(&problem); err != nil {
		t.Fatalf("status %d, no problem document: %v", w.Code, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	if w.Code != status || problem.Status != status {
		t.Errorf("status %d, problem %+v, want status %d", w.Code, problem, status)
	}
	if problem.Type != api.ProblemType || problem.Title != http.StatusText(status) {
		t.Errorf("type %q, title %q", problem.Type, problem.Title)
	}
	if problem.Field != field || !strings.Contains(problem.Detail, text) {
		t.Errorf("field %q, detail %q; want %q, %q", problem.Field, problem.Detail, field, text)
	}
}

// wantNotNow checks that an answer is a 503 that clients know to repeat.
func wantNotNow(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"retryable":true`) {
		t.Errorf("not marked as retryable: %v %s", w.Header(), w.Body)
	}
	wantProblem(t, w, http.StatusServiceUnavailable, "", "")
}

// counted returns the value of a counter or gauge, or the count of a histogram,
// summed over the label sets that contain the given label values.
func counted(t *testing.T, registry *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			has := make(map[string]bool)
			for _, label := range metric.GetLabel() {
				has[label.GetValue()] = true
			}
			all := true
			for _, label := range labels {
				all = all && has[label]
			}
			if all {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// pipeListener is a network in memory, so that a test's time can be virtual.
// Nothing is buffered: a write waits for its reader.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (l *pipeListener) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	}
}

// client returns a client whose connections end with the test.
func (l *pipeListener) client(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial() }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// running is a server that runs.
type running struct {
	stop func() error // stops it and returns what Run returned
}

// run runs a server until the test ends or it is stopped.
func run(t testing.TB, s *server.Server, listener net.Listener) *running {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, listener) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { stop() })
	return &running{stop: stop}
}

// listen listens on a loopback address.
func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func jsonText(v any) string {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(content)
}

func drain(r io.ReadCloser) string {
	defer r.Close()
	content, _ := io.ReadAll(r)
	return string(content)
}
