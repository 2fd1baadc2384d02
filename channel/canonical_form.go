package channel

import (
	"strconv"
	"strings"
)

// isCanonical reports that a URL is its own canonical form, in one pass and
// without memory. It knows the usual spellings alone: where it says false the URL
// may be canonical all the same, and [canonicalise] decides. Bulk subscribers
// mostly send URLs that a node has written.
func isCanonical(raw string) bool {
	if len(raw) > MaxURL {
		return false
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "http" && scheme != "https" {
		return false
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return false
	}
	name, port, hasPort := strings.Cut(rest[:slash], ":")
	if hasPort && (!isCanonicalPort(port) || port == defaultPort(scheme)) {
		return false
	}
	path, query, hasQuery := strings.Cut(rest[slash:], "?")
	return isPlainName(name) && isPlain(path) && !strings.Contains(path, "/.") && (!hasQuery || query != "" && isPlain(query))
}

func isCanonicalPort(port string) bool {
	if port == "" || port[0] < '1' {
		return false
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isPlainName accepts a name of lower-case ASCII, without IDN labels: whether
// those are valid is for another.
func isPlainName(name string) bool {
	if len(name) > 253 || strings.Contains(name, "xn--") {
		return false
	}
	label := 0 // bytes of it so far
	for i := range len(name) {
		switch c := name[i]; {
		case c != '.':
			if label++; label > 63 || !isHostByte(rune(c)) {
				return false
			}
		case label == 0:
			return false
		default:
			label = 0
		}
	}
	return label > 0
}

// isPlain reports what [normaliseEscapes] leaves as it is, and needs no escapes.
func isPlain(s string) bool {
	for i := range len(s) {
		if !plain[s[i]] {
			return false
		}
	}
	return true
}

// plain holds what mayStand says of each byte.
var plain = func() (table [256]bool) {
	for c := range table {
		table[c] = mayStand(byte(c))
	}
	return table
}()
