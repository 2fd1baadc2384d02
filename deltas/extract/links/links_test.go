package links

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
			if u, err := url.Parse(raw); err != nil || asBase("https://www.example.com/x/y?z").ResolveReference(u).String() != raw {
				t.Fatalf("%q is not plain: %v, %v", raw, u, err)
			}
		}
		for _, base := range []string{"", "https://www.example.com/x/y?z"} {
			got, want := Target(raw, asBase(base)), ""
			if trimmed := strings.TrimSpace(raw); trimmed != "" && trimmed[0] != '#' {
				want = parsedTarget(trimmed, asBase(base))
			}
			if got != want {
				t.Fatalf("target of %q on %q is %q, want %q", raw, base, got, want)
			}
		}
	})
}

// What tells one visit from another is no part of where a link leads.
func TestVisitsInLinks(t *testing.T) {
	for raw, want := range map[string]string{
		"https://x.org/a?id=3&PHPSESSID=4f":                      "https://x.org/a?id=3",
		"https://x.org/a;jsessionid=4F?id=3":                     "https://x.org/a?id=3",
		"https://x.org/a;jsessionid=4F/b":                        "https://x.org/a/b",
		"https://x.org/a.pdf?Expires=1&Signature=2":              "https://x.org/a.pdf",
		"https://x.org/a.pdf?X-Amz-Date=1&x-amz-signature=2&v=3": "https://x.org/a.pdf?v=3",
		"https://x.org/story?sid=26/11/22/1":                     "https://x.org/story?sid=26/11/22/1", // names the story
	} {
		if got := Clean(raw, nil); got != want {
			t.Errorf("cleanLink(%q) = %q, want %q", raw, got, want)
		}
	}
	for _, raw := range []string{"/a?ts=1", "/a?_t=1", "/a?sessionid=1", "/a?cachebust=1"} {
		if got := Target(raw, nil); got != "/a" {
			t.Errorf("linkTarget(%q) = %q", raw, got)
		}
	}
	if got := Target("/a?ver=1.2", nil); got != "/a?ver=1.2" {
		t.Errorf("linkTarget of a version = %q", got)
	}
}

// asBase returns nil for what links cannot be resolved against.
func asBase(raw string) *url.URL {
	base, err := url.Parse(raw)
	if err != nil || base.Host == "" {
		return nil
	}
	return base
}
