package fetcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-91e7e7c1/corona/channel"
)

func TestResolve(t *testing.T) {
	const base = "https://example.com/a/b?q=1"
	tests := []struct{ location, want string }{
		{"/c", "https://example.com/c"},
		{"c", "https://example.com/a/c"},
		{"../../../c", "https://example.com/c"},
		{"?q=2", "https://example.com/a/b?q=2"},
		{"//other.example/c", "https://other.example/c"},
		{"HTTP://OTHER.example:80/a/../c#top", "http://other.example/c"},
		{"https://bücher.example/ä b", "https://xn--bcher-kva.example/%C3%A4%20b"},
		{"/c d/e?q=f g", "https://example.com/c%20d/e?q=f%20g"},
		{"/c?q=%20&r=f  g", "https://example.com/c?q=%20&r=f%20%20g"},
		{"  /c ", "https://example.com/c"},
		{"https://other.example/c d", "https://other.example/c%20d"},
		{"https://exa mple.com/", ""},
		{"#top", base},
		{"", ""},
		{"ftp://example.com/", ""},
		{"file:///etc/passwd", ""},
		{"javascript:alert(1)", ""},
		{"https://user:password@example.com/", ""},
		{"https://exa\x01mple.com/", ""},
		{"http://[::1/", ""},
		{"/" + strings.Repeat("x", channel.MaxURL), ""},
	}
	for _, test := range tests {
		got, err := resolve(base, test.location)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("resolve(%.80q) = %q, %v; want %q", test.location, got, err, test.want)
		}
		if err != nil && classify(t.Context(), err) != Redirect {
			t.Errorf("resolve(%.80q): class of %v", test.location, err)
		}
	}
}

// FuzzResolve holds that a Location can only lead to a canonical URL: one that
// can be asked for, and whose host is the one that was checked.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"/c", "//h/%2e", "http://a@b/", "http:c", "\\\\h\\x", "http://h\\@x/", "?", "http://[::1]:80/", "http://h:/x", "https:///x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, location string) {
		got, err := resolve("https://example.com/a/b?q=1", location)
		if err != nil {
			if got != "" || classify(t.Context(), err) != Redirect {
				t.Fatalf("resolve(%q) = %q, %v", location, got, err)
			}
			return
		}
		if again, err := channel.Canonical(got); err != nil || again != got {
			t.Fatalf("resolve(%q) = %q, which is not canonical: %q, %v", location, got, again, err)
		}
		if a, err := parseURL(got); err != nil || a.origin+a.target != got {
			t.Fatalf("resolve(%q) = %q: %+v, %v", location, got, a, err)
		}
	})
}

// TestRedirects is row 13, and what redirects may do.
func TestRedirects(t *testing.T) {
	chain := func(hops int) func(string) string { // /0 leads to /1, to /2, … to /hops
		return func(path string) string {
			var at int
			if _, err := fmt.Sscanf(path, "/%d", &at); err != nil || at == hops {
				return ""
			}
			return fmt.Sprintf("/%d", at+1)
		}
	}
	constant := func(location string) func(string) string { return func(string) string { return location } }
	tests := []struct {
		name     string
		status   int
		location func(path string) string // "": answered with 200
		want     string                   // the final URL, or the class of the failure
		asked    int
	}{
		{"13 five hops", 302, chain(5), "http://feeds.example/5", 6},
		{"13 six hops", 302, chain(6), "redirect", 6},
		{"13 loop of one", 301, constant("/0"), "redirect", 1},
		{"13 loop of two", 301, func(path string) string { return map[string]string{"/0": "/1", "/1": "http://FEEDS.example/0#x"}[path] }, "redirect", 2},
		{"301", 301, chain(1), "http://feeds.example/1", 2},
		{"303", 303, chain(1), "http://feeds.example/1", 2},
		{"307", 307, chain(1), "http://feeds.example/1", 2},
		{"308", 308, chain(1), "http://feeds.example/1", 2},
		{"no Location", 302, constant("\r\nX: "), "redirect", 1},
		{"14 file", 302, constant("file:///etc/passwd"), "redirect", 1},
		{"14 gopher", 302, constant("gopher://feeds.example:70/x"), "redirect", 1},
		{"no such host", 302, constant("http://nowhere.example/"), "dns", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := redirector{status: test.status, location: test.location}
				n, _ := memory(t, r.handle)
				f := newTestFetcher(t, Config{Dial: n.dial})
				resp, last, err := followed(t.Context(), f, Request{URL: "http://feeds.example/0"})
				var got string
				var failed *Error
				switch {
				case errors.As(err, &failed):
					got = failed.Class.String()
				case err != nil:
					t.Fatal(err)
				default:
					got = last
					if resp.Status != 200 || string(resp.Body) != "body" {
						t.Errorf("status %d, body %q", resp.Status, resp.Body)
					}
					resp.Release()
				}
				if asked := r.asked(); got != test.want || len(asked) != test.asked {
					t.Errorf("%s after %q: %v; want %s after %d", got, asked, err, test.want, test.asked)
				}
			})
		})
	}
}

// TestValidatorsAreTheirResources holds that validators go to the URL that gave
// them and to no other, wherever redirects lead.
func TestValidatorsAreTheirResources(t *testing.T) {
	tests := []struct {
		validatorURL string
		want         []string // the paths asked, with * where the request was conditional
	}{
		{"", []string{"/0*", "/1"}},
		{"http://feeds.example/0", []string{"/0*", "/1"}},
		{"http://feeds.example/1", []string{"/0", "/1*"}},
		{"http://feeds.example/moved", []string{"/0", "/1"}},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			r := redirector{status: 302, location: func(path string) string { return map[string]string{"/0": "/1"}[path] }}
			n, _ := memory(t, r.handle)
			f := newTestFetcher(t, Config{Dial: n.dial})
			resp, _, err := followed(t.Context(), f, Request{
				URL: "http://feeds.example/0", ETag: `"1"`, LastModified: "today", ValidatorURL: cmp.Or(test.validatorURL, "http://feeds.example/0"),
			})
			if err != nil {
				t.Fatal(err)
			}
			resp.Release()
			if asked := r.asked(); !slices.Equal(asked, test.want) {
				t.Errorf("validators of %q: asked %q; want %q", test.validatorURL, asked, test.want)
			}
		})
	}
}

// followed asks for a URL and wherever redirects lead, as callers may. It returns
// the URL that answered.
func followed(ctx context.Context, f *Fetcher, req Request) (*Response, string, error) {
	for {
		resp, err := f.Fetch(ctx, req)
		if err != nil || resp.Location == "" {
			return resp, req.URL, err
		}
		req.Trail = append(req.Trail, req.URL)
		req.URL = resp.Location
		resp.Release()
	}
}

// redirector is an origin that redirects and remembers what it was asked.
type redirector struct {
	status   int
	location func(path string) string

	mu    sync.Mutex
	paths []string
}

func (r *redirector) handle(s *side) {
	for {
		head := s.request()
		if head == "" {
			return
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(head, "GET "), " ")
		r.note(path, head)
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
		if to := r.location(path); to != "" {
			answer = fmt.Sprintf("HTTP/1.1 %d Elsewhere\r\nLocation: %s\r\nContent-Length: 5\r\n\r\nthere", r.status, to)
		}
		if _, err := s.Write([]byte(answer)); err != nil {
			return
		}
	}
}

func (r *redirector) note(path, head string) {
	if strings.Contains(head, "If-None-Match: \"1\"\r\nIf-Modified-Since: today\r\n") {
		path += "*"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths = append(r.paths, path)
}

func (r *redirector) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.paths)
}
