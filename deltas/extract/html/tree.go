package html

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
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
// element in the list, and what stands in or behind SVG and MathML by rules of their own,
// unless that is a plain drawing or formula.
func Grows(s string) bool {
	if !Many(s) {
		return false
	}
	tags := strings.Count(s, "<")
	sections := strings.Contains(s, "<![CDATA[")
	var names []string // of the open elements
	open, most, foreign := 0, 0, false
	for r := (reader{rest: s}); r.next(); {
		if !foreign && !r.end && foreignRoots[r.name] {
			if behind, plain := r.behindForeign(s); plain {
				r = behind
				continue
			}
		}
		switch last := len(names) - 1; {
		case r.raw != "" || !r.end && r.is(void):
		case !r.end:
			names = append(names, r.name)
			if r.is(formatting) {
				open++
			}
			foreign = foreign || foreignRoots[r.name]
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

// Many reports HTML with so many tags that it may grow.
func Many(s string) bool { return strings.Count(s, "<") > maxFormatting }

var (
	foreignRoots = scan.Set("svg", "math")
	// foreignNames are elements of SVG and MathML within which nothing is HTML, and that are
	// none of HTML's that matter here, wherever they stand.
	foreignNames = scan.Set(strings.Fields("svg g path circle rect line polyline polygon ellipse use defs symbol stop lineargradient radialgradient clippath " +
		"mask pattern marker text tspan math mrow msup msub msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mspace mstyle mpadded " +
		"mphantom menclose mfenced semantics annotation")...)
	// foreignTexts are those within which tags would be HTML, or text.
	foreignTexts = scan.Set("title", "style", "desc", "mi", "mo", "mn", "ms", "mtext")
)

// behindForeign returns the reader behind the end of an SVG or MathML element of s whose
// start tag was read; false unless it is closed, and so is all in it, and nothing in it
// might be HTML.
func (r reader) behindForeign(s string) (behind reader, plain bool) {
	from := len(s) - len(r.rest)
	for names := []string{r.name}; len(names) > 0; {
		if !r.next() {
			return r, false
		}
		last := names[len(names)-1]
		at := len(s) - len(r.rest)
		switch {
		case r.raw != "":
			if strings.Contains(r.raw, "<") {
				return r, false
			}
		case r.end:
			if r.name != last {
				return r, false
			}
			names = names[:len(names)-1]
		case foreignTexts[last], !foreignNames[r.name] && !foreignTexts[r.name]:
			return r, false
		case r.is(rawTag) && (s[at-2] == '/' || strings.Contains(r.rest[:rawLength(r.rest, r.name)], "<")):
			return r, false
		case s[at-2] != '/':
			names = append(names, r.name)
		}
	}
	return r, !strings.Contains(s[from:len(s)-len(r.rest)], "<!")
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
