package channel

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The characters of RFC 3986, written out: those that an escape never stands for, and
// those that stand in paths and queries as they are.
const (
	unreserved = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
	inPaths    = unreserved + "!$&'()*+,;=:@[]"
)

// Every byte of a path and of a query has one spelling.
func TestEveryByte(t *testing.T) {
	for c := range 256 {
		escape := fmt.Sprintf("%%%02X", c)
		want := escape
		if strings.IndexByte(unreserved, byte(c)) >= 0 {
			want = string(rune(c))
		}
		for _, spelling := range []string{escape, strings.ToLower(escape)} {
			for _, where := range []string{"http://example.com/a", "http://example.com/?a"} {
				if got, err := Canonical(where + spelling + "b"); err != nil || got != where+want+"b" {
					t.Errorf("%s: %q, %v; want %q", where+spelling, got, err, want)
				}
			}
		}
		if c <= ' ' || c == '#' || c == '%' || c >= 0x7f {
			continue // not as it is
		}
		raw := string(rune(c))
		if want = raw; strings.IndexByte(inPaths+"/?", byte(c)) < 0 {
			want = escape
		}
		if got, err := Canonical("http://example.com/?a" + raw + "b"); err != nil || got != "http://example.com/?a"+want+"b" {
			t.Errorf("%q in a query: %q, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]string{
		"%": "%25", "%4": "%254", "%4g": "%254g", "%g4": "%25g4", "%+1": "%25+1", "é": "%C3%A9", "%%41": "%25A", "%41%42": "AB", "%2541": "%2541",
	} {
		if got, err := Canonical("http://example.com/" + raw); err != nil || got != "http://example.com/"+want {
			t.Errorf("%q: %q, %v; want %q", raw, got, err, want)
		}
	}
}

// Control characters and separators of lines are refused wherever they stand, their
// neighbours are not.
func TestControlCharacters(t *testing.T) {
	for _, r := range []rune{0, 1, '\t', '\n', 0x1f, ' ', 0x7f, 0x80, 0x85, 0x9f, 0x2028, 0x2029} {
		_, err := Canonical("http://example.com/a" + string(r) + "b")
		if refused := (*URLError)(nil); !errors.As(err, &refused) || refused.Reason != "control character or space at byte 20" {
			t.Errorf("%U: %v", r, err)
		}
	}
	for _, r := range []rune{'!', '~', 0xa0, 0xa1, 0x2027, 0x202a} {
		if _, err := Canonical("http://example.com/a" + string(r) + "b"); err != nil {
			t.Errorf("%U: %v", r, err)
		}
	}
	if _, err := Canonical("\nhttp://example.com/"); err == nil || !strings.Contains(err.Error(), "at byte 0") {
		t.Errorf("at the beginning: %v", err)
	}
}

// URLs have 8,192 bytes at most, as they are written and once they are escaped.
func TestLengths(t *testing.T) {
	const start = "http://example.com/"
	path := func(n int, of string) string { return start + strings.Repeat(of, n) }
	for _, tc := range []struct {
		name, url, reason string
	}{
		{"the longest, canonical", path(MaxURL-len(start), "a"), ""},
		{"one byte more", path(MaxURL-len(start)+1, "a"), "longer than 8192 bytes"},
		{"the longest, once its escapes are decoded", strings.ToUpper(start[:4]) + path((MaxURL-len(start))/3, "%61")[4:], ""},
		{"the longest as given", path(MaxURL-len(start)-1, "a") + "#", ""},
		{"longer once escaped", path((MaxURL-len(start))/3+1, "\""), "longer than 8192 bytes once escaped"},
		{"the longest once escaped", path((MaxURL-len(start))/3, "\"") + strings.Repeat("a", (MaxURL-len(start))%3), ""},
		{"a byte longer once escaped", path((MaxURL-len(start))/3, "\"") + strings.Repeat("a", (MaxURL-len(start))%3+1), "longer than 8192 bytes once escaped"},
	} {
		_, err := Canonical(tc.url)
		if refused := (*URLError)(nil); tc.reason == "" && err != nil || tc.reason != "" && (!errors.As(err, &refused) || refused.Reason != tc.reason) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.reason)
		}
	}
	label := strings.Repeat("a", 63)
	for host, ok := range map[string]bool{
		label + ".com": true, label + "a.com": false, "x." + label: true, "x." + label + "a": false, strings.ToUpper(label) + "A.com": false,
		strings.Join([]string{label, label, label, label[:61]}, "."): true, strings.Join([]string{label, label, label, label[:62]}, "."): false,
		"A." + strings.Join([]string{label, label, label, label[:59]}, "."): true, "A." + strings.Join([]string{label, label, label, label[:60]}, "."): false,
	} {
		if _, err := Canonical("http://" + host + "/"); (err == nil) != ok {
			t.Errorf("host of %d bytes: %v", len(host), err)
		}
	}
	for n, want := range map[int]string{200: strings.Repeat("x", 200), 201: strings.Repeat("x", 200) + "…"} {
		_, err := Canonical(strings.Repeat("x", n))
		if refused := (*URLError)(nil); !errors.As(err, &refused) || refused.URL != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// Hosts: names of letters, digits, hyphens, underscores and dots; escapes decoded;
// ports of 1 to 65535; addresses in brackets.
func TestHosts(t *testing.T) {
	for raw, want := range map[string]string{
		"http://abc-xyz_019.example/":   "http://abc-xyz_019.example/",
		"http://AZ.example/":            "http://az.example/",
		"http://%65xample.com/":         "http://example.com/",
		"http://ex%41mple.com/":         "http://example.com/",
		"http://b%C3%BCcher.example/":   "http://xn--bcher-kva.example/",
		"http://example.com./":          "http://example.com/",
		"http://example.com:1/":         "http://example.com:1/",
		"http://example.com:9/":         "http://example.com:9/",
		"http://example.com:99/":        "http://example.com:99/",
		"http://example.com:80/":        "http://example.com/",
		"http://example.com:080/":       "http://example.com/",
		"http://example.com:0443/":      "http://example.com:443/",
		"http://example.com:65535/":     "http://example.com:65535/",
		"http://example.com:/":          "http://example.com/",
		"https://example.com:443":       "https://example.com/",
		"http://[::1]:8080/":            "http://[::1]:8080/",
		"http://[0:0:0:0:0:0:0:1]/":     "http://[::1]/",
		"http://[::1]/":                 "http://[::1]/",
		"http://[::ffff:1.2.3.4]/a:b]c": "http://[::ffff:1.2.3.4]/a:b]c",
	} {
		got, err := Canonical(raw)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
		if again, err := Canonical(got); err != nil || again != got {
			t.Errorf("%s again: %q, %v", got, again, err)
		}
	}
	for _, raw := range []string{
		"http://exa{mple.com/", "http://exa|mple.com/", "http://exa`mple.com/", "http://{example.com/", "http://:80/", "http:///a", "http://./", "http://..a/", "http://a..b/",
		"http://ex%zzample.com/", "http://ex%ffample.com/", "http://ex%20ample.com/", "http://ex%2fample.com/", "http://%00/", "http://ex:ample.com/",
		"http://example.com:0/", "http://example.com:00/", "http://example.com:65536/", "http://example.com:8a/", "http://example.com::/", "http://example.com:+8/",
		"http://[::1/", "http://::1]/", "http://[[::1]]/", "http://[::1]]/", "http://[1.2.3.4]/", "http://[fe80::1%25en0]/", "http://[]/", "http://[::1]x/", "http://[x]/",
	} {
		if got, err := Canonical(raw); err == nil {
			t.Errorf("%s: %q, want it refused", raw, got)
		}
	}
	for canonical, want := range map[string]string{
		"http://example.com/": "example.com:80", "https://example.com/a": "example.com:443", "https://example.com?a": "example.com:443", "http:///": ":80",
		"http://[::1]/": "[::1]:80", "http://[::1]:8080/": "[::1]:8080", "http://example.com:81/a:b": "example.com:81", "http://example.com": "example.com:80",
	} {
		if got := Host(canonical); got != want {
			t.Errorf("Host(%s) = %q, want %q", canonical, got, want)
		}
	}
}

// A name of a wrong length is told what is wanted.
func TestParseIDLengths(t *testing.T) {
	for _, n := range []int{0, 1, 39, 41, 42} {
		_, err := ParseID(strings.Repeat("a", n))
		if want := fmt.Sprintf("want 40 hex digits, have %d characters", n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d digits: %v", n, err)
		}
	}
	if id, err := ParseID(strings.Repeat("aB", 20)); err != nil || id[19] != 0xab {
		t.Errorf("%v, %v", id, err)
	}
}

// isCanonical never says so of what is not, at the limits of names and ports.
func TestIsCanonicalAtLimits(t *testing.T) {
	label := strings.Repeat("a", 63)
	name := strings.Join([]string{label, label, label, label[:61]}, ".")
	for url, want := range map[string]bool{
		"http://" + name + "/": true, "http://" + name + "a/": false, "http://" + label + "a.com/": false,
		"http:///": false, "http://": false, "http://a": false, "http://./": false, "http://a./": false, "http:///a": false,
		"http://a:1/": true, "http://a:9/": true, "http://a:0/": false, "http://a:01/": false, "http://a:/": false, "http://a::/": false, "http://a:65536/": false,
		"http://a/?": false, "http://a/?b": true, "http://a/.b": false, "http://xn--a/": false, "ftp://a/": false,
	} {
		if got := isCanonical(url); got != want {
			t.Errorf("isCanonical(%s) = %v", url, got)
		}
	}
}
