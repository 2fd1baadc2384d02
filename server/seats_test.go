package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/server"
)

// Row 37: connections whose clients are slow to send a body, or to read an answer,
// make room for others like those that are slow to ask.
func TestRow37SlowClientsMakeRoom(t *testing.T) {
	slow := map[string]string{
		"header":              "GET /v1/status HTTP/1.1\r\nHost: loc",
		"body":                "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"body after continue": "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
		"answer":              "GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"stream":              "GET /v1/updates HTTP/1.1\r\nHost: localhost\r\n\r\n",
	}
	for name, begin := range slow {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, registry := newServer(t, &fakeNode{}, server.Config{MaxConns: 3})
				listener := newPipeListener()
				run(t, s, listener)
				for range 10 {
					conn, err := listener.dial()
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					if _, err := io.WriteString(conn, begin); err != nil {
						t.Fatal(err)
					}
					if strings.Contains(name, "continue") {
						if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
							t.Fatal(err)
						}
					}
					synctest.Wait()
				}
				begun := time.Now()
				response, err := listener.client(t).Get("http://localhost/v1/status")
				if err != nil {
					t.Fatal(err)
				}
				if drain(response.Body); response.StatusCode != http.StatusOK || time.Since(begun) > 0 {
					t.Errorf("status %d after %s", response.StatusCode, time.Since(begun))
				}
				if got := counted(t, registry, "corona_http_connections_evicted_total"); got != 8 {
					t.Errorf("%v connections made room, want 8", got)
				}
			})
		})
	}
}

// Row 37: batches and streams whose clients are slow do not keep others from
// theirs; those whose clients are not are never cut for another.
func TestRow37SlowClientsGiveUpTheirSeats(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
	tests := map[string]struct {
		begin string
		reads bool // the slow client reads what comes
		room  bool // it makes room
	}{
		"batch without a line":           {"POST /v1/subscriptions:batch" + head, true, true},
		"batch in the middle of a line":  {"POST /v1/subscriptions:batch" + head + "1\r\n{\r\n", true, true},
		"stream that is not read":        {"GET /v1/updates HTTP/1.1\r\nHost: localhost\r\n\r\n", false, true},
		"stream that waits for an event": {"GET /v1/updates HTTP/1.1\r\nHost: localhost\r\n\r\n", true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newServer(t, &fakeNode{}, server.Config{MaxBatches: 1, MaxStreams: 1})
				listener := newPipeListener()
				run(t, s, listener)
				conn, err := listener.dial()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if test.reads {
					go io.Copy(io.Discard, conn)
				}
				if _, err := io.WriteString(conn, test.begin); err != nil {
					t.Fatal(err)
				}
				other := func() int {
					r, err := http.NewRequest("POST", "http://localhost/v1/subscriptions:batch", strings.NewReader(sseBody))
					if strings.HasPrefix(test.begin, "GET") {
						r, err = http.NewRequest("GET", "http://localhost/v1/updates", nil)
					}
					if err != nil {
						t.Fatal(err)
					}
					response, err := listener.client(t).Do(r)
					if err != nil {
						t.Fatal(err)
					}
					defer response.Body.Close()
					return response.StatusCode
				}
				time.Sleep(4 * time.Second)
				if status := other(); status != http.StatusServiceUnavailable {
					t.Errorf("after 4 s another is answered %d", status)
				}
				time.Sleep(2 * time.Second)
				if status := other(); (status == http.StatusOK) != test.room {
					t.Errorf("after 6 s another is answered %d", status)
				}
			})
		})
	}
}
