package feed

import (
	"cmp"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
)

// rss reads RSS 0.9x, 1.0 and 2.0. Items stand in the channel, or beside it.
func (p *plainFeed) rss(root xmlTag) {
	channels := 0
	var beside []feedItem
	p.children(root, func(space, name string, t xmlTag) {
		switch {
		case space != "":
			p.skip(t)
		case name == "channel":
			channels++
			p.stand()
			p.children(t, p.rssChannel)
		case name == "item":
			beside = append(beside, p.item(t, p.rssItem))
		default:
			p.skip(t)
		}
	})
	p.fallback = p.fallback || channels > 1
	p.items = append(p.items, beside...)
}

func (p *plainFeed) rssChannel(space, name string, t xmlTag) {
	switch {
	case space == "" && name == "item":
		p.items = append(p.items, p.item(t, p.rssItem))
	case space == "" && name == "title":
		p.title = p.content(t)
	case space == "" && name == "link":
		p.link = p.rssLink(t)
	case space == "" && name == "ttl":
		p.words.ttl = p.content(t)
	case space == "" && name == "skiphours":
		p.words.hours = p.list(t, "hour")
	case space == "" && name == "skipdays":
		p.words.days = p.list(t, "day")
	case space == "dc" && t.name == "title":
		p.otherTitle = cmp.Or(p.otherTitle, p.foreign(t))
	default:
		p.feedOther(space, name, t)
	}
}

// list returns the texts of an element's children of that name.
func (p *plainFeed) list(parent xmlTag, member string) []string {
	var texts []string
	p.children(parent, func(space, name string, t xmlTag) {
		if name == member {
			texts = append(texts, p.content(t))
		} else {
			p.skip(t)
		}
	})
	return texts
}

// rssLink returns the link that an element's text or its attribute says.
func (p *plainFeed) rssLink(t xmlTag) string {
	for _, a := range p.attributes {
		p.fallback = p.fallback || strings.HasSuffix(a.name, ":href")
	}
	href := p.attribute("href")
	if text := p.content(t); text != "" {
		return links.InBase(p.base, text)
	}
	if href == "" {
		return ""
	}
	return links.InBase(p.base, links.Resolve(p.base, href))
}

// rssMore is what an item has in other vocabularies, the first of each.
type rssMore struct{ title, description, date, summary, updated, modified, enclosure string }

func (p *plainFeed) rssItem(parent xmlTag) feedItem {
	var it feedItem
	var more rssMore
	permalink := true
	p.children(parent, func(space, name string, t xmlTag) {
		switch {
		case space == "content" && name == "encoded":
			it.content = p.content(t)
		case space == other:
			p.skip(t)
		case space != "":
			if !p.more(space, t, &it) {
				p.rssOther(space, t, &more)
			}
		case name == "category":
			it.categories = append(it.categories, p.content(t))
		case name == "title":
			it.title = p.content(t)
		case name == "description":
			it.summary = p.content(t)
		case name == "link":
			it.link = p.rssLink(t)
		case name == "pubdate":
			it.published = p.content(t)
		case name == "guid":
			permalink = cmp.Or(p.attribute("isPermaLink"), p.attribute("isPermalink")) != "false"
			it.guid = p.content(t)
		case name == "enclosure":
			more.enclosure = p.attribute("url")
			p.skip(t)
		default:
			p.skip(t)
		}
	})
	if it.link == "" && permalink && links.IsHTTP(it.guid) {
		it.link = it.guid
	}
	it.link = cmp.Or(it.link, more.enclosure)
	it.title = cmp.Or(it.title, more.title)
	it.summary = cmp.Or(it.summary, more.description, more.summary)
	if it.published != "" {
		it.published = p.date(it.published)
	} else {
		it.published = content.ClampDate(nil, more.date)
	}
	it.updated = content.ClampDate(nil, cmp.Or(more.updated, more.modified))
	return it
}

func (p *plainFeed) rssOther(space string, t xmlTag, more *rssMore) {
	value := more.field(space, t.name)
	if value == nil {
		p.skip(t)
		return
	}
	p.fallback = p.fallback || *value != ""
	*value = p.foreign(t)
}

// field returns where the text of an element goes, nil for nowhere.
func (m *rssMore) field(space, name string) *string {
	switch space + ":" + name {
	case "dc:title":
		return &m.title
	case "dc:description":
		return &m.description
	case "dc:date":
		return &m.date
	case "itunes:summary":
		return &m.summary
	case "atom:updated":
		return &m.updated
	case "dcterms:modified":
		return &m.modified
	}
	return nil
}
