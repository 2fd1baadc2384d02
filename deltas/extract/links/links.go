// Package links says what a link leads to, without what only identifies its reader or
// the time: tracking, sessions, expiring signatures.
package links

import (
	"net/url"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// MaxLength is the length of a link in bytes beyond which it is dropped.
const MaxLength = 4096

// Clean returns an entry's link resolved against base, without tracking
// parameters; empty for what cannot be followed.
func Clean(raw string, base *url.URL) string {
	if u, ok := splitURL(raw); ok && len(raw) <= MaxLength {
		return u.cleaned(raw)
	}
	raw = strings.Join(strings.Fields(raw), "%20")
	if raw == "" || len(raw) > MaxLength {
		return ""
	}
	ref, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if base != nil {
		ref = base.ResolveReference(ref)
	}
	if ref.Scheme == "javascript" || ref.Scheme == "data" {
		return ""
	}
	ref.RawQuery = cleanQuery(ref.RawQuery, isTracking)
	return withoutSession(ref.String())
}

// plainURL are the parts of a URL that url.Parse takes apart, resolves and puts
// together again as it was.
type plainURL struct{ host, path, query string }

// splitURL takes a plain URL apart: http or https, a host, and what splitPath takes
// or nothing. False for other URLs.
func splitURL(s string) (u plainURL, ok bool) {
	rest, ok := strings.CutPrefix(s, "http")
	if !ok {
		return u, false
	}
	rest = strings.TrimPrefix(rest, "s")
	if rest, ok = strings.CutPrefix(rest, "://"); !ok {
		return u, false
	}
	n := 0
	for n < len(rest) && urlBytes[rest[n]] >= urlHost {
		n++
	}
	if u, ok = splitPath(rest[n:]); !ok || n == 0 || u.path != "" && u.path[0] != '/' {
		return u, false
	}
	u.host = rest[:n]
	return u, true
}

// splitPath takes a plain URL apart that has neither scheme nor host: of ASCII
// characters that stand for themselves and others escaped, a path without dots
// between slashes; any query, no fragment.
func splitPath(s string) (u plainURL, ok bool) {
	n := 0
	for ; n < len(s) && urlBytes[s[n]] >= urlPath; n++ {
		if s[n] == '/' && n+1 < len(s) && (s[n+1] == '/' || s[n+1] == '.') {
			return u, false
		}
		if s[n] == '%' && (len(s) < n+3 || !scan.IsHex(s[n+1]) || !scan.IsHex(s[n+2])) {
			return u, false
		}
	}
	path, rest := s[:n], s[n:]
	if rest != "" && (rest[0] != '?' || len(rest) == 1) {
		return u, false
	}
	for i := range len(rest) {
		if urlBytes[rest[i]] < urlQuery {
			return u, false
		}
	}
	return plainURL{path: path, query: strings.TrimPrefix(rest, "?")}, true
}

// withoutFragment returns a URL, which does not begin with a fragment, without a
// plain fragment.
func withoutFragment(s string) string {
	at := strings.IndexByte(s, '#')
	if at < 0 {
		return s
	}
	for _, c := range []byte(s[at+1:]) {
		if urlBytes[c] < urlQuery || c == '%' {
			return s
		}
	}
	return s[:at]
}

// cleaned returns the URL, as it was taken from, without tracking parameters.
func (u plainURL) cleaned(whole string) string {
	query := cleanQuery(u.query, isTracking)
	if query == u.query {
		return whole
	}
	head := whole[:len(whole)-len(u.query)-1]
	if query == "" {
		return head
	}
	return head + "?" + query
}

// The places in a plain URL where a byte may stand, each in those before it too.
const (
	urlQuery = 1 + iota
	urlPath
	urlHost
)

var urlBytes = func() (in [256]byte) {
	for c := range in {
		switch b := byte(c); {
		case scan.IsLetter(b), scan.IsDigit(b), b == '-', b == '.':
			in[c] = urlHost
		case strings.IndexByte("/_~+,:=@&%", b) >= 0:
			in[c] = urlPath
		case b > ' ' && b < 0x7f && b != '#':
			in[c] = urlQuery
		}
	}
	return in
}()

// Target returns what an HTML link leads to as a reader would note it: host
// and path without scheme, only the path on the page's own host; empty for what
// is no content (scripts, fragments, protected addresses, assets).
func Target(raw string, base *url.URL) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || raw[0] == '#' || len(raw) > MaxLength {
		return ""
	}
	plain := withoutFragment(raw)
	u, ok := splitURL(plain)
	if !ok && plain[0] == '/' {
		u, ok = splitPath(plain)
	}
	if !ok {
		return parsedTarget(raw, base)
	}
	if path, _ := url.PathUnescape(u.path); IsAsset(path) || strings.HasPrefix(path, "/cdn-cgi/") {
		return ""
	}
	return target(u.host, u.path, u.query, base)
}

// parsedTarget is Target of any URL.
func parsedTarget(raw string, base *url.URL) string {
	ref, err := url.Parse(raw)
	if err != nil || ref.Scheme != "" && ref.Scheme != "http" && ref.Scheme != "https" {
		return ""
	}
	if base != nil {
		ref = base.ResolveReference(ref)
	}
	if IsAsset(ref.Path) || strings.HasPrefix(ref.Path, "/cdn-cgi/") {
		return ""
	}
	return lines.OneLine(target(ref.Host, withoutSession(ref.EscapedPath()), ref.RawQuery, base))
}

// withoutSession returns a URL or a path without a session in its path.
func withoutSession(s string) string {
	at := strings.Index(s, ";jsessionid=")
	if at < 0 {
		return s
	}
	end := strings.IndexAny(s[at:], "/?#")
	if end < 0 {
		return s[:at]
	}
	return s[:at] + s[at+end:]
}

// target returns host and path without tracking and session parameters, "www." and the
// page's own host.
func target(host, path, query string, base *url.URL) string {
	if query = cleanQuery(query, func(name string) bool { return isTracking(name) || isSession(name) }); query != "" {
		path += "?" + query
	}
	host = strings.TrimPrefix(host, "www.")
	if base != nil && host == strings.TrimPrefix(base.Host, "www.") {
		host = ""
	}
	return host + path
}

// IsControl reports addresses that lead nowhere without a script. A javascript: address
// with code of its own counts as a link, since the code may name a target.
func IsControl(href string) bool {
	href = strings.TrimSpace(href)
	if href == "" || href[0]|0x20 != 'j' {
		return href == "#"
	}
	href = strings.ToLower(strings.Join(strings.Fields(href), ""))
	script, ok := strings.CutPrefix(strings.TrimRight(href, ";"), "javascript:")
	return ok && (script == "" || script == "void(0)" || script == "void0" || script == "returnfalse")
}

// IsAsset reports paths of style sheets, scripts, fonts and images, whose names
// carry a hash of each build.
func IsAsset(path string) bool {
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return false
	}
	switch strings.ToLower(path[dot+1:]) {
	case "css", "js", "mjs", "map", "woff", "woff2", "ttf", "ico", "svg", "png", "jpg", "jpeg", "gif", "webp", "avif":
		return true
	}
	return false
}

// WithoutTracking returns a text that is nothing but a URL without tracking
// parameters, any other as it is.
func WithoutTracking(s string) string {
	at := strings.IndexByte(s, '?')
	if at < 0 || !IsHTTP(s) || strings.IndexByte(s, ' ') >= 0 {
		return s
	}
	query, fragment, cut := strings.Cut(s[at+1:], "#")
	clean := cleanQuery(query, isTracking)
	if clean == query {
		return s
	}
	if clean != "" {
		clean = "?" + clean
	}
	if cut {
		clean += "#" + fragment
	}
	return s[:at] + clean
}

// cleanQuery drops the parameters whose lower-case name is noise. The others
// keep order and spelling.
func cleanQuery(query string, noise func(name string) bool) string {
	if query == "" {
		return ""
	}
	var room [8]string
	kept, parts := room[:0], 0
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if parts++; part != "" && !noise(strings.ToLower(name)) {
			kept = append(kept, part)
		}
	}
	if len(kept) == parts {
		return query
	}
	return strings.Join(kept, "&")
}

var (
	droppedPrefixes = [...]string{"utm_", "at_", "mc_", "pk_", "mtm_", "matomo_", "hsa_", "_hs", "ns_", "wt.", "vero_",
		"x-amz-", "x-goog-", "__cf_chl_", "aspsessionid"}
	droppedNames = scan.Set("fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "igshid", "ocid", "cmpid",
		"cmp", "icid", "s_cid", "mkt_tok", "_ga", "_gl", "ref_src", "ref_url", "spm", "scid", "wickedid", "ito", "xtor", "ftag", "taid",
		// sessions and signatures that expire
		"phpsessid", "jsessionid", "sessid", "oscsid", "zenid", "cfid", "cftoken", "form_build_id",
		"signature", "expires", "key-pair-id", "awsaccesskeyid", "googleaccessid")
	droppedInTargets = scan.Set("sid", "sessionid", "session_id", "token", "csrf", "csrf_token", "csrfmiddlewaretoken", "_csrf", "authenticity_token", "nonce", "_wpnonce",
		"cb", "_", "_t", "ts", "timestamp", "nocache", "cachebuster", "cachebust", "rnd", "rand", "random")
)

// isTracking reports parameters that say where a reader came from, which reader it is or
// until when, not what is read.
func isTracking(name string) bool {
	for _, prefix := range droppedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return droppedNames[name]
}

// isSession reports parameters that differ from one visitor or visit to the next.
func isSession(name string) bool { return droppedInTargets[name] }

// IsHTTP reports what begins as a URL of http or https.
func IsHTTP(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// Resolve returns a link as xml:base makes it, a nil one too. A base's path is
// taken for a directory.
func Resolve(base *url.URL, link string) string {
	if _, plain := splitURL(link); plain {
		return link
	}
	u, err := url.Parse(strings.TrimLeft(link, " "))
	if err != nil {
		return link
	}
	if base != nil {
		b := *base
		if link != "" && b.Path != "" && !strings.HasSuffix(b.Path, "/") {
			b.Path += "/"
		}
		u = b.ResolveReference(u)
	}
	return u.String()
}

// InBase is Resolve, but that without a base or a link nothing is done.
func InBase(base *url.URL, link string) string {
	if base == nil || link == "" {
		return link
	}
	return Resolve(base, link)
}
