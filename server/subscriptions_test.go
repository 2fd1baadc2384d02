package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

const (
	feed      = "https://example.com/feed.xml"
	secret    = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz" // 24 bytes
	sseBody   = `{"url":"https://example.com/feed.xml","sink":{"type":"sse"}}`
	otherBody = `{"url":"https://example.com/other.xml","sink":{"type":"sse"}}`
)

func TestSubscribe(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	body := `{"url":"HTTPS://Example.com:443/feed.xml#top","sink":{"type":"webhook","url":"https://Hooks.example/x","secret":"` + secret + `"}}`
	w := serve(s, request("POST", "/v1/subscriptions", body))
	if strings.Contains(w.Body.String(), secret) {
		t.Errorf("the answer has the secret: %s", w.Body)
	}
	made := read[api.Subscription](t, w, http.StatusCreated)
	if made.URL != feed || made.Sink.URL != "https://hooks.example/x" || made.FromVersion != 2 || made.State != api.StateActive {
		t.Errorf("made %+v", made)
	}
	if got := w.Header().Get("Location"); got != "/v1/subscriptions/"+made.ID {
		t.Errorf("Location %q", got)
	}
	shown := serve(s, request("GET", "/v1/subscriptions/"+made.ID, ""))
	if strings.Contains(shown.Body.String(), secret) {
		t.Errorf("GET shows the secret: %s", shown.Body)
	}
	if got := read[api.Subscription](t, shown, http.StatusOK); got != made {
		t.Errorf("GET %+v, POST %+v", got, made)
	}
}

// Row 38: the same Idempotency-Key with the same body is the same answer, with
// another body a conflict.
func TestRow38IdempotencyKey(t *testing.T) {
	node := &fakeNode{}
	s, _ := newServer(t, node, server.Config{})
	post := func(body string, header ...string) string {
		return read[api.Subscription](t, serve(s, request("POST", "/v1/subscriptions", body, header...)), http.StatusCreated).ID
	}
	first := post(sseBody, "Idempotency-Key", "k")
	if again := post(sseBody, "Idempotency-Key", "k"); again != first {
		t.Errorf("again %s, first %s", again, first)
	}
	// The same URL in another spelling is the same request.
	if again := post(strings.Replace(sseBody, "example.com", "EXAMPLE.com", 1), "Idempotency-Key", "k"); again != first {
		t.Errorf("in another spelling %s, first %s", again, first)
	}
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions", otherBody, "Idempotency-Key", "k")), http.StatusConflict, "", "")
	if without := post(sseBody); without == first {
		t.Errorf("without a key the first subscription came again")
	}
	if len(node.subs) != 2 {
		t.Errorf("%d subscriptions, want 2", len(node.subs))
	}
}

// batch returns the answers to the lines of a batch, one for each.
func batch(t *testing.T, s *server.Server, lines ...string) []api.BatchResult {
	t.Helper()
	answers := results(t, serve(s, request("POST", "/v1/subscriptions:batch", strings.Join(lines, "\n"))).Body)
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	return answers
}

// TestKeyOfDeleted: a key whose subscription was deleted is answered with it and its
// state, under no status or address that says that it is there.
func TestKeyOfDeleted(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	post := func() *httptest.ResponseRecorder {
		return serve(s, request("POST", "/v1/subscriptions", sseBody, "Idempotency-Key", "k"))
	}
	made := read[api.Subscription](t, post(), http.StatusCreated)
	if again := read[api.Subscription](t, post(), http.StatusCreated); again != made {
		t.Errorf("again %+v, first %+v", again, made)
	}
	serve(s, request("DELETE", "/v1/subscriptions/"+made.ID, ""))
	answer := post()
	gone := made
	gone.State = "deleted"
	if got := read[api.Subscription](t, answer, http.StatusOK); got != gone {
		t.Errorf("after its deletion %+v, want %+v", got, gone)
	}
	if location := answer.Header().Get("Location"); location != "" {
		t.Errorf("Location %s of what is not there", location)
	}
	line := strings.TrimSuffix(sseBody, "}") + `,"key":"k"}`
	if got := batch(t, s, line)[0]; !got.Existing || got.Subscription == nil || *got.Subscription != gone {
		t.Errorf("line %+v, want %+v", got, gone)
	}
	wantProblem(t, serve(s, request("GET", "/v1/subscriptions/"+made.ID, "")), http.StatusNotFound, "", "")
}

// TestOnce: 201 when the request made the subscription, 200 when one was there.
func TestOnce(t *testing.T) {
	node := &fakeNode{}
	s, _ := newServer(t, node, server.Config{})
	body := strings.TrimSuffix(sseBody, "}") + `,"once":true}`
	made := read[api.Subscription](t, serve(s, request("POST", "/v1/subscriptions", body)), http.StatusCreated)
	answer := serve(s, request("POST", "/v1/subscriptions", body))
	if again := read[api.Subscription](t, answer, http.StatusOK); again != made || answer.Header().Get("Location") == "" {
		t.Errorf("again %+v at %q, first %+v", again, answer.Header().Get("Location"), made)
	}
	got := batch(t, s, body, otherBody)
	if !got[0].Existing || *got[0].Subscription != made || got[1].Existing {
		t.Errorf("lines %+v", got)
	}
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions", body, "Idempotency-Key", "k")), http.StatusBadRequest, "once", "")
	if both := batch(t, s, strings.TrimSuffix(body, "}")+`,"key":"k"}`)[0]; both.Error == nil || both.Error.Field != "once" {
		t.Errorf("a line with both: %+v", both)
	}
	if len(node.subs) != 2 {
		t.Errorf("%d subscriptions, want 2", len(node.subs))
	}
}

func TestUnsubscribe(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	made := read[api.Subscription](t, serve(s, request("POST", "/v1/subscriptions", sseBody)), http.StatusCreated)
	for _, round := range []string{"first", "again"} {
		w := serve(s, request("DELETE", "/v1/subscriptions/"+made.ID, ""))
		if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("%s: status %d, body %q", round, w.Code, w.Body)
		}
	}
	for _, id := range []string{"sub_never", strings.Repeat("x", 300), "%00", "a%20b"} {
		wantProblem(t, serve(s, request("DELETE", "/v1/subscriptions/"+id, "")), http.StatusNotFound, "", "")
		wantProblem(t, serve(s, request("GET", "/v1/subscriptions/"+id, "")), http.StatusNotFound, "", "")
	}
}

func TestListSubscriptions(t *testing.T) {
	node := &fakeNode{}
	s, _ := newServer(t, node, server.Config{})
	empty := serve(s, request("GET", "/v1/subscriptions", ""))
	if got := strings.TrimSpace(empty.Body.String()); got != `{"subscriptions":[]}` {
		t.Errorf("empty list: %s", got)
	}
	for i := range 250 {
		serve(s, request("POST", "/v1/subscriptions", fmt.Sprintf(`{"url":"https://example.com/%d","sink":{"type":"webhook","url":"https://h.example/","secret":%q}}`, i/2, secret)))
	}
	for limit, want := range map[string]string{"": "100 100 50", "limit=1000": "250", "limit=125": "125 125"} {
		if got := pageSizes(t, s, limit); got != want {
			t.Errorf("%q: pages of %s, want %s", limit, got, want)
		}
	}
	page := read[api.Subscriptions](t, serve(s, request("GET", "/v1/subscriptions?channel="+node.subs[7].Channel.String(), "")), http.StatusOK)
	if len(page.Subscriptions) != 2 || page.Subscriptions[0].Channel != node.subs[7].Channel {
		t.Errorf("of one channel: %+v", page)
	}
	if page.Subscriptions[0].Sink.Secret != "" {
		t.Error("the list shows secrets")
	}
}

// pageSizes follows next to the end and checks that nothing comes twice.
func pageSizes(t *testing.T, s http.Handler, query string) string {
	t.Helper()
	var sizes []string
	seen := make(map[string]bool)
	for after := ""; ; {
		target := "/v1/subscriptions?" + query
		if after != "" {
			target += "&after=" + after
		}
		page := read[api.Subscriptions](t, serve(s, request("GET", target, "")), http.StatusOK)
		sizes = append(sizes, fmt.Sprint(len(page.Subscriptions)))
		for _, one := range page.Subscriptions {
			if seen[one.ID] {
				t.Errorf("%s came twice", one.ID)
			}
			seen[one.ID] = true
		}
		if after = page.Next; after == "" {
			return strings.Join(sizes, " ")
		}
	}
}

func TestSinkTest(t *testing.T) {
	node := &fakeNode{}
	s, _ := newServer(t, node, server.Config{})
	made := read[api.Subscription](t, serve(s, request("POST", "/v1/subscriptions", sseBody)), http.StatusCreated)
	if w := serve(s, request("POST", "/v1/subscriptions/"+made.ID+":test", "")); w.Code != http.StatusNoContent {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions/sub_never:test", "")), http.StatusNotFound, "", "")
	w := serve(s, request("POST", "/v1/subscriptions/"+made.ID, ""))
	if got := w.Header().Get("Allow"); got != "DELETE, GET, HEAD" {
		t.Errorf("Allow %q", got)
	}
	wantProblem(t, w, http.StatusMethodNotAllowed, "", "POST")
	node.testHook = func(context.Context, string) error {
		return api.NewProblem(http.StatusBadGateway, "the endpoint answered 500")
	}
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions/"+made.ID+":test", "")), http.StatusBadGateway, "", "500")
}

// What a node says is answered; what it does not mean for users is not.
func TestNodeErrors(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		detail string
	}{
		{"disk full", api.NewProblem(http.StatusInsufficientStorage, "the disk is nearly full"), http.StatusInsufficientStorage, "nearly full"},
		{"wrapped", fmt.Errorf("subscribe: %w", api.NewProblem(http.StatusConflict, "used")), http.StatusConflict, "used"},
		{"bare status", &api.Problem{Status: http.StatusServiceUnavailable}, http.StatusServiceUnavailable, ""},
		{"no status", &api.Problem{Detail: "secret"}, http.StatusInternalServerError, ""},
		{"no error's status", &api.Problem{Status: 200, Detail: "secret"}, http.StatusInternalServerError, ""},
		{"unknown", errors.New("pebble: secret"), http.StatusInternalServerError, ""},
		{"end of file", io.EOF, http.StatusInternalServerError, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := newServer(t, &fakeNode{failure: test.err}, server.Config{})
			for _, r := range []*http.Request{
				request("POST", "/v1/subscriptions", sseBody),
				request("GET", "/v1/subscriptions", ""),
				request("GET", "/v1/subscriptions/x", ""),
				request("DELETE", "/v1/subscriptions/x", ""),
				request("GET", "/v1/channels", ""),
				request("GET", "/v1/channels?url=https://example.com/", ""),
				request("GET", "/v1/channels/"+strings.Repeat("0", 40), ""),
				request("GET", "/v1/channels/"+strings.Repeat("0", 40)+"/updates", ""),
				request("GET", "/v1/status", ""),
			} {
				w := serve(s, r)
				if strings.Contains(w.Body.String(), "secret") {
					t.Errorf("%s %s shows what went wrong inside: %s", r.Method, r.URL, w.Body)
				}
				wantProblem(t, w, test.status, "", test.detail)
			}
		})
	}
}
