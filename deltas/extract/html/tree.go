package html

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// Unwrap returns what stands in the <div> that XHTML is wrapped in, as a
// parser's tree writes it down, or s if it has none.
func Unwrap(s string) string {
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
// resolved.
func Rebase(s string, base *url.URL) string {
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
