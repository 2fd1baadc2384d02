package channel

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ raw, want string }{
		// The contract's examples.
		{"HTTP://Example.COM:80/a/../b?x=1#f", "http://example.com/b?x=1"},
		{"https://example.com", "https://example.com/"},
		{"https://example.com/%7euser", "https://example.com/~user"},
		{"https://example.com/a%2fb", "https://example.com/a%2Fb"},
		{"https://example.com/?", "https://example.com/"},
		{"https://example.com./x", "https://example.com/x"},
		{"https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"},
		{"https://example.com:8443/", "https://example.com:8443/"},
		{"feed://example.com/x", "http://example.com/x"},

		{"feed:https://example.com/x", "https://example.com/x"},
		{"FEED:HTTP://example.com", "http://example.com/"},
		{"https://example.com:443", "https://example.com/"},
		{"https://example.com:0443/", "https://example.com/"},
		{"http://example.com:443/", "http://example.com:443/"},
		{"https://example.com?b=2&a=1", "https://example.com/?b=2&a=1"},
		{"https://example.com/?#", "https://example.com/"},
		{"https://example.com/a//b/./c/..", "https://example.com/a//b/"},
		{"https://example.com/../../x", "https://example.com/x"},
		{"https://example.com/%2E%2e/x", "https://example.com/x"},
		{"https://example.com/100%", "https://example.com/100%25"},
		{"https://example.com/a|b", "https://example.com/a%7Cb"},
		{"https://example.com/?q=%c3%a4&r=ä", "https://example.com/?q=%C3%A4&r=%C3%A4"},
		{"https://example.com/a@b:c", "https://example.com/a@b:c"},
		{"http://[2001:DB8::0:1]:80/", "http://[2001:db8::1]/"},
		{"http://[::1]:9100/x", "http://[::1]:9100/x"},
		{"http://127.0.0.1:9100/x", "http://127.0.0.1:9100/x"},
		{"http://a_b.example/", "http://a_b.example/"},
		{" https://example.com/ ", "https://example.com/"},
	}
	for _, test := range tests {
		got, err := Canonical(test.raw)
		if err != nil || got != test.want {
			t.Errorf("Canonical(%q) = %q, %v; want %q", test.raw, got, err, test.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	tests := []struct{ raw, reason string }{
		{"https://u:p@example.com/", "user name or password"},
		{"https://u@example.com/", "user name or password"},
		{"ftp://example.com/", "only http and https"},
		{"file:///etc/passwd", "only http and https"},
		{"javascript:alert(1)", "only http and https"},
		{"feed:ftp://example.com", "feed: must be followed"},
		{"example.com/feed", "no scheme"},
		{"http:example.com", "no // after the scheme"},
		{"http:///x", "no host"},
		{"http://./x", "no host"},
		{"http://a..b/x", "empty label"},
		{"http://a%zz/x", "bad escape"},
		{"http://example.com:0/", "port"},
		{"http://example.com:65536/", "port"},
		{"http://example.com:8o/", "port"},
		{"http://example.com/a\r\nHost: x", "control character"},
		{"http://example.com/a\x00", "control character"},
		{"http://example.com/a b", "control character or space"},
		{"http://exa mple.com/", "control character or space"},
		{"http://example.com\\@evil.example/", "user name or password"},
		{"http://exam\\ple.com/", "character"},
		{"http://[::1/", "brackets"},
		{"http://[fe80::1%25eth0]/", "brackets"},
		{"http://[127.0.0.1]/", "brackets"},
		{"http://example.com/\xff", "UTF-8"},
		{"http://" + strings.Repeat("a", 64) + ".example/", "empty label"},
		{"http://example.com/" + strings.Repeat("a", MaxURL), "longer than"},
		{"http://example.com/" + strings.Repeat("ä", MaxURL/4), "once escaped"},
	}
	for _, test := range tests {
		got, err := Canonical(test.raw)
		var urlErr *URLError
		if !errors.As(err, &urlErr) || !strings.Contains(urlErr.Reason, test.reason) {
			t.Errorf("Canonical(%.60q) = %q, %v; want an error with %q", test.raw, got, err, test.reason)
		}
	}
}

func TestHost(t *testing.T) {
	tests := []struct{ canonical, want string }{
		{"https://example.com/x", "example.com:443"},
		{"http://example.com/", "example.com:80"},
		{"http://example.com:8080/?x=http://y/", "example.com:8080"},
		{"http://[::1]/", "[::1]:80"},
		{"http://[::1]:9100/", "[::1]:9100"},
	}
	for _, test := range tests {
		if got := Host(test.canonical); got != test.want {
			t.Errorf("Host(%q) = %q, want %q", test.canonical, got, test.want)
		}
	}
}

func TestID(t *testing.T) {
	// echo -n https://example.com/ | sha1sum
	const want = "b559c7edd3fb67374c1a25e739cdd7edd1d79949"
	_, id, err := Parse("HTTPS://EXAMPLE.com")
	if err != nil || id.String() != want {
		t.Fatalf("Parse: ID %s, %v; want %s", id, err, want)
	}
	if got := id.Bucket(); got != 0xb55 {
		t.Errorf("Bucket = %#x, want 0xb55", got)
	}
	parsed, err := ParseID(strings.ToUpper(want))
	if err != nil || parsed != id {
		t.Errorf("ParseID(upper case) = %s, %v", parsed, err)
	}
	for _, bad := range []string{"", want[1:], want + "0", "g" + want[1:]} {
		if _, err := ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) succeeded", bad)
		}
	}
	var back struct{ Channel ID }
	text, err := json.Marshal(struct{ Channel ID }{id})
	if err != nil || string(text) != `{"Channel":"`+want+`"}` {
		t.Fatalf("Marshal = %s, %v", text, err)
	}
	if err := json.Unmarshal(text, &back); err != nil || back.Channel != id {
		t.Errorf("Unmarshal = %s, %v", back.Channel, err)
	}
}

// FuzzCanonical holds what every caller relies on: a canonical URL is its own
// canonical form, is plain ASCII without what could split a request line, and
// names a host.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		"HTTP://Example.COM:80/a/../b?x=1#f", "https://bücher.example/ä", "feed://example.com/x",
		"http://[::1]:80/%2e%2e/%zz?%", "https://example.com./%7e", "http://a%2eb/", "feed:feed:feed://x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		canonical, err := Canonical(raw)
		if err != nil {
			if canonical != "" {
				t.Fatalf("error and result: %q", canonical)
			}
			return
		}
		if again, err := Canonical(canonical); err != nil || again != canonical {
			t.Fatalf("Canonical(%q) = %q, but of that %q, %v", raw, canonical, again, err)
		}
		for i := range len(canonical) {
			if c := canonical[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '\\' {
				t.Fatalf("Canonical(%q) = %q holds byte %#x", raw, canonical, c)
			}
		}
		if host := Host(canonical); len(host) < 3 || strings.ContainsAny(host, "/?@") {
			t.Fatalf("Host(%q) = %q", canonical, host)
		}
	})
}
