package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/server"
)

// asset fetches a file of the page as a browser would.
func asset(t *testing.T, s http.Handler, target string) (content string, header http.Header) {
	t.Helper()
	w := serve(s, request("GET", target, ""))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d", target, w.Code)
	}
	return w.Body.String(), w.Header()
}

// pageFiles returns the page and every file of ours that it or its files name.
func pageFiles(t *testing.T, s http.Handler) map[string]string {
	t.Helper()
	named := regexp.MustCompile(`"(/page/[^"]+)"`)
	files := make(map[string]string)
	var visit func(target string)
	visit = func(target string) {
		if _, seen := files[target]; seen {
			return
		}
		files[target], _ = asset(t, s, target)
		for _, match := range named.FindAllStringSubmatch(files[target], -1) {
			visit(match[1])
		}
	}
	visit("/")
	if len(files) < 5 {
		t.Fatalf("the page has only %d files", len(files))
	}
	return files
}

func TestPage(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	types := map[string]string{"/": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	for target := range pageFiles(t, s) {
		_, header := asset(t, s, target)
		ending := target[strings.LastIndexAny(target, "/."):]
		if !strings.HasPrefix(header.Get("Content-Type"), types[ending]) || types[ending] == "" {
			t.Errorf("%s: Content-Type %q", target, header.Get("Content-Type"))
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if w := serve(s, request("GET", target, "", "If-None-Match", header.Get("ETag"))); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s: status %d with its ETag", target, w.Code)
		}
	}
	asset(t, s, "/favicon.ico")
}

// Row 34: content from outside cannot become markup or script: the page's code
// has no way to make any, and its policy forbids it.
func TestRow34PageEscapes(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	makesMarkup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|\beval\b|new Function|setTimeout\(["'` + "`" + `]`)
	inline := regexp.MustCompile(`<script[^>]*>[^<]|\son[a-z]+=|\sstyle=|<style|javascript:`)
	for target, content := range pageFiles(t, s) {
		if found := makesMarkup.FindString(content); found != "" {
			t.Errorf("%s has %s", target, found)
		}
		if found := inline.FindString(content); found != "" && !strings.HasSuffix(target, ".js") {
			t.Errorf("%s has inline code or style: %s", target, found)
		}
	}
	_, header := asset(t, s, "/")
	if !strings.Contains(header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'") {
		t.Error("the policy lets text become script")
	}
}

// The page needs no network: all that it loads is its own.
func TestPageIsSelfContained(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	outside := regexp.MustCompile(`(?:src|href|url\(|import|from|fetch\()\s*=?\s*["'(]?(?:https?:)?//`)
	for target, content := range pageFiles(t, s) {
		if found := outside.FindString(content); found != "" {
			t.Errorf("%s loads from outside: %s", target, found)
		}
	}
}

// Row 39: whatever the page asks, it asks with the token that it was given, which
// it keeps nowhere but in its tab. EventSource and links could not send one.
func TestRow39PageSendsToken(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{Tokens: tokens(t, tokenA)})
	elsewhere := regexp.MustCompile(`localStorage|document\.cookie|new EventSource|XMLHttpRequest|WebSocket|sendBeacon`)
	fetches := regexp.MustCompile(`fetch\(`)
	authorized := regexp.MustCompile(`authorized\(\(\w+\) => fetch\(`)
	asks := 0
	for target, content := range pageFiles(t, s) {
		if found := elsewhere.FindString(content); found != "" {
			t.Errorf("%s has %s", target, found)
		}
		asks += len(fetches.FindAllString(content, -1))
		if all, with := fetches.FindAllString(content, -1), authorized.FindAllString(content, -1); len(all) != len(with) {
			t.Errorf("%s asks %d times, with the token %d times", target, len(all), len(with))
		}
	}
	if asks == 0 {
		t.Error("the page asks for nothing")
	}
}

// What the page draws again and again it merges into what stands there: nodes that
// were replaced would lose the keyboard's focus, a selection and what was opened.
func TestPageKeepsFocus(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	files := pageFiles(t, s)
	for target, replaced := range map[string]int{"/page/channels.js": 0, "/page/detail.js": 1} { // once, when it opens
		if got := strings.Count(files[target], "replaceChildren("); got != replaced {
			t.Errorf("%s replaces what it has drawn in %d places, want %d", target, got, replaced)
		}
		if !strings.Contains(files[target], "merge(") {
			t.Errorf("%s merges nothing", target)
		}
	}
	all := regexp.MustCompile(`refreshAll = \(\) => Promise\.all\(\[[^\]]*refreshDetail\(\)`)
	if app := files["/page/app.js"]; !all.MatchString(app) || !regexp.MustCompile(`every\(\d+, refreshAll\)`).MatchString(app) {
		t.Error("the dialog does not follow its channel")
	}
}

// The page removes nothing without having asked.
func TestPageAsksBeforeItRemoves(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	removes, asks := regexp.MustCompile(`\bremove\([^)]`), regexp.MustCompile(`act: \(\) => remove\(`)
	some := 0
	for target, content := range pageFiles(t, s) {
		if target == "/page/api.js" {
			continue // where it is made
		}
		all, asked := len(removes.FindAllString(content, -1)), len(asks.FindAllString(content, -1))
		if all != asked {
			t.Errorf("%s removes in %d places, and asks in %d", target, all, asked)
		}
		some += asked
	}
	if some == 0 {
		t.Error("the page cannot unsubscribe")
	}
}

// A node with tokens may be reached over plain HTTP from other machines, where
// browsers lack what they keep for secure contexts.
func TestPageNeedsNoSecureContext(t *testing.T) {
	s, _ := newServer(t, &fakeNode{}, server.Config{})
	secureOnly := regexp.MustCompile(`crypto\.(randomUUID|subtle)|navigator\.(clipboard|serviceWorker|locks|storage)|new Notification|caches\.`)
	for target, content := range pageFiles(t, s) {
		if found := secureOnly.FindString(content); found != "" {
			t.Errorf("%s uses %s", target, found)
		}
	}
}
