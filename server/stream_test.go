package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/server"
)

// streaming runs a server in virtual time and returns a client of it. The
// streams that it opened are in order of their opening.
type streaming struct {
	client *http.Client
	conn   *pipeListener
	server *running
	opened []*fakeStream
}

func startStreaming(t *testing.T, events, size int) (*streaming, func(name string, labels ...string) float64) {
	t.Helper()
	st := &streaming{conn: newPipeListener()}
	node := &fakeNode{streamHook: func(_ context.Context, _ api.StreamFilter, cursor string) (api.EventStream, error) {
		stream := streamFrom(cursor, events, size)
		st.opened = append(st.opened, stream)
		return stream, nil
	}}
	s, registry := newServer(t, node, server.Config{})
	st.server = run(t, s, st.conn)
	st.client = st.conn.client(t)
	return st, func(name string, labels ...string) float64 { return counted(t, registry, name, labels...) }
}

// open opens a stream behind a cursor.
func (st *streaming) open(t *testing.T, cursor string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", "http://localhost/v1/updates", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cursor != "" {
		r.Header.Set("Last-Event-ID", cursor)
	}
	response, err := st.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// block reads to the next empty line.
func block(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", &text, err)
		}
		if line == "\n" {
			return text.String()
		}
		text.WriteString(line)
	}
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, count := startStreaming(t, 2, 0)
		response := st.open(t, "")
		defer response.Body.Close()
		header := response.Header
		if header.Get("Content-Type") != "text/event-stream" || header.Get("Cache-Control") != "no-store" || header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("header %v", header)
		}
		begun := time.Now()
		r := bufio.NewReader(response.Body)
		for _, want := range []string{": corona\n", "event: update\nid: 1\ndata: {\"version\":1,\"diff\":\"\"}\n", "event: update\nid: 2\ndata: {\"version\":2,\"diff\":\"\"}\n"} {
			if got := block(t, r); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		// Now nothing comes but a heartbeat each 15 s, for longer than any timeout.
		for i := range 40 {
			if got := block(t, r); got != ": heartbeat\n" {
				t.Fatalf("got %q", got)
			}
			if at := time.Since(begun); at != time.Duration(i+1)*15*time.Second {
				t.Fatalf("heartbeat after %s", at)
			}
		}
		if open, events := count("corona_http_streams"), count("corona_http_stream_events_total"); open != 1 || events != 2 {
			t.Errorf("%v streams open, %v events", open, events)
		}
		response.Body.Close()
		synctest.Wait()
		if _, closed := st.opened[0].state(); !closed || count("corona_http_streams") != 0 || count("corona_http_stream_ends_total", "client") != 1 {
			t.Errorf("the client left, but the stream is not over: closed %v", closed)
		}
	})
}

// Row 41: a client that never reads costs a bounded buffer, is cut off, and goes
// on later where it stood: nothing is lost and nothing comes twice.
func TestRow41ClientThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, count := startStreaming(t, 1000, 100_000)
		response := st.open(t, "")
		r := bufio.NewReader(response.Body)
		block(t, r)
		var got []string
		for range 3 {
			got = append(got, id(block(t, r)))
		}
		begun := time.Now()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if count("corona_http_streams") != 1 {
			t.Fatal("cut off too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		pulled, closed := st.opened[0].state()
		if !closed || count("corona_http_stream_ends_total", "slow") != 1 {
			t.Fatalf("not cut off %s after its last read", time.Since(begun))
		}
		if pulled > 6 {
			t.Errorf("%d events were taken for a client that read 3", pulled)
		}
		response.Body.Close()

		again := st.open(t, got[len(got)-1])
		defer again.Body.Close()
		r = bufio.NewReader(again.Body)
		block(t, r)
		for range 5 {
			got = append(got, id(block(t, r)))
		}
		if want := "1 2 3 4 5 6 7 8"; strings.Join(got, " ") != want {
			t.Errorf("received %v, want %s", got, want)
		}
	})
}

// id returns the ID of an event.
func id(block string) string {
	for line := range strings.Lines(block) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// The server stops at once although streams are open; their clients see an end
// and can go on elsewhere. A client that does not read is not waited for.
func TestStreamStops(t *testing.T) {
	for _, reads := range []bool{true, false} {
		t.Run(fmt.Sprintf("client reads: %v", reads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, count := startStreaming(t, 1000, 100_000)
				response := st.open(t, "")
				defer response.Body.Close()
				if reads {
					go drain(response.Body)
				}
				begun := time.Now()
				if err := st.server.stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("stopping took %s", took)
				}
				if count("corona_http_streams") != 0 {
					t.Error("a stream is still open")
				}
			})
		})
	}
}

func TestStreamEndsWithNode(t *testing.T) {
	for name, stream := range map[string]api.EventStream{"end": &fakeStream{next: 1, ends: true}, "failure": brokenStream{}} {
		t.Run(name, func(t *testing.T) {
			node := &fakeNode{streamHook: func(context.Context, api.StreamFilter, string) (api.EventStream, error) { return stream, nil }}
			s, registry := newServer(t, node, server.Config{})
			w := serve(s, request("GET", "/v1/updates", ""))
			if w.Code != http.StatusOK || w.Body.String() != ": corona\n\n" {
				t.Errorf("status %d, %q", w.Code, w.Body)
			}
			if got := counted(t, registry, "corona_http_stream_ends_total", "node"); got != 1 {
				t.Errorf("%v ends counted", got)
			}
		})
	}
}

type brokenStream struct{}

func (brokenStream) Next(context.Context) (api.StreamEvent, error) {
	return api.StreamEvent{}, errors.New("corrupt block")
}

func (brokenStream) Close() {}

func TestStreamQuery(t *testing.T) {
	one, two := channel.IDOf("https://example.com/1"), channel.IDOf("https://example.com/2")
	many, longest := strings.Repeat("m", 3439), strings.Repeat("l", 21871) // of 256 ranges that lag, and the longest there is
	tests := []struct {
		query, header string
		filter        api.StreamFilter
		cursor        string
	}{
		{"", "", api.StreamFilter{}, ""},
		{"?channel=" + one.String() + "&channel=" + two.String(), "", api.StreamFilter{Channels: []channel.ID{one, two}}, ""},
		{"?subscription=a&subscription=b&channel=" + one.String(), "", api.StreamFilter{Channels: []channel.ID{one}, Subscriptions: []string{"a", "b"}}, ""},
		{"?last_event_id=c1", "", api.StreamFilter{}, "c1"},
		{"", "c2", api.StreamFilter{}, "c2"},
		{"?last_event_id=c1", "c2", api.StreamFilter{}, "c2"}, // a browser that connects again
		{"?last_event_id=" + longest, "", api.StreamFilter{}, longest},
		{"?last_event_id=" + many, longest, api.StreamFilter{}, longest},
	}
	for _, test := range tests {
		var filter api.StreamFilter
		var cursor string
		node := &fakeNode{streamHook: func(_ context.Context, f api.StreamFilter, c string) (api.EventStream, error) {
			filter, cursor = f, c
			return &fakeStream{ends: true}, nil
		}}
		s, _ := newServer(t, node, server.Config{})
		r := request("GET", "/v1/updates"+test.query, "")
		if test.header != "" {
			r.Header.Set("Last-Event-ID", test.header)
		}
		if w := serve(s, r); w.Code != http.StatusOK || !reflect.DeepEqual(filter, test.filter) || cursor != test.cursor {
			t.Errorf("%q with header %q: status %d, filter %+v, cursor %q", test.query, test.header, w.Code, filter, cursor)
		}
	}
}

// What cannot be opened is an answer like any other, not a stream that ends.
func TestStreamRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{streamHook: func(ctx context.Context, _ api.StreamFilter, cursor string) (api.EventStream, error) {
			if cursor == "waits" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, api.BadField("Last-Event-ID", "no cursor")
		}}
		s, registry := newServer(t, node, server.Config{})
		wantProblem(t, serve(s, request("GET", "/v1/updates?last_event_id=x", "")), http.StatusBadRequest, "Last-Event-ID", "")
		begun := time.Now()
		wantProblem(t, serve(s, request("GET", "/v1/updates?last_event_id=waits", "")), http.StatusServiceUnavailable, "", "")
		if took := time.Since(begun); took >= 5*time.Second {
			t.Errorf("took %s", took)
		}
		if got := counted(t, registry, "corona_http_stream_ends_total"); got != 0 {
			t.Errorf("%v streams ended that never began", got)
		}
	})
}

func TestTooManyStreams(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, registry := newServer(t, &fakeNode{}, server.Config{MaxStreams: 1})
	listener := listen(t)
	run(t, s, listener)
	target := "http://" + listener.Addr().String() + "/v1/updates"
	r, err := http.NewRequestWithContext(ctx, "GET", target, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	w := serve(s, request("GET", "/v1/updates", ""))
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantProblem(t, w, http.StatusServiceUnavailable, "", "streams")
	if got := counted(t, registry, "corona_http_streams"); got != 1 {
		t.Errorf("%v streams", got)
	}
	cancel()
}

// HEAD tells what GET would be and opens nothing.
func TestStreamHead(t *testing.T) {
	node := &fakeNode{streamHook: func(context.Context, api.StreamFilter, string) (api.EventStream, error) {
		return nil, errors.New("opened")
	}}
	s, _ := newServer(t, node, server.Config{})
	w := serve(s, request("HEAD", "/v1/updates", ""))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, header %v", w.Code, w.Header())
	}
}

// Our own client understands the stream.
func TestStreamClient(t *testing.T) {
	node := &fakeNode{streamHook: func(_ context.Context, _ api.StreamFilter, cursor string) (api.EventStream, error) {
		return streamFrom(cursor, 5, 0), nil
	}}
	s, _ := newServer(t, node, server.Config{})
	h := httptest.NewServer(s)
	defer h.Close()
	client, err := api.NewClient(h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Stream(t.Context(), api.StreamFilter{}, "2")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for k := 3; k <= 5; k++ {
		event, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if update, err := event.Update(); err != nil || event.ID != fmt.Sprint(k) || update.Version != uint64(k) {
			t.Errorf("event %+v, %v", event, err)
		}
	}
}
