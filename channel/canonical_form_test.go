package channel

import (
	"strings"
	"testing"
)

func TestIsCanonical(t *testing.T) {
	tests := []struct {
		url  string
		want bool
	}{
		{"https://example.com/", true},
		{"http://127.0.0.1:9100/feed/1.xml", true},
		{"http://a_b.example-.com:65535/a//b?x=1&y=[2]?", true},
		{"https://" + strings.Repeat("a", 63) + ".example/", true},
		{"https://example.com/" + strings.Repeat("a", MaxURL-20), true},

		{"https://" + strings.Repeat("a", 64) + ".example/", false},
		{"https://" + strings.Repeat("a.", 127) + "/", false},
		{"https://example.com/" + strings.Repeat("a", MaxURL-19), false},
		{"https://example.com", false},
		{"https://example.com?x", false},
		{"https://example.com/?", false},
		{"https://example.com./", false},
		{"https://example..com/", false},
		{"https:///", false},
		{"https://Example.com/", false},
		{"HTTPS://example.com/", false},
		{"https://example.com:443/", false},
		{"http://example.com:80/", false},
		{"http://example.com:0/", false},
		{"http://example.com:081/", false},
		{"http://example.com:65536/", false},
		{"http://example.com:/", false},
		{"http://example.com:8o/", false},
		{"http://u@example.com/", false},
		{"http://example.com/./", false},
		{"http://example.com/#", false},
		{"http://example.com/\x00", false},
		{"http://example.com/\xff", false},
		{" http://example.com/", false},
		{"feed://example.com/", false},

		// Canonical, but not by its looks.
		{"http://[::1]:9100/", false},
		{"http://xn--bcher-kva.example/", false},
		{"http://example.com/.well-known/x", false},
		{"http://example.com/%C3%A4", false},
	}
	for _, test := range tests {
		if got := isCanonical(test.url); got != test.want {
			t.Errorf("isCanonical(%.80q) = %v", test.url, got)
		}
	}
}

// FuzzIsCanonical: what is canonical by its looks is so by the rules.
func FuzzIsCanonical(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/", "http://127.0.0.1:9100/a.b/..c?x=1&y=[2]?", "http://a_-b.example:8080/~:@!$&'()*+,;=",
		"http://xn--bcher-kva.example/", "http://1.2.3/%2e", "http://-a-.b--c.d/", "http://0x7f.1/x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !isCanonical(raw) {
			return
		}
		if canonical, reason := canonicalise(raw); canonical != raw {
			t.Fatalf("canonical by its looks: %q; by the rules %q, %s", raw, canonical, reason)
		}
	})
}

// What does a URL's canonical form cost, of one that has it and of others?
//
//	go test -run '^$' -bench Canonical -benchmem ./channel
func BenchmarkCanonical(b *testing.B) {
	for name, url := range map[string]string{
		"canonical": "https://feeds.example.com/blogs/4711/posts.xml?format=atom",
		"escaped":   "https://feeds.example.com/blogs/4711/%C3%A4.xml?format=atom",
		"other":     "HTTPS://feeds.example.com:443/blogs/../4711/posts.xml?format=atom#top",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Canonical(url); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
