package feed

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/jsondoc"
)

// FromJSON reads JSON Feed. Items of the wrong type, null among them, are passed
// over.
func FromJSON(root *jsondoc.Value, base *url.URL, known *content.Familiar) *content.Draft {
	array := root.Member("items")
	var items []feedItem
	if array.Kind == '[' {
		items = make([]feedItem, 0, len(array.Children))
		for i := range array.Children {
			if item := &array.Children[i]; item.Kind == '{' {
				items = append(items, jsonFeedItem(item, known))
			}
		}
	}
	return newFeedDraft(root.Scalar("title"), root.Scalar("home_page_url"), items, base, "json")
}

func jsonFeedItem(item *jsondoc.Value, known *content.Familiar) feedItem {
	source := content.SourceOf(item.Text)
	if e, ok := known.Take(source); ok {
		return feedItem{known: &e}
	}
	it := feedItem{
		source:    source,
		guid:      item.Scalar("id"),
		title:     item.Scalar("title"),
		link:      cmp.Or(item.Scalar("url"), item.Scalar("external_url")),
		summary:   item.Scalar("summary"),
		content:   cmp.Or(item.Scalar("content_html"), item.Scalar("content_text")),
		published: content.ClampDate(nil, item.Scalar("date_published")),
		updated:   content.ClampDate(nil, item.Scalar("date_modified")),
	}
	for _, tag := range item.Member("tags").Children {
		it.categories = append(it.categories, tag.Text)
	}
	for i := range item.Children {
		m := &item.Children[i]
		switch name := strings.TrimPrefix(m.Name, "_"); name { // extensions begin with an underscore
		case "geometry", "geo", "coordinates", "lat", "latitude", "lon", "lng", "long", "longitude":
			var w jsondoc.Writer
			w.Value(0, m)
			it.geometry = append(it.geometry, name+" "+strings.Join(w.Flush(), " "))
		}
	}
	return it
}

// IsJSON goes by the version that JSON Feed asks for.
func IsJSON(root *jsondoc.Value) bool {
	version := ""
	for _, m := range root.Children {
		switch {
		case strings.EqualFold(m.Name, "version"):
			if version = m.Text; m.Kind != '"' && m.Kind != 'n' {
				return false
			}
		case strings.EqualFold(m.Name, "items"):
			if m.Kind != '[' && m.Kind != 'n' {
				return false
			}
		}
	}
	return root.Kind == '{' && strings.Contains(version, "jsonfeed.org/version/")
}
