package feed

import (
	"cmp"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// atom reads Atom 0.3 and 1.0.
func (p *plainFeed) atom(root xmlTag) {
	var found atomLinks
	p.children(root, func(space, name string, t xmlTag) {
		switch {
		case space != "":
			p.feedOther(space, name, t)
		case name == "entry":
			p.items = append(p.items, p.item(t, p.atomEntry))
		case name == "title":
			p.title = p.construct(t)
		case name == "link":
			p.atomLink(t, &found)
		default:
			p.skip(t)
		}
	})
	p.link = found.best()
}

func (p *plainFeed) atomEntry(parent xmlTag) feedItem {
	var it feedItem
	var found atomLinks
	source := ""
	p.children(parent, func(space, name string, t xmlTag) {
		if space != "" {
			if !p.more(space, t, &it) {
				p.skip(t)
			}
			return
		}
		switch name {
		case "category":
			it.categories = append(it.categories, p.attribute("term"))
			p.skip(t)
		case "id":
			it.guid = links.Resolve(p.base, p.construct(t))
		case "title":
			it.title = p.construct(t)
		case "summary":
			it.summary = p.construct(t)
		case "content":
			source = p.uri("src")
			it.content = p.construct(t)
		case "link":
			p.atomLink(t, &found)
		case "updated", "modified":
			it.updated = p.date(p.construct(t))
		case "published", "issued":
			it.published = p.date(p.construct(t))
		default:
			p.skip(t)
		}
	})
	it.link = cmp.Or(found.best(), source)
	return it
}

// construct returns what a text construct says, as HTML.
func (p *plainFeed) construct(t xmlTag) string {
	kind, mode := strings.ToLower(p.attribute("type")), p.attribute("mode")
	for _, a := range p.attributes {
		p.fallback = p.fallback || strings.HasSuffix(a.name, ":type") || strings.HasSuffix(a.name, ":mode")
	}
	x := p.inner(t)
	switch {
	case strings.Contains(kind, "xhtml"):
		p.fallback = p.fallback || x.sections
		return p.rebased(html.Unwrap(x.raw))
	case kind == "html":
		p.fallback = p.fallback || x.markup && !x.sections
		return p.rebased(decodeContent(x))
	case kind == "text", strings.HasPrefix(kind, "text/"), kind == "" && mode == "":
		return decodeContent(x)
	}
	p.fallback = p.fallback || x.raw != ""
	return ""
}

// rebased returns HTML with its links resolved, if the document has a base for them.
func (p *plainFeed) rebased(s string) string {
	if p.base == nil {
		return s
	}
	return html.Rebase(s, p.base)
}

// atomLinks are the first links of each relation that matters, the likeliest first.
type atomLinks [3]struct {
	href  string
	known bool
}

func (p *plainFeed) atomLink(t xmlTag, found *atomLinks) {
	at := -1
	switch p.attribute("rel") {
	case "", "alternate":
		at = 0
	case "related":
		at = 1
	case "enclosure":
		at = 2
	}
	if at >= 0 && !found[at].known {
		found[at].href, found[at].known = p.uri("href"), true
	}
	p.skip(t)
}

func (l *atomLinks) best() string {
	for _, link := range l {
		if link.known {
			return link.href
		}
	}
	return ""
}
