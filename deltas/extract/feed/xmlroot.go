package feed

import "strings"

// IsRoot reports the lower-case local name of a feed's root element.
func IsRoot(name string) bool { return name == "rss" || name == "rdf" || name == "feed" }

// RootElement returns the lower-case local name of the first element, and where
// its tag begins; comments, processing instructions and the DOCTYPE are passed
// over. The name is "html" for an HTML DOCTYPE, and empty when text comes first.
func RootElement(text string) (name string, at int) {
	for {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r\n"))
		rest := text[at:]
		switch {
		case strings.HasPrefix(rest, "<!--"):
			at = after(text, at, "-->")
		case strings.HasPrefix(rest, "<?"):
			at = after(text, at, "?>")
		case strings.HasPrefix(rest, "<!"):
			if hasPrefixFold(rest, "<!doctype html") {
				return "html", at
			}
			at = afterDoctype(text, at)
		case strings.HasPrefix(rest, "<"):
			return localName(rest[1:]), at
		default:
			return "", at
		}
	}
}

// after returns the index behind the next end, or the end of the text.
func after(text string, at int, end string) int {
	if i := strings.Index(text[at:], end); i >= 0 {
		return at + i + len(end)
	}
	return len(text)
}

// afterDoctype passes over a DOCTYPE with its internal subset, which is never
// read: that is where entities are declared.
func afterDoctype(text string, at int) int {
	end := after(text, at, ">")
	if open := strings.IndexByte(text[at:end], '['); open < 0 {
		return end
	}
	return after(text, after(text, at, "]"), ">")
}

// localName returns the lower-case name at the beginning of s without its prefix.
func localName(s string) string {
	end := strings.IndexAny(s, " \t\r\n/>")
	if end < 0 || end > 64 {
		return ""
	}
	name := strings.ToLower(s[:end])
	if _, local, ok := strings.Cut(name, ":"); ok {
		return local
	}
	return name
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
