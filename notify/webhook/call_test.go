package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/seed-91e7e7c1/corona/channel"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// realCaller calls over real connections, to loopback.
func realCaller(t *testing.T, allowPrivate bool) *caller {
	c := newCaller(Config{AllowPrivate: allowPrivate, UserAgent: "Corona/test", Timeout: 5 * time.Second, EndpointParallel: 1})
	t.Cleanup(c.close)
	return c
}

func endpointOn(t *testing.T, handler http.HandlerFunc) (*httptest.Server, channel.Subscription) {
	server := httptest.NewServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	return server, channel.Subscription{ID: "sub_1", Channel: channel.IDOf("http://origin.example/"), Sink: channel.Sink{Type: channel.SinkWebhook, URL: server.URL}}
}

func TestCallIsSigned(t *testing.T) {
	var checked error
	var got http.Header
	_, sub := endpointOn(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		wh, err := standardwebhooks.NewWebhook(testSecret)
		if err == nil {
			err = wh.Verify(body, r.Header)
		}
		checked, got = err, r.Header
		w.WriteHeader(http.StatusNoContent)
	})
	m := message{id: "sub_1-2", body: []byte(`{"type":"x"}`)}
	for _, secret := range []string{testSecret, ""} {
		sub.Sink.Secret = secret
		if err := realCaller(t, true).call(t.Context(), sub, m); err != nil {
			t.Fatal(err)
		}
		if signed := checked == nil; signed != (secret != "") {
			t.Errorf("secret %q: verification says %v", secret, checked)
		}
		if got.Get("Webhook-Id") != m.id || got.Get("Content-Type") != "application/json" || got.Get("User-Agent") != "Corona/test" {
			t.Errorf("headers %v", got)
		}
	}
	sub.Sink.Secret = "whsec_???"
	err := realCaller(t, true).call(t.Context(), sub, m)
	if failure := new(CallError); !errors.As(err, &failure) || failure.Class != ClassSecret || strings.Contains(err.Error(), "???") {
		t.Errorf("bad secret: %v", err)
	}
}

func TestCallClasses(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(code)
		}
	}
	broken := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, buffer, err := w.(http.Hijacker).Hijack()
			if err == nil {
				buffer.WriteString(answer)
				buffer.Flush()
				conn.Close()
			}
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    Class // empty: acknowledged
	}{
		{"200", status(200), ""},
		{"204", status(204), ""},
		{"row 47: 301", status(301), ClassRedirect},
		{"row 47: 308", status(308), ClassRedirect},
		{"row 48: 410", status(410), ClassGone},
		{"404", status(404), ClassStatus},
		{"503", status(503), ClassStatus},
		{"101", func(w http.ResponseWriter, r *http.Request) {
			conn, buffer, err := w.(http.Hijacker).Hijack()
			if err == nil {
				buffer.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
				buffer.Flush()
				t.Cleanup(func() { conn.Close() })
			}
		}, ClassStatus},
		{"reset before an answer", broken(""), ClassBroken},
		{"row 46: 200 and cut", broken("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nthank"), ClassBroken},
		{"not HTTP", broken("220 smtp.example\r\n"), ClassBroken},
		{"200 that takes too long", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ClassTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, sub := endpointOn(t, test.handler)
			caller := realCaller(t, true)
			caller.timeout = 300 * time.Millisecond
			expectClass(t, caller.call(t.Context(), sub, message{id: "1"}), test.want)
		})
	}
}

func expectClass(t *testing.T, err error, want Class) {
	t.Helper()
	var failure *CallError
	if errors.As(err, &failure); want == "" && err != nil || want != "" && (failure == nil || failure.Class != want) {
		t.Errorf("call: %v, want class %q", err, want)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		status      int
		value, date string
		want        time.Duration
	}{
		{429, "120", "", 2 * time.Minute},
		{503, "120", "", 2 * time.Minute},
		{500, "120", "", 0},
		{200, "120", "", 0},
		{429, "", "", 0},
		{429, "0", "", 0},
		{429, "-1", "", 0},
		{429, "soon", "", 0},
		{429, "1.5", "", 0},
		{429, "86401", "", 24 * time.Hour},
		{429, "1000000000000", "", 24 * time.Hour},
		{429, "99999999999999999999999999", "", 24 * time.Hour},
		{429, "Fri, 20 Nov 2026 12:01:00 GMT", "", time.Minute},
		{429, "Friday, 20-Nov-26 12:01:00 GMT", "", time.Minute},
		{429, "Fri Nov 20 12:01:00 2026", "", time.Minute},
		{429, "Fri, 20 Nov 2026 11:59:00 GMT", "", 0},
		{429, "Fri, 31 Dec 9999 23:59:59 GMT", "", 24 * time.Hour},
		{429, "Mon, 01 Jan 0001 00:00:00 GMT", "", 0},
		{429, "Thu, 01 Jan 1970 00:01:30 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", 90 * time.Second}, // a clock of its own
	} {
		header := http.Header{"Retry-After": {test.value}, "Date": {test.date}}
		if got := retryAfter(&http.Response{StatusCode: test.status, Header: header}, now); got != test.want {
			t.Errorf("%d, %q at %q: %s, want %s", test.status, test.value, test.date, got, test.want)
		}
	}
}

// What time alone does not mend is not worth a repeat.
func TestCallErrorMends(t *testing.T) {
	for failure, want := range map[CallError]bool{
		{Class: ClassGone, Status: 410}: false, {Class: ClassStatus, Status: 404}: false, {Class: ClassRedirect, Status: 301}: false,
		{Class: ClassForbidden}: false, {Class: ClassSecret}: false,
		{Class: ClassStatus, Status: 429}: true, {Class: ClassStatus, Status: 500}: true, {Class: ClassStatus, Status: 503}: true,
		{Class: ClassTimeout}: true, {Class: ClassConnect}: true, {Class: ClassDNS}: true, {Class: ClassTLS}: true, {Class: ClassBroken}: true,
	} {
		if got := failure.Mends(); got != want {
			t.Errorf("%+v: %v", failure, got)
		}
	}
}

func TestCallUnreachable(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	sub := channel.Subscription{Sink: channel.Sink{URL: "http://" + free.Addr().String() + "/"}}
	expectClass(t, realCaller(t, true).call(t.Context(), sub, message{}), ClassConnect)

	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	sub.Sink.URL = server.URL // its certificate is its own
	expectClass(t, realCaller(t, true).call(t.Context(), sub, message{}), ClassTLS)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expectClass(t, realCaller(t, true).call(ctx, sub, message{}), ClassCanceled)

	for err, want := range map[error]Class{
		&net.OpError{Op: "dial", Err: &net.DNSError{Name: "no.example"}}: ClassDNS,
		&net.OpError{Op: "read", Err: io.EOF}:                            ClassBroken,
		fmt.Errorf("tls: %w", tls.AlertError(40)):                        ClassTLS,
	} {
		if got := classify(t.Context(), err); got != want {
			t.Errorf("classify(%v) = %q, want %q", err, got, want)
		}
	}
}

func TestRow49EndlessAnswerIsCut(t *testing.T) {
	var written atomic.Int64
	done := make(chan struct{})
	_, sub := endpointOn(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		chunk := bytes.Repeat([]byte("x"), 4096)
		for r.Context().Err() == nil {
			n, err := w.Write(chunk)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	if err := realCaller(t, true).call(t.Context(), sub, message{}); err != nil {
		t.Errorf("an endless 200: %v", err)
	}
	<-done // the connection was closed, not drained
	// What the kernel's buffers took was sent, but not read by us.
	if n := written.Load(); n > 32<<20 {
		t.Errorf("the endpoint could send %d bytes", n)
	}
}

func TestRow50PrivateAddressGetsNothing(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	defer server.Close()
	var sub channel.Subscription
	for _, sink := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		sub.Sink.URL = sink
		expectClass(t, realCaller(t, false).call(t.Context(), sub, message{}), ClassForbidden)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections reached the endpoint", n)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	target, _ := endpointOn(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	_, sub := endpointOn(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL, http.StatusTemporaryRedirect)
	})
	expectClass(t, realCaller(t, true).call(t.Context(), sub, message{}), ClassRedirect)
	if followed.Load() {
		t.Error("the redirect was followed")
	}
}
