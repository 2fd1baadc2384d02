// Package feed reads RSS, Atom and JSON Feed: nearly all in place, the others with
// gofeed, and what is broken after mending it.
package feed

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
	"github.com/seed-91e7e7c1/corona/deltas/extract/jsondoc"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// feedItem is an item as its format has it, before it has an identity.
type feedItem struct {
	guid               string
	title, link        string
	summary, content   string // HTML
	published, updated string // RFC 3339 or empty

	categories []string
	geometry   []string // each a name and what it says

	source uint64              // digest of what the item was read from, 0: not remembered
	known  *content.DraftEntry // instead of all else, if the document before had the item
}

// Read reads RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0 and JSON Feed. The
// text begins with the root. Plain feeds are read in place; gofeed, which takes
// several times as long, reads all the others. What is an error or shows no
// entries is mended, if it can be.
func Read(text string, base *url.URL, known *content.Familiar) (*content.Draft, error) {
	if strings.HasPrefix(text, "{") {
		root, err := jsondoc.Read(text, content.KindFeed)
		if err != nil {
			return nil, err
		}
		return FromJSON(&root, base, known), nil
	}
	d, err := readXML(text, base, known)
	if err == nil && len(d.Entries) > 0 {
		return d, nil
	}
	mended, cut := mendXML(text)
	if mended == "" {
		return d, err
	}
	again, failed := readXML(mended, base, known)
	if failed != nil || len(again.Entries) == 0 {
		return d, err
	}
	again.Cut = cut
	return again, nil
}

func readXML(text string, base *url.URL, known *content.Familiar) (*content.Draft, error) {
	if d, ok := readPlain(text, base, known); ok {
		return d, nil
	}
	return parseFeed(text, base)
}

// parseFeed reads a feed with gofeed.
func parseFeed(text string, base *url.URL) (*content.Draft, error) {
	text, err := boundXML(text)
	if err != nil {
		return nil, err
	}
	if name, _ := RootElement(text); name == "feed" {
		return extractAtom(text, base)
	}
	return extractRSS(text, base)
}

func extractRSS(text string, base *url.URL) (*content.Draft, error) {
	feed, err := (&rss.Parser{}).Parse(strings.NewReader(text))
	if err != nil {
		return nil, feedError(err)
	}
	items := make([]feedItem, 0, len(feed.Items))
	for _, item := range feed.Items {
		items = append(items, rssItem(item))
	}
	title := feed.Title
	if title == "" && feed.DublinCoreExt != nil {
		title = first(feed.DublinCoreExt.Title)
	}
	d := newFeedDraft(title, feed.Link, items, base, "")
	words := hintWords{ttl: feed.TTL, hours: feed.SkipHours, days: feed.SkipDays}
	words.syndication(feed.Extensions)
	d.Hints = words.hints()
	return d, nil
}

func rssItem(item *rss.Item) feedItem {
	it := feedItem{
		title: item.Title, link: item.Link, summary: item.Description, content: item.Content,
		published: item.PubDate,
	}
	if item.GUID != nil {
		it.guid = item.GUID.Value
	}
	if it.link == "" && item.GUID != nil && item.GUID.IsPermalink != "false" && links.IsHTTP(it.guid) {
		it.link = it.guid
	}
	if it.link == "" && item.Enclosure != nil {
		it.link = item.Enclosure.URL
	}
	if dc := item.DublinCoreExt; dc != nil {
		it.title = cmp.Or(it.title, first(dc.Title))
		it.summary = cmp.Or(it.summary, first(dc.Description))
		it.published = cmp.Or(it.published, first(dc.Date))
	}
	if it.summary == "" && item.ITunesExt != nil {
		it.summary = item.ITunesExt.Summary
	}
	it.updated = cmp.Or(extension(item.Extensions, "atom", "updated"), extension(item.Extensions, "dcterms", "modified"))
	it.published, it.updated = content.ClampDate(item.PubDateParsed, it.published), content.ClampDate(nil, it.updated)
	for _, category := range item.Categories {
		it.categories = append(it.categories, category.Value)
	}
	it.extend(item.Extensions)
	return it
}

// extend adds the categories and the geometry of other vocabularies.
func (it *feedItem) extend(exts ext.Extensions) {
	for _, subject := range exts["dc"]["subject"] {
		it.categories = append(it.categories, subject.Value)
	}
	for space := range geometrySpaces {
		for _, elements := range exts[space] {
			it.locate("", elements)
		}
	}
}

// geometrySpaces are the vocabularies all of whose elements are geometry.
var geometrySpaces = scan.Set("georss", "geo")

// locate adds what elements say, and what those in them say, each behind the names
// of the elements that it stands in.
func (it *feedItem) locate(within string, elements []ext.Extension) {
	for _, e := range elements {
		if e.Value != "" {
			it.geometry = append(it.geometry, within+e.Name+" "+e.Value)
		}
		for _, children := range e.Children {
			it.locate(within+e.Name+" ", children)
		}
	}
}

func extension(exts ext.Extensions, prefix, name string) string {
	if values := exts[prefix][name]; len(values) > 0 {
		return values[0].Value
	}
	return ""
}

func extractAtom(text string, base *url.URL) (*content.Draft, error) {
	feed, err := (&atom.Parser{}).Parse(strings.NewReader(boundTrees(text)))
	if err != nil {
		return nil, feedError(err)
	}
	items := make([]feedItem, 0, len(feed.Entries))
	for _, entry := range feed.Entries {
		items = append(items, atomItem(entry))
	}
	d := newFeedDraft(feed.Title, atomLink(feed.Links), items, base, "")
	var words hintWords
	words.syndication(feed.Extensions)
	d.Hints = words.hints()
	return d, nil
}

func atomItem(entry *atom.Entry) feedItem {
	it := feedItem{
		guid: entry.ID, title: entry.Title, link: atomLink(entry.Links), summary: entry.Summary,
		published: content.ClampDate(entry.PublishedParsed, entry.Published),
		updated:   content.ClampDate(entry.UpdatedParsed, entry.Updated),
	}
	if entry.Content != nil {
		it.content = entry.Content.Value
		it.link = cmp.Or(it.link, entry.Content.Src)
	}
	for _, category := range entry.Categories {
		it.categories = append(it.categories, category.Term)
	}
	it.extend(entry.Extensions)
	return it
}

// atomLink returns the alternate link, else the first one that is not of another kind.
func atomLink(links []*atom.Link) string {
	for _, rel := range [...]string{"alternate", "", "related", "enclosure"} {
		for _, link := range links {
			if link.Rel == rel {
				return link.Href
			}
		}
	}
	return ""
}

func feedError(err error) error {
	return &content.ParseError{Kind: content.KindFeed, Reason: fmt.Sprintf("%.200v", err)}
}

// newFeedDraft turns a feed's items into entries. What a feed says of itself
// besides its title (dates, ttl, generator, counts) is not content. within is
// what the items stand in, as far as it decides what they mean.
func newFeedDraft(title, link string, items []feedItem, base *url.URL, within string) *content.Draft {
	if len(items) > content.MaxEntries {
		items = items[:content.MaxEntries]
	}
	d := &content.Draft{Kind: content.KindFeed, Title: html.PlainLine(title, lines.MaxTitle)}
	entries := make([]content.DraftEntry, 0, len(items))
	for i := range items {
		entries = append(entries, feedEntry(&items[i], base))
	}
	home := links.Clean(link, base)
	d.Entries = content.Identify(entries, home)
	d.Context = content.ContextOf(base, "feed", within, home)
	return d
}

// feedEntry returns an item as an entry that has no identity yet.
func feedEntry(item *feedItem, base *url.URL) content.DraftEntry {
	if item.known != nil {
		return *item.known
	}
	e := content.DraftEntry{
		ID:        lines.Clean(item.guid),
		Title:     html.PlainLine(item.title, lines.MaxTitle),
		Link:      links.Clean(item.link, base),
		Published: item.published,
		Updated:   item.updated,
		Source:    item.source,
	}
	if places := cleanLines(item.geometry); len(places) > 0 {
		e.More = append(e.More, content.GeometryLabel+strings.Join(places, "; "))
	}
	for _, category := range cleanLines(item.categories) {
		e.More = append(e.More, content.CategoryLabel+category)
	}
	summary := html.Lines(item.summary, base)
	content := html.Lines(item.content, base)
	e.Lines = content
	if len(content) == 0 {
		e.Lines = summary
	} else if text := lines.Summarise(summary); text != lines.Summarise(content) {
		e.Summary = text
	}
	return e
}

// cleanLines returns texts as lines, sorted, each once, in the memory of those given.
func cleanLines(texts []string) []string {
	for i, line := range texts {
		texts[i] = lines.Clean(line)
	}
	slices.Sort(texts)
	return slices.DeleteFunc(slices.Compact(texts), func(line string) bool { return line == "" })
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
