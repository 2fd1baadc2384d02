package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
)

// The limits on API tokens. 16 characters at random, of 64 kinds, are 96 bits:
// no rate of requests guesses one.
const (
	minToken  = 16
	maxToken  = 512
	maxTokens = 64
)

// Tokens are the secrets one of which a request must carry. Only their digests
// are kept, so no log or profile can show them. The zero value asks for none.
type Tokens struct {
	digests [][sha256.Size]byte
}

// ParseTokens reads tokens from texts, each of which holds some between commas,
// spaces and line ends. Its errors name a token by its place alone. Texts that
// hold none are an error: what was meant to shut a door must not leave it open.
func ParseTokens(texts ...string) (Tokens, error) {
	var tokens Tokens
	words := strings.FieldsFunc(strings.Join(texts, "\n"), func(c rune) bool { return c == ',' || c <= ' ' })
	if len(words) == 0 {
		return tokens, fmt.Errorf("no token: want at least one, of %d characters or more", minToken)
	}
	if len(words) > maxTokens {
		return tokens, fmt.Errorf("%d tokens: want at most %d", len(words), maxTokens)
	}
	for i, word := range words {
		if err := checkToken(word); err != nil {
			return Tokens{}, fmt.Errorf("token %d of %d: %w", i+1, len(words), err)
		}
		tokens.digests = append(tokens.digests, sha256.Sum256([]byte(word)))
	}
	return tokens, nil
}

func checkToken(token string) error {
	switch n := len(token); {
	case n < minToken:
		return fmt.Errorf("%d characters: want %d at least, drawn at random (openssl rand -hex 24 makes a good one)", n, minToken)
	case n > maxToken:
		return fmt.Errorf("%d characters: want %d at most", n, maxToken)
	}
	return api.CheckToken(token)
}

// Wanted reports whether requests need a token.
func (t Tokens) Wanted() bool { return len(t.digests) > 0 }

// String keeps even the digests out of logs.
func (t Tokens) String() string { return fmt.Sprintf("%d tokens", len(t.digests)) }

// include reports whether a token is one of these. The time that it takes tells
// nothing of them: digests are compared, each whole, and always all.
func (t Tokens) include(token string) bool {
	given := sha256.Sum256([]byte(token))
	found := 0
	for i := range t.digests {
		found |= subtle.ConstantTimeCompare(given[:], t.digests[i][:])
	}
	return found == 1
}
