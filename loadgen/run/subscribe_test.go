package run

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/loadgen"
	"github.com/seed-91e7e7c1/corona/loadgen/scenario"
)

// TestUnsubscribe: what a node refuses for now is asked of the next one; an end that is known
// already counts once a request was left without an answer, and a refusal for good is an error.
// What a node refuses for good ends the run, and what no node tells is no good figure.
func TestRefusedForGood(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			fmt.Fprintln(w, `{"error":{"status":400,"title":"no","retryable":false}}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"status":500,"title":"no"}`)
	}))
	defer node.Close()
	client, err := api.NewClient(node.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	origin, err := loadgen.NewOrigin(loadgen.Config{Listen: "127.0.0.1:0", Hosts: 1, Channels: 3, Speedup: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &subscriber{
		Subscriptions: new(scenario.Subscriptions), cluster: &cluster{clients: []*api.Client{client}},
		origin: origin, refused: make([]atomic.Int32, 3),
	}
	err = s.subscribe(t.Context(), 0, []order{{0, 0, -1}, {1, 1, -1}, {2, 2, -1}})
	if !errors.Is(err, ErrNode) {
		t.Errorf("subscriptions that are refused for good: %v", err)
	}
	for told, err := range s.cluster.channels(t.Context(), origin.URL, 3) {
		if err == nil {
			t.Errorf("a node that answers 500 tells of %d channels", len(told))
		}
	}
}

func TestUnsubscribe(t *testing.T) {
	problem := func(status int, retryable bool) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status":%d,"title":"refused","retryable":%t}`, status, retryable)
		}
	}
	done := func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
	for name, test := range map[string]struct {
		first, second func(http.ResponseWriter)
		asked         [2]int
		fails         bool
	}{
		"at once":                  {done, done, [2]int{1, 0}, false},
		"refused for now":          {problem(503, true), done, [2]int{1, 1}, false},
		"carried out all the same": {problem(503, true), problem(404, false), [2]int{1, 1}, false},
		"not there at first":       {problem(404, false), done, [2]int{1, 0}, true},
		"refused for good":         {problem(400, false), done, [2]int{1, 0}, true},
		"refused for good later":   {problem(503, true), problem(403, false), [2]int{1, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked [2]int
			s := &subscriber{cluster: new(cluster)}
			for i, answer := range []func(http.ResponseWriter){test.first, test.second} {
				node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					asked[i]++
					answer(w)
				}))
				t.Cleanup(node.Close)
				client, err := api.NewClient(node.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.cluster.clients = append(s.cluster.clients, client)
			}
			if err := s.unsubscribe(t.Context(), left{number: 2, id: "id"}); (err != nil) != test.fails || asked != test.asked {
				t.Errorf("%v after %v requests, want %v", err, asked, test.asked)
			}
		})
	}
}
