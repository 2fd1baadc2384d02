package witness

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// A client of several nodes asks each of them as often.
func TestClientTakesTurns(t *testing.T) {
	var asked [3]int
	bases := make([]string, len(asked))
	for i := range asked {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked[i]++
			_, _ = w.Write([]byte(`{"subscriptions":[]}`))
		}))
		defer server.Close()
		bases[i] = server.URL
	}
	c, record := NewClient(NewRecorder(), bases...), &ChannelRecord{ID: channel.IDOf("http://origin/")}
	for range 18 {
		if got := c.List(t.Context(), record); got == nil {
			t.Fatal("no list")
		}
	}
	if asked != [3]int{6, 6, 6} {
		t.Errorf("asked %v, want each as often", asked)
	}
	at := c.At(Base{1, bases[1]}, AnswerWithin)
	for range 3 {
		at.List(t.Context(), record)
	}
	if asked != [3]int{6, 9, 6} {
		t.Errorf("asked %v, want the second alone", asked)
	}
	c.Ask(Base{2, bases[2]}, Base{7, bases[0]})
	for range 4 {
		c.List(t.Context(), record)
	}
	if asked != [3]int{8, 9, 8} {
		t.Errorf("asked %v, want the second no more", asked)
	}
	if attempt, _ := c.At(Base{7, bases[0]}, AnswerWithin).do(t.Context(), http.MethodGet, "/", "", nil); attempt.Node != 7 {
		t.Errorf("an attempt at node %d, want 7", attempt.Node)
	}
}

// A page that is refused is asked for again; the walk goes on, and ends where it is refused
// for good.
func TestSnapshotAsksAgain(t *testing.T) {
	asked := make(map[string]int)
	refusals := 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.String()]++
		switch first := r.URL.Query().Get("after") == ""; {
		case asked[r.URL.String()] <= refusals:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v1/channels":
			_, _ = w.Write([]byte(`{"channels":[]}`))
		case first:
			_, _ = w.Write([]byte(`{"subscriptions":[{"id":"a"}],"next":"a"}`))
		default:
			_, _ = w.Write([]byte(`{"subscriptions":[{"id":"b"}]}`))
		}
	}))
	defer server.Close()
	c := NewClient(NewRecorder(), server.URL)
	s, err := c.Snapshot(t.Context(), nil)
	if err != nil || len(s.Listing) != 2 {
		t.Fatalf("%v, %v, want two subscriptions", s, err)
	}
	for url, n := range asked {
		if n != 2 {
			t.Errorf("%s: asked %d times, want 2", url, n)
		}
	}
	clear(asked)
	refusals = pageTries
	if _, err := c.Snapshot(t.Context(), nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("all refused: %v, want %v", err, ErrNoAnswer)
	}
}

// A request that was sent, on a connection that was kept from another and ended without an
// answer, is not unsent because its server takes no other connection.
func TestSentAndGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- answerOnce(listener) }()
	client := NewClient(NewRecorder(), "http://"+listener.Addr().String())
	if attempt, _ := client.do(t.Context(), http.MethodPost, "/", "key", nil); attempt.Outcome != Acked {
		t.Fatalf("the first request: %+v", attempt)
	}
	attempt, _ := client.do(t.Context(), http.MethodPost, "/", "key", nil)
	if attempt.Outcome != Unknown || attempt.Unsent {
		t.Errorf("%+v, want one that may have been done", attempt)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// answerOnce answers the first request of the first connection, and ends with the second.
func answerOnce(listener net.Listener) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := listener.Close(); err != nil {
		return err
	}
	requests := bufio.NewReader(conn)
	for answered := range 2 {
		request, err := http.ReadRequest(requests)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil || answered == 1 {
			return err
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return err
		}
	}
	return nil
}

// A request that reached no node was surely not done; one without an answer may have been.
func TestUnsent(t *testing.T) {
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangsUp.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for url, unsent := range map[string]bool{hangsUp.URL: false, gone.URL: true} {
		attempt, _ := NewClient(NewRecorder(), url).do(t.Context(), http.MethodGet, "/", "", nil)
		if attempt.Outcome != Unknown || attempt.Unsent != unsent {
			t.Errorf("%+v, want unsent %t", attempt, unsent)
		}
	}
}

// A channel that is not there is a read of it that has no version; no answer is no read.
func TestRefusedReadCounts(t *testing.T) {
	status := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	recorder := NewRecorder()
	c, record := NewClient(recorder, server.URL), &ChannelRecord{Number: 3}
	for _, status = range []int{http.StatusNotFound, http.StatusServiceUnavailable} {
		if version, err := c.readVersion(t.Context(), record); version != 0 || err == nil {
			t.Errorf("status %d: version %d, %v", status, version, err)
		}
	}
	recorder.With(func(h *History) {
		if len(h.Reads) != 1 || h.Reads[0].Channel != 3 || h.Reads[0].Version != 0 {
			t.Errorf("reads %+v, want one", h.Reads)
		}
	})
}
