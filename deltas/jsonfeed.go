package deltas

import (
	"cmp"
	"net/url"
	"strings"
)

// jsonFeed reads JSON Feed. Items of the wrong type, null among them, are passed
// over.
func jsonFeed(root *jsonValue, base *url.URL, known *familiar) *draft {
	array := root.member("items")
	var items []feedItem
	if array.kind == '[' {
		items = make([]feedItem, 0, len(array.children))
		for i := range array.children {
			if item := &array.children[i]; item.kind == '{' {
				items = append(items, jsonFeedItem(item, known))
			}
		}
	}
	return newFeedDraft(root.scalar("title"), root.scalar("home_page_url"), items, base, "json")
}

func jsonFeedItem(item *jsonValue, known *familiar) feedItem {
	source := sourceOf(item.text)
	if e, ok := known.take(source); ok {
		return feedItem{known: &e}
	}
	it := feedItem{
		source:    source,
		guid:      item.scalar("id"),
		title:     item.scalar("title"),
		link:      cmp.Or(item.scalar("url"), item.scalar("external_url")),
		summary:   item.scalar("summary"),
		content:   cmp.Or(item.scalar("content_html"), item.scalar("content_text")),
		published: clampDate(nil, item.scalar("date_published")),
		updated:   clampDate(nil, item.scalar("date_modified")),
	}
	for _, tag := range item.member("tags").children {
		it.categories = append(it.categories, tag.text)
	}
	for i := range item.children {
		m := &item.children[i]
		switch name := strings.TrimPrefix(m.name, "_"); name { // extensions begin with an underscore
		case "geometry", "geo", "coordinates", "lat", "latitude", "lon", "lng", "long", "longitude":
			var w jsonWriter
			w.value(0, m)
			it.geometry = append(it.geometry, name+" "+strings.Join(w.flush(), " "))
		}
	}
	return it
}

// isJSONFeed goes by the version that JSON Feed asks for.
func isJSONFeed(root *jsonValue) bool {
	version := ""
	for _, m := range root.children {
		switch {
		case strings.EqualFold(m.name, "version"):
			if version = m.text; m.kind != '"' && m.kind != 'n' {
				return false
			}
		case strings.EqualFold(m.name, "items"):
			if m.kind != '[' && m.kind != 'n' {
				return false
			}
		}
	}
	return root.kind == '{' && strings.Contains(version, "jsonfeed.org/version/")
}
