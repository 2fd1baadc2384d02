package fetcher

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"
)

// Source is what an origin said how long its content stays fresh with.
type Source uint8

// The sources.
const (
	SourceNone    Source = iota // nothing, or that it is stale at once
	SourceMaxAge                // Cache-Control: max-age
	SourceExpires               // Expires
)

// Freshness is how long content needs not be asked for again (RFC 9111, section
// 4.2), as a private cache understands it: s-maxage is not for us, and nothing is
// guessed where nothing was said.
type Freshness struct {
	Lifetime  time.Duration // from the origin, as it said; 0: none
	Remaining time.Duration // of it from [Response.Finished] on; 0 to Lifetime
	Source    Source
}

// RetryAfter is the field of that name (RFC 9110, section 10.2.3): seconds, or a
// date in any of the three forms.
type RetryAfter struct {
	After time.Duration // from [Response.Finished] on; 0: at once, or it cannot be read
	Given bool          // it was there: the origin wants a pause, however it said that
}

// freshness reads what a response says of its own freshness. asked and received
// are when its request was made and when it was complete.
func freshness(header *fasthttp.ResponseHeader, asked, received time.Time) Freshness {
	lifetime, source := lifetime(header, received)
	if lifetime <= 0 || variesOnAll(header) {
		return Freshness{}
	}
	return Freshness{
		Lifetime:  lifetime,
		Remaining: max(0, lifetime-age(header, asked, received)),
		Source:    source,
	}
}

// variesOnAll reports that Vary has a member "*": no request is like another then,
// so that nothing may be used again unasked (section 4.1). Other members tell our
// requests for a URL from other people's, not from each other.
func variesOnAll(header *fasthttp.ResponseHeader) bool {
	for _, value := range header.PeekAll(fasthttp.HeaderVary) {
		for member := range bytes.SplitSeq(value, []byte(",")) {
			if string(bytes.TrimSpace(member)) == "*" {
				return true
			}
		}
	}
	return false
}

// lifetime returns the freshness lifetime: max-age wins over Expires (section
// 4.2.1), and no-cache and no-store over both. A date that is none is in the past
// (section 5.3).
func lifetime(header *fasthttp.ResponseHeader, received time.Time) (time.Duration, Source) {
	control := parseCacheControl(header)
	switch {
	case control.uncached:
		return 0, SourceNone
	case control.hasMaxAge:
		return control.maxAge, SourceMaxAge
	}
	expires, ok := date(header.Peek(fasthttp.HeaderExpires), received)
	if !ok {
		return 0, SourceNone
	}
	return expires.Sub(sentAt(header, received)), SourceExpires
}

// age is the current age of a response when it is complete (section 4.2.3): the
// larger of what the clocks say, and of what caches on the way say with the time
// that it took to come. Of several values of Age the first counts, and one that is
// no number is none (section 5.1).
func age(header *fasthttp.ResponseHeader, asked, received time.Time) time.Duration {
	value, _, _ := bytes.Cut(header.Peek(fasthttp.HeaderAge), []byte(","))
	said, _ := seconds(bytes.TrimSpace(value))
	return max(said+received.Sub(asked), received.Sub(sentAt(header, received)))
}

// sentAt returns the response's Date, or when it was received if it has none.
func sentAt(header *fasthttp.ResponseHeader, received time.Time) time.Time {
	if at, ok := date(header.Peek(fasthttp.HeaderDate), received); ok {
		return at
	}
	return received
}

// retryAfter reads Retry-After. A date counts from the origin's own Date, whose
// clock it was made with.
func retryAfter(header *fasthttp.ResponseHeader, received time.Time) RetryAfter {
	value := header.Peek(fasthttp.HeaderRetryAfter)
	if after, ok := seconds(value); ok {
		return RetryAfter{after, true}
	}
	if at, ok := date(value, received); ok {
		return RetryAfter{max(0, at.Sub(sentAt(header, received))), true}
	}
	return RetryAfter{Given: len(value) > 0}
}

// cacheControl is what a private cache that always revalidates heeds of
// Cache-Control. must-understand is not for it, so that the no-store beside it
// counts (section 5.2.2.3).
type cacheControl struct {
	maxAge    time.Duration
	hasMaxAge bool
	uncached  bool // no-cache or no-store: nothing to wait for
}

// parseCacheControl reads the directives of all fields of that name.
func parseCacheControl(header *fasthttp.ResponseHeader) cacheControl {
	var control cacheControl
	for _, value := range header.PeekAll(fasthttp.HeaderCacheControl) {
		for len(value) > 0 {
			var directive []byte
			directive, value = cutDirective(value)
			control.add(bytes.TrimSpace(directive))
		}
	}
	return control
}

// cutDirective cuts a list at its first comma that is not in a quoted string.
func cutDirective(list []byte) (first, rest []byte) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return list[:i], list[i+1:]
		}
	}
	return list, nil
}

// add heeds a directive. Of two max-age the first counts, and one that is no
// number is stale at once (section 4.2.1). no-cache with an argument is about the
// fields that it names, none of which we keep (section 5.2.2.4).
func (c *cacheControl) add(directive []byte) {
	name, argument, _ := bytes.Cut(directive, []byte("="))
	switch {
	case equalFold(name, "no-store"), equalFold(name, "no-cache") && len(argument) == 0:
		c.uncached = true
	case equalFold(name, "max-age") && !c.hasMaxAge:
		c.maxAge, _ = seconds(unquoted(argument))
		c.hasMaxAge = true
	}
}

// unquoted returns what an argument's quoted string holds: it may be one where a
// token would do (section 5.2).
func unquoted(argument []byte) []byte {
	if last := len(argument) - 1; last > 0 && argument[0] == '"' && argument[last] == '"' {
		return argument[1:last]
	}
	return argument
}

// seconds reads delta-seconds: digits alone. More than 2^31 count as that many
// (section 1.2.2), which leaves room for sums. Not ok: something else.
func seconds(value []byte) (d time.Duration, ok bool) {
	const most = 1 << 31
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(10*n+int64(c-'0'), most)
	}
	return time.Duration(n) * time.Second, len(value) > 0
}
