package deltas

import (
	"crypto/sha256"
	"strings"
)

// Addresses that differ in nothing but http and https are the same, in the judge's
// eyes, wherever they stand.

// face returns the hash that the judge knows a view by: that of the content with
// https in the place of http.
func (c *Core) face() (face Hash) {
	from, at := 0, plainHTTP(c.content, 0)
	if at < 0 {
		return c.Hash
	}
	h := sha256.New()
	for ; at >= 0; at = plainHTTP(c.content, from+len("://")) {
		h.Write(c.Text[from : at+len("http")])
		h.Write([]byte{'s'})
		from = at + len("http")
	}
	h.Write(c.Text[from:len(c.content)])
	copy(face[:], h.Sum(nil))
	return face
}

// plainHTTP returns where the first http:// stands from a place on, -1 if there is
// none. It goes by the colon, which is rarer than any of the letters.
func plainHTTP(s string, from int) int {
	for {
		n := strings.Index(s[from:], "://")
		if n < 0 {
			return -1
		}
		if at := from + n - len("http"); at >= 0 && s[at:from+n] == "http" {
			return at
		}
		from += n + len("://")
	}
}

// sameText reports whether two texts say the same, whichever of http and https
// their addresses begin with.
func sameText(a, b string) bool {
	for a != b {
		n := commonPrefix(a, b)
		if n < len("http") || a[n-len("http"):n] != "http" {
			return false
		}
		a, b = strings.TrimPrefix(a[n:], "s"), strings.TrimPrefix(b[n:], "s")
		if !strings.HasPrefix(a, "://") || !strings.HasPrefix(b, "://") {
			return false
		}
	}
	return true
}
