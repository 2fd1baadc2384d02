package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

// Row 36: malformed or deep JSON and large bodies are answered 400 or 413, and
// the answer says what is wrong and where.
func TestRow36BadJSON(t *testing.T) {
	tests := []struct {
		name, body    string
		status        int
		field, detail string
	}{
		{"nothing", "", 400, "", "have nothing"},
		{"white space", " \n", 400, "", "have nothing"},
		{"text", "url=https://example.com/", 400, "", "at byte 1"},
		{"cut", `{"url":"https://exam`, 400, "", "ends too early"},
		{"comma", `{"url":"https://example.com/",}`, 400, "", "at byte 31"},
		{"array", `[]`, 400, "", "want an object, have array"},
		{"string", `"https://example.com/"`, 400, "", "want an object"},
		{"null", `null`, 400, "url", "missing"},
		{"number as URL", `{"url":7}`, 400, "url", "want a string, have number"},
		{"string as sink", `{"url":"https://example.com/","sink":"sse"}`, 400, "sink", "want an object"},
		{"object as type", `{"url":"https://example.com/","sink":{"type":{}}}`, 400, "sink.type", "want a string"},
		{"unknown field", `{"url":"https://example.com/","sink":{"type":"sse"},"every":"5m"}`, 400, "", `"every"`},
		{"unknown sink field", `{"url":"https://example.com/","sink":{"type":"sse","jid":"a@b"}}`, 400, "", `"jid"`},
		{"url twice", `{"url":"https://example.com/","sink":{"type":"sse"},"url":"https://example.org/"}`, 400, "url", "more than once"},
		{"url twice, the same", `{"url":"https://example.com/","url":"https://example.com/","sink":{"type":"sse"}}`, 400, "url", "more than once"},
		{"url in two cases", `{"url":"https://example.com/","sink":{"type":"sse"},"URL":"https://example.org/"}`, 400, "URL", "more than once"},
		{"url escaped", `{"url":"https://example.com/","sink":{"type":"sse"},"\u0075rl":"https://example.org/"}`, 400, "url", "more than once"},
		{"sink twice", `{"url":"https://example.com/","sink":{"type":"sse"},"sink":null}`, 400, "sink", "more than once"},
		{"type of the sink twice", `{"url":"https://example.com/","sink":{"type":"sse","type":"webhook"}}`, 400, "sink.type", "more than once"},
		{"two objects", sseBody + sseBody, 400, "", "something follows"},
		{"trailing text", sseBody + " x", 400, "", "something follows"},
		{"key in the body", `{"url":"https://example.com/","sink":{"type":"sse"},"key":"k"}`, 400, "key", "Idempotency-Key"},
		{"deep arrays", `{"url":` + strings.Repeat("[", 20000), 400, "", "depth"},
		{"deep objects", `{"sink":` + strings.Repeat(`{"a":`, 11000), 400, "", "depth"},
		{"NUL", "\x00", 400, "", "at byte 1"},
		{"invalid UTF-8", "{\"url\":\"https://example.com/\xff\",\"sink\":{\"type\":\"sse\"}}", 400, "", "UTF-8"},
		{"64 KiB", `{"url":"` + strings.Repeat("x", 64<<10-10) + `"}`, 400, "url", "longer than 8192"},
		{"64 KiB and one", `{"url":"` + strings.Repeat("x", 64<<10-9) + `"}`, 413, "", "longer than 65536"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := newServer(t, &fakeNode{}, server.Config{})
			w := serve(s, request("POST", "/v1/subscriptions", test.body))
			wantProblem(t, w, test.status, test.field, test.detail)
		})
	}
}

var spaces = strings.Repeat(" ", 64<<10)

// endless is a body without end that counts what is taken of it.
type endless struct{ taken int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, spaces)
	e.taken += int64(n)
	return n, nil
}

// Row 36: of a body of 1 GiB no more is read than may be long.
func TestRow36LargeBody(t *testing.T) {
	s, registry := newServer(t, &fakeNode{}, server.Config{})
	for _, declared := range []int64{1 << 30, -1} {
		body := &endless{}
		r := httptest.NewRequest("POST", "http://localhost/v1/subscriptions", io.LimitReader(body, 1<<30))
		r.ContentLength = declared
		wantProblem(t, serve(s, r), http.StatusRequestEntityTooLarge, "", "body longer than")
		if body.taken > 128<<10 {
			t.Errorf("declared %d: read %d bytes", declared, body.taken)
		}
	}
	if got := counted(t, registry, "corona_http_requests_total", "413"); got != 2 {
		t.Errorf("counted %v, want 2", got)
	}
}

// slowBody sends a header that declares 100 bytes, and half of them at last.
func slowBody(t *testing.T, listener *pipeListener, wait time.Duration) *http.Response {
	t.Helper()
	conn, err := listener.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := fmt.Sprintf("%-100s", sseBody)
	fmt.Fprintf(conn, "POST /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n%s", body[:50])
	rest := time.AfterFunc(wait, func() { io.WriteString(conn, body[50:]) })
	t.Cleanup(func() { rest.Stop() })
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Row 37: a slow body has 30 s and takes nothing from the node's time; a slower
// one is answered 408.
func TestRow37SlowBody(t *testing.T) {
	for wait, want := range map[time.Duration]int{20 * time.Second: http.StatusCreated, time.Minute: http.StatusRequestTimeout} {
		synctest.Test(t, func(t *testing.T) {
			node := &fakeNode{subscribeHook: func(ctx context.Context, requests []api.SubscribeRequest) []api.SubscribeOutcome {
				time.Sleep(4 * time.Second)
				if ctx.Err() != nil {
					t.Error("the node's time was over")
				}
				return echo(ctx, requests)
			}}
			s, _ := newServer(t, node, server.Config{})
			listener := newPipeListener()
			run(t, s, listener)
			response := slowBody(t, listener, wait)
			if content := drain(response.Body); response.StatusCode != want {
				t.Errorf("status %d after %s, want %d: %s", response.StatusCode, wait, want, content)
			}
		})
	}
}

func TestBrokenBody(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	body := io.MultiReader(strings.NewReader(`{"url":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	wantProblem(t, serve(s, httptest.NewRequest("POST", "http://localhost/v1/subscriptions", body)), 400, "", "broke off")
}

// Row 40: URLs that must not be polled, and such that are none.
func TestRow40BadURL(t *testing.T) {
	tests := []struct{ url, detail string }{
		{"http://127.0.0.1/", "not allowed"},
		{"http://127.1/", "not allowed"},
		{"http://2130706433/", "not allowed"},
		{"http://0x7f000001/", "not allowed"},
		{"http://10.0.0.1/feed", "not allowed"},
		{"http://169.254.169.254/latest/meta-data/", "not allowed"},
		{"http://[::1]/", "not allowed"},
		{"http://[::ffff:127.0.0.1]/", "not allowed"},
		{"http://[64:ff9b::7f00:1]/", "not allowed"},
		{"http://localhost:8410/", "--allow-private"},
		{"http://a.localhost/", "not allowed"},
		{"http://ⓛocalhost/", "not allowed"}, // circled letters are letters (UTS 46)
		{"http://１２７.0.0.1/", "not allowed"}, // so are wide digits
		{"http://127。0。0。1/", "not allowed"}, // and ideographic stops
		{"https://example.com:22/", "port 22"},
		{"https://example.com:6379/", "port 6379"},
		{"https://user:pass@example.com/", "user name"},
		{"https://example.com@10.0.0.1/", "user name"},
		{"https://example.com/\r\nHost: x", "control character"},
		{"https://example.com/%0d\u2028", "control character"},
		{"https://exa mple.com/", "space"},
		{"https://ex\u202eample.com/", "host"},
		{"https://\u0301.com/", "host"},
		{"https://" + strings.Repeat("a", 64) + ".com/", "63 bytes"},
		{"https://example.com/" + strings.Repeat("a", 8192), "longer than"},
		{"https:///feed", "no host"},
		{"file:///etc/passwd", "only http and https"},
		{"gopher://example.com/", "only http and https"},
		{"example.com/feed", "no scheme"},
		{"https://example.com:99999/", "port"},
	}
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for _, test := range tests {
		t.Run(test.url[:min(len(test.url), 40)], func(t *testing.T) {
			channel := jsonText(map[string]any{"url": test.url, "sink": map[string]string{"type": "sse"}})
			wantProblem(t, serve(s, request("POST", "/v1/subscriptions", channel)), 400, "url", test.detail)
			sink := jsonText(map[string]any{"url": feed, "sink": map[string]string{"type": "webhook", "url": test.url}})
			wantProblem(t, serve(s, request("POST", "/v1/subscriptions", sink)), 400, "sink.url", test.detail)
		})
	}
}

func TestAllowPrivate(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{AllowPrivate: true})
	body := `{"url":"http://127.0.0.1:9100/a","sink":{"type":"webhook","url":"http://localhost:9000/"}}`
	if w := serve(s, request("POST", "/v1/subscriptions", body)); w.Code != http.StatusCreated {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	wantProblem(t, serve(s, request("POST", "/v1/subscriptions", strings.Replace(body, "9100", "22", 1))), 400, "url", "port 22")
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 2000)
	zero := strings.Repeat("0", 40)
	tests := []struct {
		method, target string
		header         []string
		status         int
		field, detail  string
	}{
		{"GET", "/nothing", nil, 404, "", "/nothing"},
		{"GET", "/v1", nil, 404, "", "/v1"},
		{"GET", "/page/none.js", nil, 404, "", "no such file"},
		{"GET", "/v1/channels/", nil, 404, "", ""},
		{"GET", "/v1/../etc/passwd", nil, 404, "", ""},
		{"POST", "/v2/subscriptions", nil, 404, "", ""},
		{"PUT", "/v1/subscriptions", nil, 405, "", "GET, HEAD, POST"},
		{"DELETE", "/v1/channels/" + zero, nil, 405, "", "GET, HEAD"},
		{"PUT", "/v1/channels/" + zero + ":forget", nil, 405, "", "POST"},
		{"PUT", "/v1/subscriptions/sub_1", nil, 405, "", "DELETE, GET, HEAD"},
		{"PUT", "/v1/subscriptions/sub_1:test", nil, 405, "", "POST"},
		{"OPTIONS", "/v1/updates", nil, 405, "", "GET, HEAD"},
		{"POST", "/metrics", nil, 405, "", "GET, HEAD"},
		{"POST", "/", nil, 405, "", "GET, HEAD"},

		{"GET", "/v1/subscriptions?limit=0", nil, 400, "limit", "from 1 to 1000"},
		{"GET", "/v1/subscriptions?limit=1001", nil, 400, "limit", "from 1 to 1000"},
		{"GET", "/v1/subscriptions?limit=-5", nil, 400, "limit", ""},
		{"GET", "/v1/subscriptions?limit=", nil, 400, "limit", ""},
		{"GET", "/v1/subscriptions?limit=ten", nil, 400, "limit", ""},
		{"GET", "/v1/subscriptions?limit=1&limit=2", nil, 400, "limit", "more than once"},
		{"GET", "/v1/subscriptions?after=" + long, nil, 400, "after", "longer than"},
		{"GET", "/v1/subscriptions?after=x", nil, 400, "after", ""},
		{"GET", "/v1/subscriptions?channel=https://example.com/", nil, 400, "channel", "40 hex digits"},
		{"GET", "/v1/subscriptions?chanel=" + zero, nil, 400, "chanel", "limit, after, channel"},
		{"GET", "/v1/subscriptions?a;b", nil, 400, "", "malformed query"},
		{"GET", "/v1/subscriptions/x?limit=1", nil, 400, "limit", "none"},
		{"POST", "/v1/subscriptions?url=x", nil, 400, "url", ""},
		{"POST", "/v1/subscriptions:batch?url=x", nil, 400, "url", ""},
		{"GET", "/v1/channels?after=AQ", nil, 400, "after", "next"},
		{"GET", "/v1/channels?after=!", nil, 400, "after", "next"},
		{"GET", "/v1/channels?url=nonsense", nil, 400, "url", "no scheme"},
		{"GET", "/v1/channels?url=", nil, 400, "url", "no scheme"},
		{"GET", "/v1/channels?url=https://example.com/" + strings.Repeat("x", 9000), nil, 400, "url", "longer"},
		{"GET", "/v1/channels/" + zero[:39], nil, 400, "id", "40 hex digits"},
		{"GET", "/v1/channels/" + zero[:39] + "g", nil, 400, "id", ""},
		{"GET", "/v1/channels/" + zero, nil, 404, "", ""},
		{"GET", "/v1/channels/" + zero + "/updates?after=-1", nil, 400, "after", "version"},
		{"GET", "/v1/channels/" + zero + "/updates?after=18446744073709551616", nil, 400, "after", "version"},
		{"GET", "/v1/updates?channel=x", nil, 400, "channel", ""},
		{"GET", "/v1/updates?subscription=", nil, 400, "subscription", ""},
		{"GET", "/v1/updates?subscription=" + long, nil, 400, "subscription", ""},
		{"GET", "/v1/updates?" + strings.Repeat("subscription=a&", 501), nil, 400, "channel", "more than 500"},
		{"GET", "/v1/updates?last_event_id=" + strings.Repeat("c", 22<<10+1), nil, 400, "last_event_id", ""},
		{"GET", "/v1/updates", []string{"Last-Event-ID", strings.Repeat("c", 22<<10+1)}, 400, "Last-Event-ID", ""},
		{"GET", "/v1/status?pretty", nil, 400, "pretty", ""},

		{"POST", "/v1/subscriptions", []string{"Idempotency-Key", ""}, 400, "Idempotency-Key", "one key"},
		{"POST", "/v1/subscriptions", []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, 400, "Idempotency-Key", "one key"},
		{"POST", "/v1/subscriptions", []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, "Idempotency-Key", "255 bytes"},
		{"POST", "/v1/subscriptions", []string{"Idempotency-Key", "ä"}, 400, "Idempotency-Key", "ASCII"},
		{"POST", "/v1/subscriptions:batch", []string{"Idempotency-Key", "a"}, 400, "Idempotency-Key", "each line"},
		{"POST", "/v1/subscriptions", []string{"Content-Type", "application/xml"}, 415, "", "want application/json"},
		{"POST", "/v1/subscriptions", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415, "", ""},
		{"POST", "/v1/subscriptions:batch", []string{"Content-Type", "text/csv"}, 415, "", ""},
		{"POST", "/v1/subscriptions", []string{"Content-Encoding", "gzip"}, 415, "", "uncompressed"},
	}
	s, registry := newServer(t, &fakeNode{}, server.Config{})
	for _, test := range tests {
		t.Run(test.method+" "+test.target[:min(len(test.target), 60)], func(t *testing.T) {
			w := serve(s, request(test.method, test.target, sseBody, test.header...))
			if allow := w.Header().Get("Allow"); (test.status == 405) != (allow != "") || !strings.Contains(test.detail, allow) {
				t.Errorf("Allow %q", allow)
			}
			wantProblem(t, w, test.status, test.field, test.detail)
		})
	}
	if got := counted(t, registry, "corona_http_requests_total", "none"); got == 0 {
		t.Error("requests without a route are not counted")
	}
}

// Whatever a tool calls JSON by default is taken.
func TestContentTypes(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for _, contentType := range []string{
		"", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.api+json", "text/json",
		"application/x-ndjson", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/octet-stream",
	} {
		r := request("POST", "/v1/subscriptions", sseBody)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if w := serve(s, r); w.Code != http.StatusCreated {
			t.Errorf("%q: status %d: %s", contentType, w.Code, w.Body)
		}
	}
}

func TestBadSinks(t *testing.T) {
	webhook := func(fields string) string {
		return `{"url":"` + feed + `","sink":{"type":"webhook","url":"https://h.example/"` + fields + `}}`
	}
	tests := []struct{ name, body, field, detail string }{
		{"none", `{"url":"` + feed + `"}`, "sink.type", "missing"},
		{"xmpp", `{"url":"` + feed + `","sink":{"type":"xmpp"}}`, "sink.type", "this version delivers to sse and webhook sinks"},
		{"feed", `{"url":"` + feed + `","sink":{"type":"feed"}}`, "sink.type", "this version delivers to sse and webhook sinks"},
		{"unknown", `{"url":"` + feed + `","sink":{"type":"smtp"}}`, "sink.type", `"smtp"`},
		{"sse with URL", `{"url":"` + feed + `","sink":{"type":"sse","url":"https://h.example/"}}`, "sink.url", "sse"},
		{"sse with secret", `{"url":"` + feed + `","sink":{"type":"sse","secret":"` + secret + `"}}`, "sink.secret", "sse"},
		{"webhook without URL", `{"url":"` + feed + `","sink":{"type":"webhook"}}`, "sink.url", "missing"},
		{"webhook on feed:", `{"url":"` + feed + `","sink":{"type":"webhook","url":"Feed://h.example/"}}`, "sink.url", "http or https"},
		{"secret without prefix", webhook(`,"secret":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"`), "sink.secret", "whsec_"},
		{"secret not base64", webhook(`,"secret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI!"`), "sink.secret", "base64"},
		{"secret with line end", webhook(`,"secret":"whsec_MDEyMzQ1Njc4OTAx\nMjM0NTY3ODkwMTIz"`), "sink.secret", "base64"},
		{"secret of 23 bytes", webhook(`,"secret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="`), "sink.secret", "23 bytes"},
		{"secret of 65 bytes", webhook(`,"secret":"whsec_` + strings.Repeat("MDEy", 21) + `MDE="`), "sink.secret", "65 bytes"},
	}
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := serve(s, request("POST", "/v1/subscriptions", test.body))
			if bytes.Contains(w.Body.Bytes(), []byte("MDEy")) {
				t.Errorf("the answer repeats the secret: %s", w.Body)
			}
			wantProblem(t, w, 400, test.field, test.detail)
		})
	}
}
