package server_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

const (
	tokenA = "0123456789abcdef"
	tokenB = "Zm9vYmFyYmF6cXV4cXV1eA=="
)

func tokens(t testing.TB, texts ...string) server.Tokens {
	t.Helper()
	parsed, err := server.ParseTokens(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Row 39: what needs a token, and what a token that is missing, foreign or
// guessed is answered with.
func TestRow39PathsAndTokens(t *testing.T) {
	zero := strings.Repeat("0", 40)
	paths := []struct {
		method, target string
		open           bool
		status         int // with a right token
	}{
		{"GET", "/healthz", true, 200},
		{"GET", "/readyz", true, 200},
		{"GET", "/", true, 200},
		{"GET", "/favicon.ico", true, 200},
		{"GET", "/page/app.js", true, 200},
		{"HEAD", "/page/app.js", true, 200},

		{"GET", "/metrics", false, 200},
		{"GET", "/debug/pprof/", false, 200},
		{"GET", "/debug/pprof/goroutine", false, 200},
		{"POST", "/v1/subscriptions", false, 201},
		{"POST", "/v1/subscriptions:batch", false, 200},
		{"GET", "/v1/subscriptions", false, 200},
		{"GET", "/v1/subscriptions/x", false, 404},
		{"DELETE", "/v1/subscriptions/x", false, 404},
		{"POST", "/v1/subscriptions/x:test", false, 404},
		{"GET", "/v1/channels", false, 200},
		{"GET", "/v1/channels/" + zero, false, 404},
		{"GET", "/v1/channels/" + zero + "/explain", false, 404},
		{"POST", "/v1/channels/" + zero + ":forget", false, 404},
		{"GET", "/v1/channels/" + zero + "/updates", false, 200},
		{"HEAD", "/v1/updates", false, 200},
		{"GET", "/v1/status", false, 200},

		{"GET", "/nothing", false, 404},
		{"PUT", "/healthz", false, 405},
		{"OPTIONS", "/v1/status", false, 405},
		{"GET", "/page/../v1/status", false, 307},
		{"GET", "/page/%2e%2e/v1/status", false, 404},
		{"GET", "//v1/status", false, 307},
		{"GET", "/healthz/", false, 404},
	}
	const missing, wrong = `Bearer realm="corona"`, `Bearer realm="corona", error="invalid_token"`
	credentials := []struct {
		name      string
		header    []string
		challenge string // of the refusal; empty: not refused
	}{
		{"none", nil, missing},
		{"right", []string{"Authorization", "Bearer " + tokenA}, ""},
		{"right, the other", []string{"Authorization", "bearer  " + tokenB}, ""},
		{"foreign", []string{"Authorization", "Bearer fedcba9876543210"}, wrong},
		{"guessed, a start", []string{"Authorization", "Bearer " + tokenA[:15]}, wrong},
		{"guessed, and more", []string{"Authorization", "Bearer " + tokenA + "0"}, wrong},
		{"both in one", []string{"Authorization", "Bearer " + tokenA + "," + tokenB}, wrong},
		{"other case", []string{"Authorization", "Bearer " + strings.ToUpper(tokenA)}, wrong},
		{"empty", []string{"Authorization", "Bearer "}, missing},
		{"no scheme", []string{"Authorization", tokenA}, missing},
		{"Basic", []string{"Authorization", "Basic " + tokenB}, missing},
		{"twice", []string{"Authorization", "Bearer " + tokenA, "Authorization", "Bearer " + tokenA}, missing},
		{"as a cookie", []string{"Cookie", "Authorization=Bearer " + tokenA}, missing},
	}
	for _, credential := range credentials {
		// One server for each: what one guesses must not count against another.
		for _, path := range paths {
			t.Run(credential.name+" "+path.method+" "+path.target, func(t *testing.T) {
				s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA+"\n"+tokenB)})
				w := serve(s, request(path.method, path.target, sseBody, credential.header...))
				if path.open || credential.challenge == "" {
					if w.Code != path.status {
						t.Errorf("status %d, want %d: %s", w.Code, path.status, w.Body)
					}
					return
				}
				if got := w.Header().Get("WWW-Authenticate"); got != credential.challenge {
					t.Errorf("challenge %q, want %q", got, credential.challenge)
				}
				wantProblem(t, w, http.StatusUnauthorized, "", "token")
			})
		}
	}
}

// Row 39: a token in a URL is none: URLs are written into logs.
func TestRow39NoTokenInURL(t *testing.T) {
	s, registry := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	for _, target := range []string{"/v1/status?access_token=" + tokenA, "/v1/status?token=" + tokenA} {
		wantProblem(t, serve(s, request("GET", target, "")), http.StatusUnauthorized, "", "Authorization")
	}
	if got := counted(t, registry, "corona_http_unauthorized_total", "missing"); got != 2 {
		t.Errorf("counted %v, want 2", got)
	}
	if got := counted(t, registry, "corona_http_requests_total", "401", "GET /v1/status"); got != 2 {
		t.Errorf("counted %v requests by their route, want 2", got)
	}
}

// Row 39: where tokens are wanted, they are what keeps other sites' pages out, so
// that a proxy may pass on any name; a browser has no token to add by itself.
func TestRow39OtherSitesHaveNoToken(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	for _, theirs := range [][]string{
		{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		{"Origin", "http://corona.example"}, // our page, by a proxy over plain HTTP
		nil,
	} {
		r := request("POST", "/v1/subscriptions", sseBody, theirs...)
		r.Host = "corona.example"
		wantProblem(t, serve(s, r), http.StatusUnauthorized, "", "")
		r = request("POST", "/v1/subscriptions", sseBody, append(theirs, "Authorization", "Bearer "+tokenA)...)
		r.Host = "corona.example"
		if w := serve(s, r); w.Code != http.StatusCreated {
			t.Errorf("%v: status %d: %s", theirs, w.Code, w.Body)
		}
	}
	preflight := request("OPTIONS", "/v1/subscriptions", "", "Origin", "https://evil.example", "Access-Control-Request-Headers", "authorization")
	if w := serve(s, preflight); w.Code != http.StatusUnauthorized || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another site may send a token: status %d, %v", w.Code, w.Header())
	}
}

// Row 39: without tokens a node asks for none, and takes no offence at one.
func TestRow39WithoutTokens(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	for _, header := range [][]string{nil, {"Authorization", "Bearer x"}} {
		if w := serve(s, request("GET", "/v1/status", "", header...)); w.Code != http.StatusOK {
			t.Errorf("%v: status %d", header, w.Code)
		}
	}
}

func TestParseTokens(t *testing.T) {
	tests := []struct {
		texts []string
		want  string // "2 tokens", or a part of the error
	}{
		{[]string{tokenA}, "1 tokens"},
		{[]string{tokenA + "\n" + tokenB + "\n"}, "2 tokens"},
		{[]string{tokenA + ",\r\n " + tokenB + " ,"}, "2 tokens"},
		{[]string{tokenA, tokenB}, "2 tokens"},
		{[]string{strings.Repeat("x", 512)}, "1 tokens"},
		{nil, "no token: want at least one, of 16 characters"},
		{[]string{" \n, "}, "no token"},
		{[]string{"0123456789abcde"}, "token 1 of 1: 15 characters: want 16 at least"},
		{[]string{tokenA + "\nshort"}, "token 2 of 2: 5 characters"},
		{[]string{strings.Repeat("x", 513)}, "513 characters: want 512 at most"},
		{[]string{"0123456789abcdeä"}, "letters, digits"},
		{[]string{"0123456789\"abcdef"}, "letters, digits"},
		{[]string{"=0123456789abcdef"}, "letters, digits"},
		{[]string{strings.Repeat("=", 16)}, "letters, digits"},
		{[]string{strings.Repeat(tokenA+"\n", 65)}, "65 tokens: want at most 64"},
	}
	for _, test := range tests {
		parsed, err := server.ParseTokens(test.texts...)
		got := fmt.Sprint(parsed)
		if err != nil {
			got = err.Error()
			if parsed.Wanted() {
				t.Errorf("%q: tokens beside %v", test.texts, err)
			}
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%q: %s, want %q", test.texts, got, test.want)
		}
		for _, text := range test.texts {
			if word := strings.TrimSpace(text); len(word) > 4 && strings.Contains(got, word) {
				t.Errorf("shows the token: %s", got)
			}
		}
	}
}

// Row 39: tokens are compared in a time that tells nothing of them: by
// crypto/subtle alone, and all of them, whichever matches.
func TestRow39ComparesInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tokens.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var include *ast.FuncDecl
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "include" {
			include = f
		}
	}
	constant, loops := false, 0
	ast.Inspect(include, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			constant = constant || n.Sel.Name == "ConstantTimeCompare"
		case *ast.RangeStmt:
			loops++
			ast.Inspect(n.Body, func(node ast.Node) bool {
				switch node.(type) {
				case *ast.BranchStmt, *ast.ReturnStmt, *ast.IfStmt:
					t.Errorf("the comparison ends early: %T", node)
				}
				return true
			})
		}
		return true
	})
	if !constant || loops != 1 {
		t.Errorf("constant time: %v, in %d loops", constant, loops)
	}
}

// attempt asks with a token from an address and returns the status, and how long
// it took.
func attempt(t *testing.T, s http.Handler, from, token string) (status int, took time.Duration) {
	t.Helper()
	r := request("GET", "/v1/status", "", "Authorization", "Bearer "+token)
	r.RemoteAddr = from
	begun := time.Now()
	w := serve(s, r)
	if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	return w.Code, time.Since(begun)
}

// Row 39: who guesses from elsewhere is no longer heard, whatever he sends, but
// for one token a second. Requests from other addresses do not wait.
func TestRow39GuesserIsNotHeard(t *testing.T) {
	const guesser, other = "192.0.2.66:1000", "192.0.2.7:1000"
	synctest.Test(t, func(t *testing.T) {
		s, registry := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
		for i := range 20 {
			if status, took := attempt(t, s, guesser, fmt.Sprintf("guess%016d", i)); status != http.StatusUnauthorized || took > 0 {
				t.Fatalf("attempt %d: status %d after %s", i+1, status, took)
			}
		}
		if status, took := attempt(t, s, guesser, "guess"); status != http.StatusUnauthorized || took != time.Second {
			t.Errorf("attempt 21: status %d after %s", status, took)
		}
		var guessing sync.WaitGroup
		end := time.Now().Add(time.Minute)
		for range 10 { // at a time
			guessing.Go(func() {
				for time.Now().Before(end) {
					attempt(t, s, guesser, "guess")
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		for time.Now().Before(end) {
			if status, took := attempt(t, s, other, tokenA); status != http.StatusOK || took > 0 {
				t.Fatalf("another was answered %d after %s", status, took)
			}
			time.Sleep(10 * time.Millisecond)
		}
		guessing.Wait()
		if heard := counted(t, registry, "corona_http_unauthorized_total", "wrong"); heard < 21+20 || heard > 21+62 {
			t.Errorf("%v guesses were heard in a minute", heard-21)
		}
		if unread := counted(t, registry, "corona_http_unauthorized_total", "unread"); unread < 1000 {
			t.Errorf("%v guesses were refused unread", unread)
		}
		time.Sleep(41 * time.Second)
		if status, took := attempt(t, s, guesser, tokenA); status != http.StatusOK || took > 0 {
			t.Errorf("who stopped guessing is answered %d after %s", status, took)
		}
	})
}

// Row 39: a guesser cannot lock out those who share his address with him, be it
// by a proxy on this machine, or because they knew a token before.
func TestRow39GuesserHurtsNobody(t *testing.T) {
	for name, shared := range map[string]string{"loopback": "127.0.0.1:1000", "known": "192.0.2.7:1000", "known, IPv6": "[2001:db8::7]:1000"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
				if status, _ := attempt(t, s, shared, tokenA); status != http.StatusOK {
					t.Fatalf("status %d", status)
				}
				begun := time.Now()
				for range 50 {
					if status, _ := attempt(t, s, shared, "guess"); status != http.StatusUnauthorized {
						t.Fatalf("a guess is answered %d", status)
					}
					if status, took := attempt(t, s, shared, tokenA); status != http.StatusOK || took > 0 {
						t.Fatalf("a right token is answered %d after %s", status, took)
					}
				}
				if took := time.Since(begun); took < 25*time.Second {
					t.Errorf("50 guesses took %s", took)
				}
			})
		})
	}
}

// Row 39: guessers that wait for their answers take few connections, however
// many they open, and none waits for longer than he stays.
func TestRow39HeldAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, registry := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
		ctx, leave := context.WithCancel(t.Context())
		for range 40 {
			attempt(t, s, "127.0.0.1:1", "guess")
		}
		for range 200 {
			go func() {
				r := request("GET", "/v1/status", "", "Authorization", "Bearer guess").WithContext(ctx)
				r.RemoteAddr = "127.0.0.1:1"
				serve(s, r)
			}()
		}
		synctest.Wait()
		if got := counted(t, registry, "corona_http_requests_in_flight"); got != 64 {
			t.Errorf("%v answers are held back, want 64", got)
		}
		leave()
		synctest.Wait()
		if got := counted(t, registry, "corona_http_requests_in_flight"); got != 0 {
			t.Errorf("%v answers are held back for clients that left", got)
		}
	})
}

// Our own client sends the token with every call, streams and batches included.
func TestRow39Client(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	h := httptest.NewServer(s)
	defer h.Close()
	bare, err := api.NewClient(h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	client, err := bare.WithToken(tokenA)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(*api.Client) error{
		"status": func(c *api.Client) error { _, err := c.Status(t.Context()); return err },
		"subscribe": func(c *api.Client) error {
			_, err := c.Subscribe(t.Context(), api.SubscribeRequest{URL: feed, Sink: api.Sink{Type: api.SinkSSE}})
			return err
		},
		"stream": func(c *api.Client) error {
			stream, err := c.Stream(t.Context(), api.StreamFilter{}, "")
			if err == nil {
				stream.Close()
			}
			return err
		},
	}
	for name, call := range calls {
		if err := call(client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(bare); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("%s without a token: %v", name, err)
		}
	}
	for _, bad := range []string{"", "a b", "x\r\nHost: y", "ä"} {
		if _, err := bare.WithToken(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}
