package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// memory is a listener whose connections are pipes, so that a client and a
// server live together in a bubble of virtual time.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { close(m.closed); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newMemoryClient returns a client of a server in the same bubble. stop ends
// both; it is called inside the bubble.
func newMemoryClient(t *testing.T, handler http.HandlerFunc) (client *Client, stop func()) {
	t.Helper()
	listener := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() { server.Serve(listener); close(served) }()
	client, err := NewClient("http://node", &http.Client{Transport: &http.Transport{DialContext: listener.dial}})
	if err != nil {
		t.Fatal(err)
	}
	return client, func() {
		client.Close()
		server.Close()
		<-served
	}
}

// stream writes a text/event-stream and flushes it.
func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

func event(id int, kind string) string {
	return fmt.Sprintf("event: %s\nid: %d\ndata: {\"version\":%d}\n\n", kind, id, id)
}

func TestStreamAsks(t *testing.T) {
	_, id, err := channel.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI + " " + r.Header.Get("Last-Event-ID")
		stream(w, event(8, StreamUpdate))
	})
	opened, err := client.Stream(t.Context(), StreamFilter{Channels: []channel.ID{id}, Subscriptions: []string{"a", "b"}}, "7")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if want := "/v1/updates?channel=" + id.String() + "&subscription=a&subscription=b 7"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if opened.Cursor() != "7" {
		t.Errorf("cursor %q before the first event, want 7", opened.Cursor())
	}
	first, err := opened.Next()
	if err != nil {
		t.Fatal(err)
	}
	if update, err := first.Update(); err != nil || update.Version != 8 || first.ID != "8" || opened.Cursor() != "8" {
		t.Errorf("event %+v, update %+v, %v", first, update, err)
	}
	var callErr *CallError
	if _, err := opened.Next(); !errors.Is(err, io.EOF) || !errors.As(err, &callErr) {
		t.Errorf("end: %v, want io.EOF in a CallError", err)
	}
}

func TestStreamRefusesOtherAnswers(t *testing.T) {
	client := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") })
	if _, err := client.Stream(t.Context(), StreamFilter{}, ""); err == nil || !strings.Contains(err.Error(), "instead of a stream") {
		t.Errorf("error %v", err)
	}
}

func TestEventData(t *testing.T) {
	if _, err := (StreamEvent{Type: StreamGap, Data: []byte("{")}).Gap(); err == nil {
		t.Error("a broken gap was read")
	}
	gone, err := (StreamEvent{Type: StreamGone, Data: []byte(`{"url":"http://a/"}`)}).Gone()
	if err != nil || gone.URL != "http://a/" {
		t.Errorf("Gone = %+v, %v", gone, err)
	}
}

// TestStreamSilence: heartbeats keep a stream open, silence ends it.
func TestStreamSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stop := newMemoryClient(t, func(w http.ResponseWriter, r *http.Request) {
			for range 20 {
				stream(w, ":\n\n")
				time.Sleep(15 * time.Second)
			}
			stream(w, event(1, StreamUpdate))
			<-r.Context().Done()
		})
		defer stop()
		opened, err := client.Stream(t.Context(), StreamFilter{}, "")
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		began := time.Now()
		if _, err := opened.Next(); err != nil || time.Since(began) != 5*time.Minute {
			t.Fatalf("first event after %v, %v; want it after 5m", time.Since(began), err)
		}
		_, err = opened.Next()
		if !errors.Is(err, errSilent) || time.Since(began) != 5*time.Minute+streamSilence {
			t.Errorf("ended after %v with %v, want silence of %v", time.Since(began), err, streamSilence)
		}
	})
}

// TestFollowResumes breaks the stream at every place where it can break: what
// arrives is every event, once, in order.
func TestFollowResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		scripts := []string{
			"id: 0\n\n", // says where the stream begins, then ends
			event(1, "update") + event(2, "update") + "event: update\nid: 3\ndata: {}\n", // cut inside an event
			"",                 // 503
			"id: 3\ndata: {\"", // cut inside a line
			event(3, "update") + ": heartbeat\n\n",
			event(4, "reset") + event(5, "update"),
		}
		client, stop := newMemoryClient(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get("Last-Event-ID"))
			script := scripts[min(len(asked), len(scripts))-1]
			if script == "" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			stream(w, script)
		})
		defer stop()
		var got []string
		for event, err := range client.Follow(t.Context(), StreamFilter{}, "", nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, event.Type+event.ID)
			if event.ID == "5" {
				break
			}
		}
		if want := []string{"update1", "update2", "update3", "reset4", "update5"}; !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		if want := []string{"", "0", "2", "2", "2", "3"}; !slices.Equal(asked, want) {
			t.Errorf("cursors asked for %q, want %q", asked, want)
		}
	})
}

func TestFollowBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		client, stop := newMemoryClient(t, func(w http.ResponseWriter, _ *http.Request) {
			if connections++; connections == 1 {
				stream(w, event(1, "update"))
				return
			}
			w.WriteHeader(http.StatusBadGateway)
		})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waits []time.Duration
		lost := func(err error, wait time.Duration) {
			if waits = append(waits, wait); len(waits) == 12 {
				cancel()
			}
		}
		for _, err := range client.Follow(ctx, StreamFilter{}, "", lost) {
			if err != nil {
				t.Fatal(err)
			}
		}
		want := firstWait
		for i, wait := range waits {
			if wait > want || wait < want/2 {
				t.Errorf("wait %d is %v, want %v to %v", i, wait, want/2, want)
			}
			want = min(2*want, lastWait)
		}
	})
}

func TestFollowGivesUp(t *testing.T) {
	late := func(then http.HandlerFunc) http.HandlerFunc {
		connected := false
		return func(w http.ResponseWriter, r *http.Request) {
			if connected {
				then(w, r)
				return
			}
			connected = true
			stream(w, event(1, "update"))
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		events  int
		want    string
	}{
		{"first connection fails", status(503), 0, "Service Unavailable"},
		{"refused for good", late(status(404)), 1, "Not Found"},
		{"too long an event", late(func(w http.ResponseWriter, _ *http.Request) {
			stream(w, "data: "+strings.Repeat("x", maxEvent)+"\n\n")
		}), 1, "longer than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, stop := newMemoryClient(t, test.handler)
				defer stop()
				events, last := 0, error(nil)
				for _, err := range client.Follow(t.Context(), StreamFilter{}, "", nil) {
					if last = err; err == nil {
						events++
					}
				}
				if events != test.events || last == nil || !strings.Contains(last.Error(), test.want) {
					t.Errorf("%d events, then %v; want %d, then %q", events, last, test.events, test.want)
				}
			})
		})
	}
}

func TestEventReader(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "event: update\nid: 1\ndata: x\n\n", "update 1 x|1"},
		{"CRLF, no space, unknown fields", "event:update\r\nid:1\r\ndata:x\r\nretry: 5\r\nfoo\r\n\r\n", "update 1 x|1"},
		{"only one space is taken", "data:  x \n\n", "message   x |"},
		{"lines join", "data: a\ndata:\ndata: b\n\n", "message  a\n\nb|"},
		{"empty data is data", "data\n\n", "message  |"},
		{"an ID alone moves the cursor", "id: 5\n\ndata: x\n\n", "message  x|5"},
		{"an event without an ID does not", "id: 5\ndata: x\n\ndata: y\n\n", "message 5 x|message  y|5"},
		{"an ID with NUL does not count", "id: 5\n\nid: 6\x00\ndata: x\n\n", "message  x|5"},
		{"a reset without an ID leaves none", "id: 5\n\nevent: reset\ndata: {}\n\n", "reset  {}|"},
		{"an unfinished event is none", "id: 5\ndata: x\n\nid: 6\ndata: y\n", "message 5 x|5"},
		{"comments", ": hello\n\n:\n\ndata: x\n\n", "message  x|"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reader := newEventReader(strings.NewReader(test.text), "")
			var got strings.Builder
			for {
				event, err := reader.next()
				if err != nil {
					break
				}
				fmt.Fprintf(&got, "%s %s %s|", event.Type, event.ID, event.Data)
			}
			got.WriteString(reader.cursor)
			if got.String() != test.want {
				t.Errorf("got %q, want %q", got.String(), test.want)
			}
		})
	}
}

// FuzzEventReader holds that what was read is the same however the stream is
// cut into events' texts again.
func FuzzEventReader(f *testing.F) {
	f.Add("event: update\nid: 1\ndata: x\ndata: y\n\n: c\n\nid: 2\n\n")
	f.Add("data\r\n\r\nid:\x00\n\nevent: reset\ndata:\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		reader := newEventReader(strings.NewReader(text), "start")
		for {
			first, err := reader.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("error %v", err)
				}
				return
			}
			data := strings.ReplaceAll(string(first.Data), "\n", "\r\ndata: ")
			written := "event: " + first.Type + "\r\nid: " + first.ID + "\r\ndata: " + data + "\r\n\r\n"
			second, err := newEventReader(strings.NewReader(written), "").next()
			if err != nil || second.Type != first.Type || second.ID != first.ID || string(second.Data) != string(first.Data) {
				t.Fatalf("read %q, written as %q it reads %q, %v", first, written, second, err)
			}
		}
	})
}
