package feed

import (
	"cmp"
	"net/url"
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
			p.title, _ = p.construct(t)
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
			it.guid, _ = p.construct(t)
			it.guid = links.Resolve(p.base, it.guid)
		case "title":
			it.title, _ = p.construct(t)
		case "summary":
			it.summary, it.summaryBase = p.construct(t)
		case "content":
			if source = p.attribute("src"); source != "" {
				source = links.Resolve(p.base, source)
			}
			it.content, it.contentBase = p.construct(t)
		case "link":
			p.atomLink(t, &found)
		case "updated", "modified":
			it.updated = p.date(p.plain(t))
		case "published", "issued":
			it.published = p.date(p.plain(t))
		default:
			p.skip(t)
		}
	})
	it.link = cmp.Or(found.best(), source)
	return it
}

// construct returns what a text construct says, as HTML, and the base of its
// links if it has one of its own.
func (p *plainFeed) construct(t xmlTag) (string, *url.URL) {
	kind, mode := strings.ToLower(p.attribute("type")), p.attribute("mode")
	for _, a := range p.attributes {
		p.odd = p.odd || strings.HasSuffix(a.name, ":type") || strings.HasSuffix(a.name, ":mode")
	}
	x := p.inner(t)
	switch {
	case strings.Contains(kind, "xhtml"):
		p.odd = p.odd || x.sections
		return rebased(unwrap(x.raw), p.base)
	case kind == "html":
		p.odd = p.odd || x.markup && !x.sections
		return rebased(decodeContent(x), p.base)
	case kind == "text", strings.HasPrefix(kind, "text/"), kind == "" && mode == "":
		return decodeContent(x), nil
	}
	p.odd = p.odd || x.raw != ""
	return "", nil
}

// plain returns what a text construct says whose base does not matter.
func (p *plainFeed) plain(t xmlTag) string {
	text, _ := p.construct(t)
	return text
}

// unwrap returns what stands in the <div> that XHTML is wrapped in.
func unwrap(s string) string {
	switch o := html.OutlineOf(s); {
	case !o.Simple:
		return html.Unwrap(s)
	case o.Tops == 1 && o.Div:
		return s[o.From:o.To]
	}
	return s
}

// rebased returns HTML and the base that is left for its links, none if they had
// to be resolved.
func rebased(s string, base *url.URL) (string, *url.URL) {
	if base == nil || html.IsSimple(s) {
		return s, base
	}
	return html.Rebase(s, base), nil
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
		found[at].href, found[at].known = links.Resolve(p.base, p.attribute("href")), true
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
