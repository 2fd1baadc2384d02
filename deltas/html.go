package deltas

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// extractHTML makes lines of what a page shows. It reads tokens and builds no
// tree: building one has taken cubic time on hostile input.
func extractHTML(text string, base *url.URL) *draft {
	p := readHTML(text, page{base: base, hiding: true, targets: true})
	return &draft{kind: KindHTML, title: clipRunes(strings.Join(p.title.lines, " "), maxTitle), feedURL: p.feedURL, lines: p.body.lines}
}

// htmlLines returns the lines of a piece of HTML, as feeds carry it.
func htmlLines(fragment string, base *url.URL) []string {
	return extractHTML(fragment, base).lines
}

// plainLine returns a piece of HTML or text as one line of at most most runes.
func plainLine(s string, most int) string {
	if !strings.ContainsAny(s, "<&") {
		return clipRunes(cleanLine(s), most)
	}
	return clipRunes(strings.Join(readHTML(s, page{}).body.lines, " "), most)
}

// cleanLine collapses white space and drops invisible characters.
func cleanLine(s string) string {
	var w lineWriter
	w.text(s)
	return w.line.String()
}

// page is what is read off an HTML document, token by token.
type page struct {
	base    *url.URL
	body    lineWriter
	title   lineWriter
	feedURL string

	inTitle bool
	pre     int    // open <pre>
	row     bool   // in a table row that is one line as long as nothing but text stands in it
	link    string // target of the open <a>, if it matters
	linkAt  int    // where its text began in the line
	hidden  skip
	hiding  bool // attributes may hide
	targets bool // link targets are noted
}

// skip is an element whose content is not read.
type skip struct {
	tag   string
	depth int  // open elements of that name
	loose bool // its end tag may be missing: the next of its name ends it
}

func (s *skip) open() bool { return s.tag != "" }

func (s *skip) start(tag string) {
	switch {
	case tag != s.tag:
	case s.loose:
		s.tag = ""
	default:
		s.depth++
	}
}

func (s *skip) end(tag string) {
	if tag != s.tag {
		return
	}
	if s.depth--; s.depth == 0 {
		s.tag = ""
	}
}

// readHTML reads a document as the given page asks for.
func readHTML(text string, options page) *page {
	p := new(page)
	*p = options
	p.tokens(text)
	if p.hidden.open() && options.hiding {
		// Something hidden never ended. More likely a forgotten end tag than a
		// page without content.
		options.hiding = false
		return readHTML(text, options)
	}
	return p
}

func (p *page) tokens(text string) {
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken: // the end: a reader of a string has no other error
			p.endLink()
			p.body.end()
			p.title.end()
			return
		case html.TextToken:
			p.text(z)
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(string(name))
		}
	}
}

func (p *page) text(z *html.Tokenizer) {
	switch {
	case p.inTitle:
		p.title.text(string(z.Text()))
	case p.hidden.open():
	case p.pre > 0:
		for line := range strings.Lines(string(z.Text())) {
			p.body.text(line)
			if strings.HasSuffix(line, "\n") {
				p.body.end()
			}
		}
	default:
		p.body.text(string(z.Text()))
	}
}

func (p *page) start(z *html.Tokenizer) {
	rawName, more := z.TagName()
	name := string(rawName)
	if p.hidden.open() {
		if p.hidden.start(name); p.hidden.open() {
			return
		}
	}
	attrs := readAttributes(z, more)
	switch tag := atom.Lookup([]byte(name)); {
	case tag == atom.Title:
		p.inTitle = len(p.title.lines) == 0
		if !p.inTitle {
			p.hide(name)
		}
	case tag == atom.Link:
		p.noteFeed(attrs)
	case unread[tag] || p.hiding && attrs.hides(name):
		p.hide(name)
	default:
		p.open(tag, attrs)
	}
}

// hide skips the element, unless it can have no content.
func (p *page) hide(name string) {
	if tag := atom.Lookup([]byte(name)); !void[tag] {
		p.hidden = skip{tag: name, depth: 1, loose: loose[tag]}
	}
}

// open takes in the start of an element that is read.
func (p *page) open(tag atom.Atom, attrs attributes) {
	switch {
	case tag == atom.A:
		p.endLink()
		if p.targets {
			p.link, p.linkAt = linkTarget(attrs.href, p.base), p.body.line.Len()
		}
	case tag == atom.Img:
		if alt := cleanLine(attrs.alt); alt != "" {
			p.body.text("[" + alt + "]")
		}
	case tag == atom.Td, tag == atom.Th:
		p.body.endCell()
	case tag == atom.Pre:
		p.pre++
		p.breakLine()
	default:
		p.boundary(tag)
		p.row = p.row && !structures[tag] || tag == atom.Tr
	}
}

// maxRow is the length in bytes up to which a table row stays one line.
const maxRow = 400

// boundary takes in where a block begins or ends. Within a row of a table it
// only parts words, so that a cell of two paragraphs stays in its row.
func (p *page) boundary(tag atom.Atom) {
	switch {
	case tag != atom.Br && !breaks[tag]:
	case p.row && tag != atom.Tr && !structures[tag] && p.body.line.Len() < maxRow:
		p.body.space = true
	default:
		p.breakLine()
	}
}

func (p *page) end(name string) {
	if p.hidden.open() {
		p.hidden.end(name)
		return
	}
	switch tag := atom.Lookup([]byte(name)); {
	case tag == atom.Title:
		p.inTitle = false
		p.title.end()
	case tag == atom.A:
		p.endLink()
	case tag == atom.Td, tag == atom.Th:
		p.endLink()
		p.body.endCell()
	case tag == atom.Pre:
		p.pre = max(p.pre-1, 0)
		p.breakLine()
	default:
		p.boundary(tag)
		p.row = p.row && !structures[tag] && tag != atom.Tr
	}
}

// breakLine ends the line, and before it the link that stands on it. A link
// around blocks is noted behind the first of them that has text.
func (p *page) breakLine() {
	if p.body.line.Len() > p.linkAt {
		p.endLink()
	}
	p.body.end()
	p.linkAt = 0
}

// endLink writes the link's target behind its text, if there was any that does
// not spell it out.
func (p *page) endLink() {
	if p.link != "" && p.body.line.Len() > p.linkAt && !strings.Contains(p.body.line.String()[p.linkAt:], p.link) {
		p.body.space = true
		p.body.text(targetOpen + p.link + targetClose)
	}
	p.link = ""
}

// noteFeed keeps the first feed that the page names.
func (p *page) noteFeed(attrs attributes) {
	if p.feedURL != "" || !strings.Contains(attrs.rel, "alternate") {
		return
	}
	switch attrs.mediaType {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		p.feedURL = cleanLink(attrs.href, p.base)
	}
}

// A link's target stands between these behind its text.
const (
	targetOpen  = "⟨"
	targetClose = "⟩"
)

// withoutTargets removes the link targets from a line.
func withoutTargets(line string) string {
	for {
		open := strings.Index(line, " "+targetOpen)
		if open < 0 {
			return line
		}
		length := strings.Index(line[open:], targetClose)
		if length < 0 {
			return line
		}
		line = line[:open] + line[open+length+len(targetClose):]
	}
}
