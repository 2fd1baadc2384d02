package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// newTestClient returns a client of a server that lives as long as the test.
func newTestClient(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := NewClient(server.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestNewClientRefuses(t *testing.T) {
	for _, server := range []string{
		"", "127.0.0.1:8410", "ftp://example.com", "http://", "http://u:p@example.com", "http://example.com/?x=1", "http://example.com/#f", "http://[::1",
	} {
		if _, err := NewClient(server, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", server)) {
			t.Errorf("NewClient(%q): error %v, want one that names it", server, err)
		}
	}
}

// TestCalls holds what each method asks for.
func TestCalls(t *testing.T) {
	_, id, err := channel.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		call       func(*Client) error
	}{
		{"Subscribe", `POST /v1/subscriptions key="k" {"url":"https://example.com/","sink":{"type":"sse"}}`, func(c *Client) error {
			_, err := c.Subscribe(t.Context(), SubscribeRequest{URL: "https://example.com/", Sink: Sink{Type: SinkSSE}, Key: "k"})
			return err
		}},
		{"Unsubscribe", `DELETE /v1/subscriptions/a%2Fb%3F key="" `, func(c *Client) error { return c.Unsubscribe(t.Context(), "a/b?") }},
		{"Subscription", `GET /v1/subscriptions/sub_1 key="" `, func(c *Client) error {
			_, err := c.Subscription(t.Context(), "sub_1")
			return err
		}},
		{"TestSink", `POST /v1/subscriptions/sub_1:test key="" `, func(c *Client) error { return c.TestSink(t.Context(), "sub_1") }},
		{"Subscriptions", `GET /v1/subscriptions?channel=` + id.String() + `&limit=1000 key="" `, func(c *Client) error {
			return drain(c.Subscriptions(t.Context(), &id))
		}},
		{"Channels", `GET /v1/channels?limit=1000 key="" `, func(c *Client) error { return drain(c.Channels(t.Context())) }},
		{"Channel", `GET /v1/channels/` + id.String() + ` key="" `, func(c *Client) error {
			_, err := c.Channel(t.Context(), id)
			return err
		}},
		{"Forget", `POST /v1/channels/` + id.String() + `:forget key="" `, func(c *Client) error { return c.Forget(t.Context(), id) }},
		{"Explain", `GET /v1/channels/` + id.String() + `/explain key="" `, func(c *Client) error {
			_, err := c.Explain(t.Context(), id)
			return err
		}},
		{"Updates", `GET /v1/channels/` + id.String() + `/updates?limit=16&after=7 key="" `, func(c *Client) error {
			return drain(c.Updates(t.Context(), id, 7))
		}},
		{"Status", `GET /v1/status key="" `, func(c *Client) error {
			_, err := c.Status(t.Context())
			return err
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got string
			client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = fmt.Sprintf("%s %s key=%q %s", r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"), body)
				io.WriteString(w, "{}")
			})
			if err := test.call(client); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("sent %s\nwant %s", got, test.want)
			}
		})
	}
}

func drain[T any](items func(func(T, error) bool)) (err error) {
	for _, err = range items {
	}
	return err
}

func TestPagesComeOnceEachInOrder(t *testing.T) {
	pages := map[string]string{
		"":  `{"subscriptions":[{"id":"1"},{"id":"2"}],"next":"a"}`,
		"a": `{"subscriptions":[],"next":"b"}`,
		"b": `{"subscriptions":[{"id":"3"}]}`,
	}
	asked := 0
	client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		io.WriteString(w, pages[r.URL.Query().Get("after")])
	})
	var got []string
	for subscription, err := range client.Subscriptions(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, subscription.ID)
	}
	if want := []string{"1", "2", "3"}; !slices.Equal(got, want) || asked != 3 {
		t.Errorf("got %v in %d pages, want %v in 3", got, asked, want)
	}
	asked = 0
	for range client.Subscriptions(t.Context(), nil) {
		break
	}
	if asked != 1 {
		t.Errorf("a loop that is left at once asked for %d pages, want 1", asked)
	}
}

// TestPagesEndWithTheError: a page that fails is asked for again, unless it is the first one or
// fails for good; in the end its error comes.
func TestPagesEndWithTheError(t *testing.T) {
	tests := []struct {
		name     string
		fails    string // the page
		times    int
		status   int
		want     []string
		requests int
	}{
		{"the first", "", 1, http.StatusServiceUnavailable, []string{"true"}, 1},
		{"another, at times", "a", pageTries - 1, http.StatusServiceUnavailable, []string{"http://a/false", "http://b/false"}, 1 + pageTries},
		{"another, all the time", "a", pageTries, http.StatusServiceUnavailable, []string{"http://a/false", "true"}, 1 + pageTries},
		{"another, for good", "a", pageTries, http.StatusBadRequest, []string{"http://a/false", "true"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requests, failed := 0, 0
			client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				after := r.URL.Query().Get("after")
				switch {
				case after == test.fails && failed < test.times:
					failed++
					w.WriteHeader(test.status)
				case after == "":
					io.WriteString(w, `{"channels":[{"url":"http://a/"}],"next":"a"}`)
				default:
					io.WriteString(w, `{"channels":[{"url":"http://b/"}]}`)
				}
			})
			client.pagePause = 0
			var got []string
			for channel, err := range client.Channels(t.Context()) {
				got = append(got, fmt.Sprint(channel.URL, err != nil))
			}
			if !slices.Equal(got, test.want) || requests != test.requests {
				t.Errorf("got %v in %d requests, want %v in %d", got, requests, test.want, test.requests)
			}
		})
	}
}

func TestUpdatesGoThroughPages(t *testing.T) {
	full := Updates{Gap: &Gap{From: 1, To: 4}}
	for version := range uint64(updatePageLimit) {
		full.Updates = append(full.Updates, Update{Version: 5 + version})
	}
	var asked []string
	client := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("after"))
		if len(asked) == 1 {
			json.NewEncoder(w).Encode(full)
			return
		}
		io.WriteString(w, `{"updates":[{"version":21}]}`)
	})
	var pages []Updates
	for page, err := range client.Updates(t.Context(), channel.ID{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	if !slices.Equal(asked, []string{"0", "20"}) || len(pages) != 2 || pages[0].Gap == nil || pages[1].Updates[0].Version != 21 {
		t.Errorf("asked after %v, got %d pages", asked, len(pages))
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		status                  int
		want                    Problem
	}{
		{"of a node", "application/problem+json", `{"type":"about:blank","title":"Conflict","status":409,"detail":"other body"}`, 409,
			Problem{Type: "about:blank", Title: "Conflict", Status: 409, Detail: "other body"}},
		{"of a proxy", "text/html", "<html>\nbad gateway", 502,
			Problem{Type: "about:blank", Title: "Bad Gateway", Status: 502, Detail: "<html>", Retryable: true}},
		{"status of the answer counts", "application/problem+json", `{"title":"Fine","status":200}`, 503, Problem{Title: "Fine", Status: 503}},
		{"JSON of another kind", "application/json", `{"error":"x"}`, 429,
			Problem{Type: "about:blank", Title: "Too Many Requests", Status: 429, Detail: `{"error":"x"}`, Retryable: true}},
		{"unknown status", "", "", 599, Problem{Type: "about:blank", Title: "Status 599", Status: 599}},
		{"redirect", "", "", 307, Problem{Type: "about:blank", Title: "Temporary Redirect", Status: 307}},
		{"long text is cut", "text/plain", strings.Repeat("x", 1000), 400,
			Problem{Type: "about:blank", Title: "Bad Request", Status: 400, Detail: strings.Repeat("x", 200)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			})
			_, err := client.Status(t.Context())
			var problem *Problem
			if !errors.As(err, &problem) || *problem != test.want {
				t.Errorf("error %#v, want %#v", err, test.want)
			}
		})
	}
}

func TestAnswersThatAreNotCoronas(t *testing.T) {
	client := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	_, err := client.Status(t.Context())
	var callErr *CallError
	if !errors.As(err, &callErr) || callErr.Server != client.base {
		t.Errorf("error %v, want a CallError of %s", err, client.base)
	}
	endless := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) {
		block := []byte(strings.Repeat(" ", 1<<20))
		for range maxAnswer>>20 + 1 {
			w.Write(block)
		}
	})
	if _, err := endless.Status(t.Context()); !errors.As(err, &callErr) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("error %v, want one about the length", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	client, err := NewClient(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	var callErr *CallError
	if _, err := client.Status(t.Context()); !errors.As(err, &callErr) || strings.Contains(err.Error(), "/v1/") {
		t.Errorf("error %v, want a CallError without the path", err)
	}
}
