package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHealth(t *testing.T) {
	node := &fakeNode{}
	s, _ := newServer(t, node, server.Config{})
	for target, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if w := serve(s, request("GET", target, "")); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: status %d, %q", target, w.Code, w.Body)
		}
	}
	for _, err := range []error{errors.New("range 3 has no leader"), api.NewProblem(http.StatusServiceUnavailable, "range 3 has no leader")} {
		node.readyHook = func(context.Context) error { return err }
		wantProblem(t, serve(s, request("GET", "/readyz", "")), http.StatusServiceUnavailable, "", "range 3")
	}
	if w := serve(s, request("GET", "/healthz", "")); w.Code != http.StatusOK {
		t.Errorf("/healthz depends on readiness: status %d", w.Code)
	}
}

func TestStatus(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	w := serve(s, request("GET", "/v1/status", ""))
	for _, list := range []string{"nodes", "ranges", "replicas"} {
		if strings.Contains(w.Body.String(), `"`+list+`":null`) {
			t.Errorf("%s is null: %s", list, w.Body)
		}
	}
	if status := read[api.Status](t, w, http.StatusOK); status.Node != "fake" || len(status.Cluster.Ranges) != 1 {
		t.Errorf("%+v", status)
	}
}

func TestDebugAndMetrics(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for target, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if w := serve(s, request("GET", target, "")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, %.80q", target, w.Code, w.Body)
		}
	}
	serve(s, request("GET", "/v1/channels/"+strings.Repeat("0", 40), ""))
	w := serve(s, request("GET", "/metrics", ""))
	for _, want := range []string{
		`corona_http_requests_total{code="404",route="GET /v1/channels/{id}"} 1`,
		`corona_http_request_seconds_count{route="GET /v1/channels/{id}"} 1`,
		`corona_http_requests_in_flight 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// A handler that panics is one failed request.
func TestPanic(t *testing.T) {
	node := &fakeNode{subscribeHook: func(context.Context, []api.SubscribeRequest) []api.SubscribeOutcome { return nil }}
	s, registry := newServer(t, node, server.Config{})
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions", sseBody)), http.StatusInternalServerError, "", "")
	if got := counted(t, registry, "corona_http_panics_total"); got != 1 {
		t.Errorf("%v panics counted", got)
	}
	if got := counted(t, registry, "corona_http_requests_total", "500", "POST /v1/subscriptions"); got != 1 {
		t.Errorf("%v requests counted", got)
	}
}

// Stopping lets requests finish that are under way, and says so to those who
// ask whether to send more.
func TestStopFinishesRequests(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
		close(entered)
		<-release
		return echo(ctx, requests)
	}}
	s, _ := newServer(t, node, server.Config{})
	listener := listen(t)
	server := run(t, s, listener)
	target := "http://" + listener.Addr().String()
	status := make(chan int)
	go func() {
		response, err := http.Post(target+"/v1/subscriptions", "application/json", strings.NewReader(sseBody))
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		drain(response.Body)
		status <- response.StatusCode
	}()
	<-entered
	stopped := make(chan error)
	go func() { stopped <- server.stop() }()
	for { // until the stop has begun
		if conn, err := net.Dial("tcp", listener.Addr().String()); err != nil {
			break
		} else {
			conn.Close()
		}
	}
	wantProblem(t, serve(s, request("GET", "/readyz", "")), http.StatusServiceUnavailable, "", "stopping")
	close(release)
	if got := <-status; got != http.StatusCreated {
		t.Errorf("status %d of a request that was under way", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A request that does not end holds the stop up for StopTimeout and no longer.
func TestStopAbandonsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{testHook: func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s, _ := newServer(t, node, server.Config{})
		listener := newPipeListener()
		server := run(t, s, listener)
		conn, err := listener.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "POST /v1/subscriptions/x:test HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		begun := time.Now()
		if err := server.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("stopping took %s", took)
		}
	})
}

func TestRunFailsWithListener(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	listener := listen(t)
	listener.Close()
	if err := s.Run(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
}

// ask sends a request on a connection and returns the header of its answer.
func ask(conn net.Conn, target string) (*http.Response, error) {
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), nil)
}

// One connection more than may be open ends the oldest without a request under
// way; where all have one, it is closed itself.
func TestTooManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, registry := newServer(t, &fakeNode{}, server.Config{MaxConns: 2})
		listener := newPipeListener()
		run(t, s, listener)
		dial := func() net.Conn {
			conn, err := listener.dial()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return conn
		}
		answered := func(conn net.Conn, target string) {
			response, err := ask(conn, target)
			if err != nil {
				t.Fatal(err)
			}
			if target == "/healthz" {
				drain(response.Body)
			} else {
				go drain(response.Body) // who does not read makes room too
			}
			synctest.Wait() // until the server has seen that it is answered
		}
		idle := dial()
		answered(dial(), "/v1/updates")
		answered(idle, "/healthz")
		answered(dial(), "/v1/updates")
		if _, err := io.Copy(io.Discard, idle); err != nil {
			t.Errorf("the idle connection ended with %v", err)
		}
		if _, err := ask(dial(), "/healthz"); err == nil {
			t.Error("a connection too many was answered")
		}
		for name, want := range map[string]float64{"_evicted_total": 1, "_refused_total": 1, "": 2} {
			if got := counted(t, registry, "corona_http_connections"+name); got != want {
				t.Errorf("connections%s: %v, want %v", name, got, want)
			}
		}
	})
}

// "OPTIONS *" gets no answer that others do not get.
func TestOptionsOfServer(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	listener := listen(t)
	run(t, s, listener)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("%+v, %v", response, err)
	}
}

func TestConfigValidate(t *testing.T) {
	for name, cfg := range map[string]server.Config{
		"call": {CallTimeout: -1}, "heartbeat": {Heartbeat: -1}, "streams": {MaxStreams: -1},
	} {
		if _, err := server.New(cfg, &fakeNode{}, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
