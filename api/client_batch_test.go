package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// requestsOf returns n requests, the i-th for the URL http://a/i.
func requestsOf(n int) iter.Seq[SubscribeRequest] {
	return func(yield func(SubscribeRequest) bool) {
		for i := range n {
			if !yield(SubscribeRequest{URL: fmt.Sprintf("http://a/%d", i), Sink: Sink{Type: SinkSSE}}) {
				return
			}
		}
	}
}

// echo answers each line as it comes with a subscription of the same URL.
func echo(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).EnableFullDuplex()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		var request SubscribeRequest
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			return // the client cut a line off
		}
		json.NewEncoder(w).Encode(BatchResult{Subscription: &Subscription{URL: request.URL}})
	}
}

// TestBatchStreams sends many blocks to a server that answers as it reads.
func TestBatchStreams(t *testing.T) {
	const n = 20_000
	client := newTestClient(t, echo)
	i := 0
	for result, err := range client.Batch(t.Context(), requestsOf(n)) {
		if err != nil {
			t.Fatalf("after %d results: %v", i, err)
		}
		if want := fmt.Sprintf("http://a/%d", i); result.URL != want {
			t.Fatalf("result %d is of %s", i, result.URL)
		}
		i++
	}
	if i != n {
		t.Errorf("%d results, want %d", i, n)
	}
}

func TestBatchErrorsOfLines(t *testing.T) {
	client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"id":"sub_1","url":"http://a/0"}`+"\n"+`{"error":{"title":"Bad Request","status":400}}`+"\n")
	})
	var got []string
	for result, err := range client.Batch(t.Context(), requestsOf(2)) {
		if err != nil {
			t.Fatal(err)
		}
		if result.Error != nil {
			got = append(got, result.Error.Title)
		} else {
			got = append(got, result.ID)
		}
	}
	if fmt.Sprint(got) != "[sub_1 Bad Request]" {
		t.Errorf("got %v", got)
	}
}

func TestBatchFails(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		results int
		want    string
	}{
		{"refused as a whole", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 0, "Service Unavailable"},
		{"fewer answers than requests", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, `{"id":"1"}`+"\n")
		}, 1, "1 of 3 requests were answered"},
		{"more answers than requests", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, strings.Repeat(`{"id":"1"}`+"\n", 4))
		}, 4, "4 of 3 requests were answered"},
		{"a line that is neither", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "{}\n")
		}, 0, "neither a subscription nor an error"},
		{"a line that is no JSON", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "{\n")
		}, 0, "read line 1"},
		{"an endless line", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, strings.Repeat(" ", maxBatchAnswer+1))
		}, 0, "token too long"},
		{"cut off", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, `{"id":"1"}`+"\n")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 1, "read line 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := newTestClient(t, test.handler)
			results, last := 0, error(nil)
			for _, err := range client.Batch(t.Context(), requestsOf(3)) {
				if last = err; err == nil {
					results++
				}
			}
			if results != test.results || last == nil || !strings.Contains(last.Error(), test.want) {
				t.Errorf("%d results, then %v; want %d, then %q", results, last, test.results, test.want)
			}
			var problem *Problem
			var callErr *CallError
			if !errors.As(last, &problem) && !errors.As(last, &callErr) {
				t.Errorf("error of type %T", last)
			}
		})
	}
}

// TestBatchLeftEarly leaves the loop while requests without end are being sent.
func TestBatchLeftEarly(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) }) // after the server has ended
	client := newTestClient(t, echo)
	ended := false
	endless := func(yield func(SubscribeRequest) bool) {
		defer func() { ended = true }()
		for yield(SubscribeRequest{URL: "http://a/"}) {
			continue
		}
	}
	for _, err := range client.Batch(t.Context(), endless) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if !ended {
		t.Error("the requests are still being read")
	}
}
