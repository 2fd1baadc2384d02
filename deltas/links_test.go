package deltas

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is taken apart without url.Parse is what that makes of it.
func TestPlainTargets(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"/", "//", ".", "..", "a", "b.css", "b%2ecss", "/c#d", "?", "c=d", "&", "utm_source=e", "sid=f", "#", "%20", "%2f", "%2E", "%41", "%zz", "%", "%00", "é", " ", ":", ";jsessionid=1",
		"http://", "https://", "www.example.com", "other.example", ":80", "@", "\x7f", "+", "~", "cdn-cgi/", "javascript:", "void(0)"})
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(pieces, 1, 8).Draw(t, "pieces"), "")
		if _, plain := splitURL(raw); plain {
			if u, err := url.Parse(raw); err != nil || baseURL("https://www.example.com/x/y?z").ResolveReference(u).String() != raw {
				t.Fatalf("%q is not plain: %v, %v", raw, u, err)
			}
		}
		for _, base := range []string{"", "https://www.example.com/x/y?z"} {
			got, want := linkTarget(raw, baseURL(base)), ""
			if trimmed := strings.TrimSpace(raw); trimmed != "" && trimmed[0] != '#' {
				want = parsedTarget(trimmed, baseURL(base))
			}
			if got != want {
				t.Fatalf("target of %q on %q is %q, want %q", raw, base, got, want)
			}
		}
	})
}
