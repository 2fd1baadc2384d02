package api

import (
	"errors"
	"strings"
)

// CheckToken says what keeps a text from being sent as a bearer token: it must
// be a b64token (RFC 6750, section 2.1). The error does not repeat any of it.
func CheckToken(token string) error {
	if token == "" {
		return errors.New("empty")
	}
	body := strings.TrimRight(token, "=")
	if body == "" || strings.ContainsFunc(body, func(c rune) bool { return !isTokenChar(c) }) {
		return errors.New("want letters, digits and any of -._~+/ alone, with = at the end only")
	}
	return nil
}

func isTokenChar(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-._~+/", c)
}
