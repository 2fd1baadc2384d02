package fetcher

import (
	"cmp"
	"strings"
)

// accept asks for feeds first, where an origin serves several forms of a document.
const accept = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, " +
	"text/html;q=0.8, application/json;q=0.8, */*;q=0.7"

// constantHead returns the fields that every request carries, as lines.
func constantHead(userAgent string) []byte {
	return []byte("User-Agent: " + userAgent + "\r\nAccept: " + accept + "\r\nAccept-Encoding: gzip, br, zstd, deflate\r\n")
}

// validators are what makes a request conditional (RFC 9110, section 13). They
// are opaque: compared by the origin alone.
type validators struct{ etag, lastModified string }

// validatorsFor returns those that a request to url may carry: none unless it is
// the resource that gave them. An ETag such as "1" is true of many resources, and a
// 304 to another one's would lose an update.
func (r *Request) validatorsFor(url string) validators {
	if home := cmp.Or(r.ValidatorURL, r.URL); url != home {
		return validators{}
	}
	return validators{sendable(r.ETag), sendable(r.LastModified)}
}

// sendable returns the value if it can stand in a field. Origins gave it through
// a parser that lets nothing else pass, but it may have been stored since.
func sendable(value string) string {
	if len(value) > maxValidator {
		return ""
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return ""
		}
	}
	return value
}

// address is a canonical URL taken apart; its strings are parts of it.
type address struct {
	url    string
	origin string // scheme, host and port: what a connection serves
	host   string // with a port unless it is the scheme's own
	target string // path and query
	tls    bool
}

// parseURL takes a canonical URL apart. It refuses what could not be canonical
// and would break a request line.
func parseURL(canonical string) (address, error) {
	a := address{url: canonical}
	rest, ok := strings.CutPrefix(canonical, "http://")
	if !ok {
		if rest, a.tls = strings.CutPrefix(canonical, "https://"); !a.tls {
			return address{}, fail(Protocol, "URL is not canonical: neither http:// nor https://")
		}
	}
	for i := range len(canonical) {
		if c := canonical[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return address{}, fail(Protocol, "URL is not canonical: byte %#x", c)
		}
	}
	slash := strings.IndexByte(rest, '/')
	if slash <= 0 || strings.ContainsAny(rest[:slash], "?@") {
		return address{}, fail(Protocol, "URL is not canonical: no host, or no path")
	}
	a.host, a.target = rest[:slash], rest[slash:]
	a.origin = canonical[:len(canonical)-len(a.target)]
	return a, nil
}

// appendRequest appends the head of a GET, which is all there is of it.
func appendRequest(dst []byte, a address, constant []byte, v validators) []byte {
	dst = append(dst, "GET "...)
	dst = append(dst, a.target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, a.host...)
	dst = append(dst, "\r\n"...)
	dst = append(dst, constant...)
	if v.etag != "" {
		dst = append(dst, "If-None-Match: "...)
		dst = append(dst, v.etag...)
		dst = append(dst, "\r\n"...)
	}
	if v.lastModified != "" {
		dst = append(dst, "If-Modified-Since: "...)
		dst = append(dst, v.lastModified...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}
