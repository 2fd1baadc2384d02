package deltas

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What differs in http and https alone is what is the same once all is https.
func TestSecure(t *testing.T) {
	secured := func(s string) string { return strings.ReplaceAll(s, "http://", "https://") }
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"http", "s", "://", "http://", "https://", "h", "example.com", "a b"}), 0, 8),
			func(parts []string) string { return strings.Join(parts, "") })
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if rapid.Bool().Draw(t, "alike") {
			b = secured(a)
		}
		if got, want := sameText(a, b), secured(a) == secured(b); got != want {
			t.Fatalf("sameText(%q, %q) = %v", a, b, got)
		}
		c := &Core{Text: []byte(a), content: a, Hash: hashOf([]byte(a))}
		if c.face() != hashOf([]byte(secured(a))) {
			t.Fatalf("face of %q is not the hash of %q", a, secured(a))
		}
	})
}
