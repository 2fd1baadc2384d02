package fetcher

import (
	"fmt"
	"strings"
	"testing"
)

func TestUserAgent(t *testing.T) {
	named := Config{Version: "1.2", Contact: "https://corona.example/bot"}
	tests := []struct {
		config      Config
		subscribers uint64
		want        string
	}{
		{Config{}, 0, "Corona"},
		{Config{}, 42, "Corona (42 subscribers)"},
		{Config{Version: "1.2"}, 42, "Corona/1.2 (42 subscribers)"},
		{Config{Contact: "mailto:a@b.example"}, 42, "Corona (+mailto:a@b.example; 42 subscribers)"},
		{named, 0, "Corona/1.2 (+https://corona.example/bot)"},
		{named, 9, "Corona/1.2 (+https://corona.example/bot)"},
		{named, 10, "Corona/1.2 (+https://corona.example/bot; 10 subscribers)"},
		{named, 1<<64 - 1, "Corona/1.2 (+https://corona.example/bot; 18446744073709551615 subscribers)"},
	}
	for _, test := range tests {
		c := newConstants(test.config)
		lines := strings.SplitAfter(string(c.append(nil, test.subscribers)), "\r\n")
		if want := "User-Agent: " + test.want + "\r\n"; lines[0] != want || len(lines) != 4 || lines[3] != "" {
			t.Errorf("%+v with %d: %q; want %q first of three", test.config, test.subscribers, lines, want)
		}
	}
}

// TestRequestAllocates holds that a request's head is built in the memory of the
// one before it.
func TestRequestAllocates(t *testing.T) {
	c := newConstants(Config{Version: "1.2", Contact: "https://corona.example/bot"})
	req := Request{URL: "http://feeds.example/feed", ETag: `"1"`, LastModified: "today", Subscribers: 123456789, Delta: true}
	buffer := make([]byte, 0, 1024)
	took := testing.AllocsPerRun(100, func() {
		a, err := parseURL(req.URL)
		if err != nil {
			t.Fatal(err)
		}
		buffer = c.appendRequest(buffer[:0], a, req.message())
	})
	if took != 0 {
		t.Errorf("%v allocations", took)
	}
}

// TestNothingElseIsSent holds that what an origin sets and says is not told to it
// again, beyond the validators: no cookies, no Referer, and no method but GET.
func TestNothingElseIsSent(t *testing.T) {
	heads := make(chan string, 2)
	o := listen(t, func(s *side) {
		for range 2 {
			heads <- s.answer("HTTP/1.1 301 Moved\r\nLocation: /next\r\nSet-Cookie: id=1; Path=/\r\nAccept-CH: DPR\r\nContent-Length: 0\r\n\r\n")
		}
	})
	f := newTestFetcher(t, Config{AllowPrivate: true})
	resp := mustFetch(t, f, o.url)
	mustFetch(t, f, resp.Location+"/again")
	first, second := <-heads, <-heads
	if want := strings.Replace(first, "GET /feed ", "GET /next/again ", 1); second != want || first == second {
		t.Errorf("sent\n%s\nand then\n%s", first, second)
	}
	for _, head := range []string{first, second} {
		for line := range strings.Lines(head) {
			name, _, _ := strings.Cut(line, ":")
			switch name {
			case "Host", "User-Agent", "Accept", "Accept-Encoding":
			default:
				if !strings.HasPrefix(line, "GET /") {
					t.Errorf("sent %q", line)
				}
			}
		}
	}
}

// TestDelta holds that a feed of new entries alone is asked for when the caller
// can use one, and is never taken for the whole, nor the whole for it (RFC 3229).
func TestDelta(t *testing.T) {
	const delta = "226 IM Used\r\nIM: feed\r\nETag: \"2\"\r\nCache-Control: max-age=60\r\n"
	can := Request{ETag: `"1"`, LastModified: "today", Delta: true}
	tests := []struct {
		name   string
		req    Request
		answer string
		asked  bool
		want   string // status, delta, ETag, body, freshness; or the class of the failure
	}{
		{"a delta", can, delta, true, `226 true "2" body 1m0s`},
		{"any case", can, "226 IM Used\r\nim: FEED\r\n", true, `226 true  body 0s`},
		{"from what was named", can, delta + "Delta-Base: \"1\"\r\n", true, `226 true "2" body 1m0s`},
		{"from something else", can, delta + "Delta-Base: \"0\"\r\n", true, "protocol"},
		{"the whole instead", can, "200 OK\r\nETag: \"2\"\r\n", true, `200 false "2" body 0s`},
		{"the whole, calling itself a feed", can, "200 OK\r\nIM: feed\r\n", true, `200 false  body 0s`},
		{"no IM", can, "226 IM Used\r\n", true, "protocol"},
		{"another manipulation", can, "226 IM Used\r\nIM: diffe\r\n", true, "protocol"},
		{"one more manipulation", can, "226 IM Used\r\nIM: feed, gzip\r\n", true, "protocol"},
		{"one more, in another field", can, "226 IM Used\r\nIM: feed\r\nIM: vcdiff\r\n", true, "protocol"},
		{"unasked", Request{ETag: `"1"`}, delta, false, "protocol"},
		{"unasked, unconditional", Request{}, delta, false, "protocol"},
		{"a date names no content", Request{LastModified: "today", Delta: true}, delta, false, "protocol"},
		{"another URL's ETag", Request{ETag: `"1"`, ValidatorURL: "http://feeds.example/", Delta: true}, delta, false, "protocol"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			heads := make(chan string, 1)
			o := listen(t, func(s *side) {
				heads <- s.answer("HTTP/1.1 " + test.answer + "Content-Length: 4\r\n\r\nbody")
			})
			f := newTestFetcher(t, Config{AllowPrivate: true})
			test.req.URL = o.url
			resp, err := f.Fetch(t.Context(), test.req)
			if asked := strings.Contains(<-heads, "If-None-Match: \"1\"\r\nA-IM: feed\r\n"); asked != test.asked {
				t.Errorf("asked for a delta: %v", asked)
			}
			if err != nil {
				wantClass(t, err, Protocol)
				if test.want != "protocol" {
					t.Error(err)
				}
				return
			}
			defer resp.Release()
			got := fmt.Sprintf("%d %v %s %s %s", resp.Status, resp.Delta, resp.ETag, resp.Body, resp.Fresh.Lifetime)
			if got != test.want {
				t.Errorf("got %s; want %s", got, test.want)
			}
		})
	}
}
