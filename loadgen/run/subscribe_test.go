package run

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
)

// TestUnsubscribe: what a node refuses for now is asked of the next one; an end that is known
// already counts once a request was left without an answer, and a refusal for good is an error.
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
