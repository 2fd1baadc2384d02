package extract

import (
	"encoding/json"
	"mime"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/feed"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// junkWindow is how far into a document a feed's root is looked for behind
// what should not be there: a warning of the server's, a stray blank line.
const junkWindow = 16 << 10

// Detect returns the kind of a document and the text from its root on. Content
// decides; the Content-Type only where content alone cannot tell. JSON Feed is
// JSON here: see [jsondoc.Draft].
func Detect(text string, doc Document) (content.Kind, string, error) {
	text = strings.TrimSpace(text)
	if doc.Kind == content.KindText || doc.Kind == content.KindHTML {
		return doc.Kind, text, nil
	}
	if doc.Kind == content.KindJSON || doc.Kind == 0 && looksLikeJSON(text, doc.ContentType) {
		return content.KindJSON, text, nil
	}
	if root, ok := findFeed(text); ok {
		return content.KindFeed, root, nil
	}
	if doc.Kind == content.KindFeed {
		if looksLikeJSON(text, doc.ContentType) {
			return content.KindFeed, text, nil
		}
		return content.KindFeed, "", &content.ParseError{Kind: content.KindFeed, Reason: "no rss, rdf or feed element"}
	}
	if looksLikeHTML(text, doc.ContentType) {
		return content.KindHTML, text, nil
	}
	return content.KindText, text, nil
}

// looksLikeJSON reports what only JSON begins with. What begins so and is not
// valid JSON is a broken document, not text: text would make an update of it.
func looksLikeJSON(text, contentType string) bool {
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	if mediaType, _, _ := mime.ParseMediaType(contentType); strings.HasSuffix(mediaType, "json") {
		return true
	}
	next := strings.TrimLeft(text[1:], " \t\r\n")
	if next == "" {
		return false
	}
	return text[0] == '{' && strings.ContainsRune(`"}`, rune(next[0])) ||
		text[0] == '[' && strings.ContainsRune(`{["]`, rune(next[0])) ||
		json.Valid([]byte(text))
}

// findFeed returns the text from a feed's root element on.
func findFeed(text string) (string, bool) {
	name, at := feed.RootElement(text)
	if feed.IsRoot(name) {
		return text[at:], true
	}
	if isHTMLRoot(name) {
		return "", false
	}
	window := text[:min(len(text), junkWindow)]
	if i := strings.Index(window, "<?xml"); i > 0 {
		if name, at := feed.RootElement(text[i:]); feed.IsRoot(name) {
			return text[i+at:], true
		}
	}
	for _, root := range [...]string{"<rss", "<rdf:RDF", "<feed"} {
		if i := strings.Index(window, root); i > 0 {
			if name, at := feed.RootElement(text[i:]); feed.IsRoot(name) {
				return text[i+at:], true
			}
		}
	}
	return "", false
}

func isHTMLRoot(name string) bool { return name == "html" || name == "body" || name == "head" }

// looksLikeHTML reports documents whose first element, or what stands near their
// beginning, is HTML's. Any element counts, since a piece of a page may begin with any,
// but where the document or its header says that it is other XML.
func looksLikeHTML(text, contentType string) bool {
	head := strings.ToLower(text[:min(len(text), 1024)])
	name, at := feed.RootElement(text)
	if isHTMLRoot(name) || strings.Contains(head, "<html") || strings.Contains(head, "<!doctype html") || strings.Contains(head, "<body") {
		return true
	}
	mediaType, _, _ := mime.ParseMediaType(contentType)
	if mediaType == "text/html" || mediaType == "application/xhtml+xml" {
		return strings.Contains(head, "<")
	}
	isXML := strings.HasSuffix(mediaType, "xml") || strings.HasPrefix(head, "<?xml") || strings.HasPrefix(head, "<!doctype")
	return !isXML && name != "" && scan.IsLetter(name[0]) && !strings.ContainsAny(name, "@.") && !declaresXML(text[at:])
}

// declaresXML reports a first tag with a namespace other than that of XHTML.
func declaresXML(tag string) bool {
	tag, _, _ = strings.Cut(tag, ">")
	return strings.Contains(tag, "xmlns") && !strings.Contains(tag, "http://www.w3.org/1999/xhtml")
}
