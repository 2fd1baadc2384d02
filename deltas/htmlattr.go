package deltas

import (
	"strings"

	"golang.org/x/net/html"
)

// attributes are those that matter here, values as they stand.
type attributes struct {
	href, alt, rel, mediaType, style string
	hidden                           bool
}

// maxTagAttributes is how many attributes of a tag are looked at.
const maxTagAttributes = 128

func readAttributes(z *html.Tokenizer, more bool) (a attributes) {
	for n := 0; more && n < maxTagAttributes; n++ {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			a.href = string(value)
		case "alt":
			a.alt = string(value)
		case "rel":
			a.rel = strings.ToLower(string(value))
		case "type":
			a.mediaType = strings.ToLower(string(value))
		case "style":
			a.style = strings.ToLower(strings.ReplaceAll(string(value), " ", ""))
		case "hidden":
			a.hidden = string(value) != "until-found"
		}
	}
	return a
}

// hides reports an element that its attributes keep from being seen.
func (a *attributes) hides(name string) bool {
	if name == "body" || name == "html" {
		return false // shown by a script sooner or later
	}
	return a.hidden || strings.Contains(a.style, "display:none") || strings.Contains(a.style, "visibility:hidden")
}
