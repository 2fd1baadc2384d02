// Package html makes lines of pages and of the pieces of HTML that feeds and JSON
// carry. It reads tokens in one pass and builds no tree, but where a tree makes other
// text of XHTML: see [Unwrap] and [Rebase].
package html

import (
	"net/url"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// Read makes lines of what a page shows. It reads tokens and builds no tree:
// building one has taken cubic time on hostile input. feedURL is the feed that the
// page names; it may be empty, as the title.
func Read(text string, base *url.URL) (title, feedURL string, body []string) {
	p := readHTML(text, page{base: base, hiding: true, targets: true})
	return lines.Clip(strings.Join(p.title.Lines, " "), lines.MaxTitle), p.feedURL, p.body.Lines
}

// Lines returns the lines of a piece of HTML, as feeds carry it. Links are resolved
// against base, which may be nil.
func Lines(fragment string, base *url.URL) []string {
	if !strings.ContainsAny(fragment, "<&") {
		var w lines.Writer
		w.Text(fragment)
		w.End()
		return w.Lines
	}
	return readHTML(fragment, page{base: base, hiding: true, targets: true}).body.Lines
}

// PlainLine returns a piece of HTML or text as one line of at most most runes.
func PlainLine(s string, most int) string {
	if !strings.ContainsAny(s, "<&") {
		return lines.Clip(lines.Clean(s), most)
	}
	return lines.Clip(strings.Join(readHTML(s, page{}).body.Lines, " "), most)
}

// page is what is read off an HTML document, token by token.
type page struct {
	base    *url.URL
	body    lines.Writer
	title   lines.Writer
	feedURL string

	inTitle bool
	pre     int    // open <pre>
	row     bool   // in a table row that is one line as long as nothing but text stands in it
	link    string // target of the open <a>, if it matters
	linkAt  int    // where its text began in the line
	control bool   // it leads nowhere: a script makes something of it
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
	p.body.Grow(min(len(text), 1<<10+len(text)/4)) // markup is most of a page, little of a short text
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
	r := reader{rest: text}
	for r.next() {
		switch {
		case r.raw != "":
			p.text(r.raw, r.literal)
		case r.end:
			p.end(r.element)
		default:
			p.start(r.element, &r.attrs)
		}
	}
	p.finish()
}

func (p *page) finish() {
	p.endLink()
	p.body.End()
	p.title.End()
}

// text reads text as it is written. If it is literal, it holds no entities.
func (p *page) text(s string, literal bool) {
	write := p.body.Text
	switch {
	case p.inTitle:
		write = p.title.Text
	case p.hidden.open():
		return
	case p.pre > 0:
		write, s = p.body.Preformatted, unixLines(s)
	}
	if literal {
		write(s)
	} else {
		eachDecoded(s, false, write)
	}
}

func (p *page) start(e element, attrs *attributes) {
	if p.hidden.open() {
		if p.hidden.start(e.name); p.hidden.open() {
			return
		}
	}
	switch {
	case e.is(titleTag):
		p.inTitle = len(p.title.Lines) == 0
		if !p.inTitle {
			p.hide(e)
		}
	case e.is(linkTag):
		p.noteFeed(attrs)
	case e.is(unread) || p.hiding && !e.is(rootTag) && attrs.hide():
		p.hide(e)
	default:
		p.open(e, attrs)
	}
}

// hide skips the element, unless it can have no content.
func (p *page) hide(e element) {
	if !e.is(void) {
		p.hidden = skip{tag: e.name, depth: 1, loose: e.is(loose)}
	}
}

// open reads the start of an element that is read.
func (p *page) open(e element, attrs *attributes) {
	switch {
	case e.is(anchorTag):
		p.endLink()
		if p.targets {
			p.openLink(attrs)
		}
	case e.is(imageTag):
		if alt := lines.Clean(attrs.value(attrAlt)); alt != "" {
			p.body.Text("[" + alt + "]")
		}
	case e.is(cellTag):
		p.body.EndCell()
	case e.is(preTag):
		p.pre++
		p.breakLine()
	default:
		p.boundary(e)
		p.row = p.row && !e.is(structure) || e.is(rowTag)
	}
}

func (p *page) openLink(attrs *attributes) {
	href := attrs.value(attrHref)
	p.link, p.linkAt = links.Target(href, p.base), p.body.Length()
	p.control = links.IsControl(href)
}

// maxRow is the length in bytes up to which a table row stays one line.
const maxRow = 400

// boundary notes where a block begins or ends. Within a row of a table it
// only parts words, so that a cell of two paragraphs stays in its row.
func (p *page) boundary(e element) {
	switch {
	case !e.is(breaks):
	case p.row && !e.is(rowTag|structure) && p.body.Length() < maxRow:
		p.body.Space()
	default:
		p.breakLine()
	}
}

func (p *page) end(e element) {
	if p.hidden.open() {
		p.hidden.end(e.name)
		return
	}
	switch {
	case e.is(titleTag):
		p.inTitle = false
		p.title.End()
	case e.is(anchorTag):
		p.endLink()
	case e.is(cellTag):
		p.endLink()
		p.body.EndCell()
	case e.is(preTag):
		p.pre = max(p.pre-1, 0)
		p.breakLine()
	default:
		p.boundary(e)
		p.row = p.row && !e.is(structure|rowTag)
	}
}

// breakLine ends the line, and before it the link that stands on it. A link
// around blocks is noted behind the first of them that has text.
func (p *page) breakLine() {
	if p.body.Length() > p.linkAt {
		p.endLink()
	}
	p.body.End()
	p.linkAt = 0
}

// endLink writes the link's target behind its text, if there was any that does
// not spell it out, and marks a control that stands where its line begins, or
// behind others.
func (p *page) endLink() {
	if line := p.body.Line(); len(line) > p.linkAt {
		switch {
		case p.link != "" && !strings.Contains(line[p.linkAt:], p.link):
			p.mark(p.link)
		case p.control && (p.linkAt == 0 || strings.HasSuffix(line[:p.linkAt], lines.ControlMark)):
			p.mark(lines.Controlled)
		}
	}
	p.link, p.control = "", false
}

func (p *page) mark(target string) {
	p.body.Space()
	p.body.Text(lines.TargetOpen)
	p.body.Text(target)
	p.body.Text(lines.TargetClose)
}

// noteFeed keeps the first feed that the page names.
func (p *page) noteFeed(attrs *attributes) {
	if p.feedURL != "" || !strings.Contains(strings.ToLower(attrs.value(attrRel)), "alternate") {
		return
	}
	switch strings.ToLower(attrs.value(attrType)) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml":
		p.feedURL = links.Clean(attrs.value(attrHref), p.base)
	}
}
