package content

import "fmt"

// Kind is what a document is, by its content. The zero Kind means unknown; in
// a [extract.Document] it asks for the kind to be found.
type Kind uint8

// The kinds of document. The numbers are part of stored formats.
const (
	KindText Kind = iota + 1
	KindHTML
	KindJSON
	KindFeed
)

var kindNames = [...]string{"unknown", "text", "html", "json", "feed"}

// String returns "text", "html", "json" or "feed", and "unknown" otherwise.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return kindNames[0]
	}
	return kindNames[k]
}

// ParseKind is the inverse of [Kind.String] for the four kinds.
func ParseKind(s string) (Kind, error) {
	for k := KindText; k <= KindFeed; k++ {
		if s == k.String() {
			return k, nil
		}
	}
	return 0, fmt.Errorf("kind %.40q: want text, html, json or feed", s)
}
