package fetcher

import (
	"cmp"
	"strconv"
	"strings"
)

// accept asks for feeds first, where an origin serves several forms of a document.
const accept = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, " +
	"text/html;q=0.8, application/json;q=0.8, */*;q=0.7"

// minSubscribers is the least number of subscribers that is sent to origins:
// fewer could reveal a reader.
const minSubscribers = 10

// constants are the lines that every request carries, made once: as they are, or
// with a number of subscribers between before and after.
type constants struct {
	uncounted     []byte
	before, after []byte
}

func newConstants(c Config) constants {
	const end = "\r\nAccept: " + accept + "\r\nAccept-Encoding: gzip, br, zstd, deflate\r\n"
	before, after := "User-Agent: "+c.product()+" (", " subscribers)"+end
	if c.Contact != "" {
		before += "+" + c.Contact + "; "
	}
	return constants{[]byte("User-Agent: " + c.userAgent() + end), []byte(before), []byte(after)}
}

func (c *constants) append(dst []byte, subscribers uint64) []byte {
	if subscribers < minSubscribers {
		return append(dst, c.uncounted...)
	}
	dst = append(dst, c.before...)
	dst = strconv.AppendUint(dst, subscribers, 10)
	return append(dst, c.after...)
}

// message is what tells one request to a URL from another.
type message struct {
	validators
	delta       bool
	subscribers uint64
	permit      Permit
}

// message returns what is to be sent. A delta is asked for only from what an ETag
// names (RFC 3229, section 10.5.3).
func (r *Request) message() message {
	v := r.validators()
	return message{validators: v, delta: r.Delta && v.etag != "", subscribers: r.Subscribers, permit: r.Permit}
}

// validators are what makes a request conditional (RFC 9110, section 13). They
// are opaque: compared by the origin alone.
type validators struct{ etag, lastModified string }

// validators returns those that the request may carry: none unless its URL is the
// resource that gave them. An ETag such as "1" is true of many resources, and a
// 304 to another one's would lose an update.
func (r *Request) validators() validators {
	if home := cmp.Or(r.ValidatorURL, r.URL); r.URL != home {
		return validators{}
	}
	return validators{sendable(r.ETag), sendable(r.LastModified)}
}

// renewed returns what a 304 with given leaves of the pair that it answers to: the
// ETag stays, since a 304 that names another may be of newer content, which it
// would hide; the date is the 304's if it has one for the same ETag (RFC 9111,
// section 4.3.4).
func (v validators) renewed(given validators) validators {
	if given.lastModified != "" && (given.etag == "" || given.etag == v.etag) {
		v.lastModified = given.lastModified
	}
	return v
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
func (c *constants) appendRequest(dst []byte, a address, m message) []byte {
	dst = append(dst, "GET "...)
	dst = append(dst, a.target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, a.host...)
	dst = append(dst, "\r\n"...)
	dst = c.append(dst, m.subscribers)
	if m.etag != "" {
		dst = append(dst, "If-None-Match: "...)
		dst = append(dst, m.etag...)
		dst = append(dst, "\r\n"...)
	}
	if m.delta {
		dst = append(dst, "A-IM: feed\r\n"...)
	}
	if m.lastModified != "" {
		dst = append(dst, "If-Modified-Since: "...)
		dst = append(dst, m.lastModified...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}
