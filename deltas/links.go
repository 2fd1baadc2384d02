package deltas

import (
	"net/url"
	"strings"
)

// cleanLink returns an entry's link resolved against base, without tracking
// parameters; empty for what nobody can follow.
func cleanLink(raw string, base *url.URL) string {
	raw = strings.Join(strings.Fields(raw), "%20")
	if raw == "" || len(raw) > maxLink {
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
	return ref.String()
}

// linkTarget returns what an HTML link leads to as a reader would note it: host
// and path without scheme, only the path on the page's own host; empty for what
// is no content (scripts, fragments, protected addresses, assets).
func linkTarget(raw string, base *url.URL) string {
	raw = strings.TrimSpace(raw)
	if raw == "" || raw[0] == '#' || len(raw) > maxLink {
		return ""
	}
	ref, err := url.Parse(raw)
	if err != nil || ref.Scheme != "" && ref.Scheme != "http" && ref.Scheme != "https" {
		return ""
	}
	if base != nil {
		ref = base.ResolveReference(ref)
	}
	if isAsset(ref.Path) || strings.HasPrefix(ref.Path, "/cdn-cgi/") {
		return ""
	}
	path, _, _ := strings.Cut(ref.EscapedPath(), ";jsessionid=")
	if query := cleanQuery(ref.RawQuery, func(name string) bool { return isTracking(name) || isSession(name) }); query != "" {
		path += "?" + query
	}
	host := strings.TrimPrefix(ref.Host, "www.")
	if base != nil && host == strings.TrimPrefix(base.Host, "www.") {
		host = ""
	}
	return oneLine(host + path)
}

// isAsset reports paths of style sheets, scripts, fonts and images, whose names
// carry a hash of each build.
func isAsset(path string) bool {
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

// cleanQuery drops the parameters whose lower-case name is noise. The others
// keep order and spelling.
func cleanQuery(query string, noise func(name string) bool) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part != "" && !noise(strings.ToLower(name)) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

var (
	trackingPrefixes = [...]string{"utm_", "at_", "mc_", "pk_", "mtm_", "matomo_", "hsa_", "_hs", "ns_", "wt.", "vero_"}
	trackingNames    = set("fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "igshid", "ocid", "cmpid",
		"cmp", "icid", "s_cid", "mkt_tok", "_ga", "_gl", "ref_src", "ref_url", "spm", "scid", "wickedid", "ito", "xtor", "ftag", "taid")
	sessionNames = set("sid", "phpsessid", "jsessionid", "sessionid", "session_id", "aspsessionid", "token", "csrf", "csrf_token",
		"csrfmiddlewaretoken", "_csrf", "authenticity_token", "nonce", "_wpnonce", "cb", "_", "nocache", "cachebuster", "rnd", "rand", "random")
)

// isTracking reports parameters that say who sent a reader, not what is read.
func isTracking(name string) bool {
	for _, prefix := range trackingPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return trackingNames[name]
}

// isSession reports parameters that differ from one visitor or visit to the next.
func isSession(name string) bool { return sessionNames[name] }

func isHTTP(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
