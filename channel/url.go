package channel

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURL is the longest URL, in bytes, that may name a channel.
const MaxURL = 8192

// URLError says why a URL cannot name a channel.
type URLError struct {
	URL    string // as given, cut when very long
	Reason string // what is wrong, without the URL
}

func (e *URLError) Error() string { return fmt.Sprintf("URL %q: %s", e.URL, e.Reason) }

// Canonical returns the one spelling under which a URL names its channel:
// scheme and host in lower case, the host in ASCII without a trailing dot, no
// default port, no fragment, no empty query, path "/" at least and without dot
// segments, unreserved escapes decoded and the others in upper case, non-ASCII
// escaped as UTF-8 (RFC 3986, section 6.2.2). The query's order is kept. feed:
// and feed:// are understood. Canonical of a canonical URL is that URL.
//
// Userinfo, control characters and schemes other than http and https are
// refused with a [*URLError].
func Canonical(raw string) (string, error) {
	if isCanonical(raw) {
		return raw, nil
	}
	canonical, reason := canonicalise(raw)
	if reason != "" {
		return "", &URLError{URL: clip(raw), Reason: reason}
	}
	return canonical, nil
}

// Host returns the lower-case host name with port of a canonical URL, as in
// "example.com:443": what a host's politeness record is kept under.
func Host(canonical string) string {
	scheme, rest, _ := strings.Cut(canonical, "://")
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	if _, port := splitPort(authority); port != "" {
		return authority
	}
	return authority + ":" + defaultPort(scheme)
}

func canonicalise(raw string) (canonical, reason string) {
	if len(raw) > MaxURL {
		return "", fmt.Sprintf("longer than %d bytes", MaxURL)
	}
	if !utf8.ValidString(raw) {
		return "", "not valid UTF-8"
	}
	s := strings.Trim(raw, " ")
	if i := strings.IndexFunc(s, isControlOrSpace); i >= 0 {
		return "", fmt.Sprintf("control character or space at byte %d", i)
	}
	s, _, _ = strings.Cut(s, "#")
	scheme, rest, reason := cutScheme(s)
	if reason != "" {
		return "", reason
	}
	authority, path, query := cutAuthority(rest)
	host, reason := canonicalHost(scheme, authority)
	if reason != "" {
		return "", reason
	}
	path = removeDotSegments(normaliseEscapes(path))
	if path == "" {
		path = "/"
	}
	canonical = scheme + "://" + host + path
	if query != "" {
		canonical += "?" + normaliseEscapes(query)
	}
	if len(canonical) > MaxURL {
		return "", fmt.Sprintf("longer than %d bytes once escaped", MaxURL)
	}
	return canonical, ""
}

func isControlOrSpace(r rune) bool {
	return r <= ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029'
}

// cutScheme returns the lower-case scheme and what follows "//".
func cutScheme(s string) (scheme, rest, reason string) {
	scheme, rest, found := strings.Cut(s, ":")
	if !found {
		return "", "", "no scheme: write http:// or https:// before the host"
	}
	scheme = strings.ToLower(scheme)
	if scheme == "feed" {
		if !strings.HasPrefix(rest, "//") {
			if scheme, _, _ := strings.Cut(strings.ToLower(rest), ":"); scheme == "http" || scheme == "https" {
				return cutScheme(rest)
			}
			return "", "", "feed: must be followed by // or by an http or https URL"
		}
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		return "", "", fmt.Sprintf("scheme %q: only http and https can be polled", clip(scheme))
	}
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", "", "no // after the scheme"
	}
	return scheme, rest, ""
}

func cutAuthority(rest string) (authority, path, query string) {
	rest, query, _ = strings.Cut(rest, "?")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:], query
	}
	return rest, "", query
}

// canonicalHost returns the host in lower-case ASCII, with its port unless that
// is the scheme's own.
func canonicalHost(scheme, authority string) (host, reason string) {
	if strings.Contains(authority, "@") {
		return "", "user name or password in the URL"
	}
	name, port := splitPort(authority)
	port, reason = canonicalPort(port)
	if reason != "" {
		return "", reason
	}
	name, reason = canonicalName(name)
	if reason != "" {
		return "", reason
	}
	if port == "" || port == defaultPort(scheme) {
		return name, ""
	}
	return name + ":" + port, ""
}

func canonicalPort(port string) (canonical, reason string) {
	if port == "" {
		return "", ""
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Sprintf("port %q: want 1 to 65535", clip(port))
	}
	return strconv.FormatUint(n, 10), ""
}

// hostProfile maps as browsers do (UTS 46, non-transitional); underscores and
// hyphens where RFC 1034 has none are let through, since real hosts have them.
var hostProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

func canonicalName(name string) (canonical, reason string) {
	if strings.HasPrefix(name, "[") {
		return canonicalIPv6(name)
	}
	if strings.Contains(name, "%") {
		decoded, err := url.PathUnescape(name)
		if err != nil || !utf8.ValidString(decoded) {
			return "", "bad escape in the host"
		}
		name = decoded
	}
	ascii, err := hostProfile.ToASCII(name)
	if err != nil {
		return "", fmt.Sprintf("host %q is not a valid name", clip(name))
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if ascii == "" {
		return "", "no host"
	}
	if len(ascii) > 253 {
		return "", "host longer than 253 bytes"
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if label == "" || len(label) > 63 {
			return "", "host has an empty label, or one longer than 63 bytes"
		}
	}
	if i := strings.IndexFunc(ascii, func(r rune) bool { return !isHostByte(r) }); i >= 0 {
		return "", fmt.Sprintf("character %q in the host", ascii[i])
	}
	return ascii, ""
}

func isHostByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_'
}

func canonicalIPv6(name string) (canonical, reason string) {
	addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil || !addr.Is6() || addr.Zone() != "" || name != "["+strings.Trim(name, "[]")+"]" {
		return "", fmt.Sprintf("host %q is not an IPv6 address in brackets", clip(name))
	}
	return "[" + addr.String() + "]", ""
}

// splitPort cuts "host:port"; a colon inside [brackets] is the address's own.
func splitPort(authority string) (name, port string) {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.IndexByte(authority[i:], ']') >= 0 {
		return authority, ""
	}
	return authority[:i], authority[i+1:]
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

const upperHex = "0123456789ABCDEF"

// normaliseEscapes decodes escapes of unreserved characters, writes the others
// in upper case, and escapes what may not stand in a URL as it is. A percent
// sign that starts no escape becomes %25.
func normaliseEscapes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if v, ok := unhex2(s[i+1:]); ok {
				i += 2
				if isUnreserved(v) {
					b.WriteByte(v)
				} else {
					writeEscape(&b, v)
				}
				continue
			}
		}
		if mayStand(c) {
			b.WriteByte(c)
		} else {
			writeEscape(&b, c)
		}
	}
	return b.String()
}

func writeEscape(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&15])
}

func unhex2(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:2], 16, 8)
	if err != nil {
		return 0, false
	}
	return byte(v), true
}

// isUnreserved reports RFC 3986's unreserved characters.
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// mayStand reports what may stand unescaped in a path or a query: unreserved,
// sub-delims, ":", "@", "/", "?", and the brackets that real URLs carry.
func mayStand(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/?[]", c) >= 0
}

// removeDotSegments is RFC 3986, section 5.2.4, for an absolute or empty path.
func removeDotSegments(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	var out []string
	segments := strings.Split(path, "/")[1:]
	for i, segment := range segments {
		last := i == len(segments)-1
		switch segment {
		case ".", "..":
			if segment == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}
