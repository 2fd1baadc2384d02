package witness

import (
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
	at := c.At(1, AnswerWithin)
	for range 3 {
		at.List(t.Context(), record)
	}
	if asked != [3]int{6, 9, 6} {
		t.Errorf("asked %v, want the second alone", asked)
	}
}

// A request that found nobody was surely not done; one without an answer may have been.
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
