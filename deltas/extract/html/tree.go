package html

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// The caps on a tree, see [Grows].
const (
	maxFormatting = 32      // formatting elements that are open at a time: more than editors nest, and forget to close
	maxNodes      = 1 << 20 // of some 200 bytes each
)

// Grows reports HTML whose tree may be many times as large as the HTML. Formatting
// elements that are not closed are opened again in each paragraph that follows (HTML,
// 13.2.4.3, the list of active formatting elements): 100 KB make a tree of gigabytes.
// An element counts as closed where the end tag is that of the last open element. What
// other end tags close is decided by the adoption agency algorithm, which may leave the
// element in the list, and what stands in or behind SVG and MathML by rules of their own.
func Grows(s string) bool {
	tags := strings.Count(s, "<")
	if tags <= maxFormatting {
		return false
	}
	sections := strings.Contains(s, "<![CDATA[")
	var names []string // of the open elements
	open, most, foreign := 0, 0, false
	for r := (reader{rest: s}); r.next(); {
		switch last := len(names) - 1; {
		case r.raw != "" || !r.end && r.is(void):
		case !r.end:
			names = append(names, r.name)
			if r.is(formatting) {
				open++
			}
			foreign = foreign || r.name == "svg" || r.name == "math"
			if foreign && (sections || r.is(rawTag) && strings.Contains(r.rest[:rawLength(r.rest, r.name)], "<")) {
				return true // what holds no markup elsewhere may hold some there
			}
		case last >= 0 && names[last] == r.name && !foreign:
			names = names[:last]
			if r.is(formatting) {
				open--
			}
		}
		if most = max(most, open); most > maxFormatting {
			return true
		}
	}
	return tags*(1+most) > maxNodes
}

// Unwrap returns what stands in the <div> that XHTML is wrapped in, as a
// parser's tree writes it down, or s if it has none or its tree grows too large.
func Unwrap(s string) string {
	if Grows(s) {
		return s
	}
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	var div *html.Node
	for n := range childrenOfBody(doc) {
		if n.Type != html.ElementNode {
			continue
		}
		if div != nil || n.Data != "div" {
			return s
		}
		div = n
	}
	if div == nil {
		return s
	}
	return writeHTML(slices.Collect(div.ChildNodes())...)
}

func childrenOfBody(doc *html.Node) func(func(*html.Node) bool) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "body" {
			return n.ChildNodes()
		}
	}
	return func(func(*html.Node) bool) {}
}

// Rebase returns HTML, as a parser's tree writes it down, with its links
// resolved, or s if its tree grows too large.
func Rebase(s string, base *url.URL) string {
	if Grows(s) {
		return s
	}
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	for n := range doc.Descendants() {
		for i, a := range n.Attr {
			if a.Key == "href" {
				n.Attr[i].Val = links.Resolve(base, a.Val)
			}
		}
	}
	whole := strings.TrimPrefix(writeHTML(doc), "<html><head></head><body>")
	return strings.TrimSuffix(whole, "</body></html>")
}

func writeHTML(nodes ...*html.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		if err := html.Render(&b, n); err != nil {
			return b.String() // what cannot be written ends it, as it does for a reader
		}
	}
	return b.String()
}
