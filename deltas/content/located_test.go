package content_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/internal/extracted"
	"github.com/seed-91e7e7c1/corona/deltas/judge"
)

// placed are documents of one entry, of each format, with a category and a place.
var placed = map[string]struct{ body, category, place, fields string }{
	"RSS": {`<rss version="2.0" xmlns:georss="http://www.georss.org/georss"><channel><title>t</title><item><guid>1</guid><title>a</title>
		<category domain="x">CATEGORY</category><category>all</category><georss:point>PLACE 7</georss:point></item></channel></rss>`,
		"+category: ", "+geometry: point ", "categories geometry"},
	"RSS with other vocabularies": {`<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:w="http://www.w3.org/2003/01/geo/wgs84_pos#"><channel><title>t</title><item><guid>1</guid>
		<title>a</title><dc:subject>CATEGORY</dc:subject><w:lat>PLACE</w:lat><w:long>7</w:long></item></channel></rss>`,
		"+category: ", "+geometry: lat ", "categories geometry"},
	"Atom": {`<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss" xmlns:gml="http://www.opengis.net/gml"><title>t</title><entry><id>1</id><title>a</title>
		<category term="CATEGORY" scheme="x"/><georss:where><gml:Point><gml:pos>PLACE 7</gml:pos></gml:Point></georss:where></entry></feed>`,
		"+category: ", "+geometry: where Point pos ", "categories geometry"},
	"JSON Feed": {`{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"1","title":"a","tags":["CATEGORY","all"],"_geometry":{"type":"Point","coordinates":[PLACE, 7]}}]}`,
		"+category: ", `+geometry: geometry { "coordinates": [ `, "categories geometry"},
	"GeoJSON": {`{"type":"FeatureCollection","features":[{"type":"Feature","id":"1","geometry":{"type":"Point","coordinates":[PLACE, 7]},"properties":{"tags":["CATEGORY"]}}]}`,
		`+      "`, "+      ", "geometry properties"},
}

// A category and a place are content: a change of either is told with its value.
func TestCategoriesAndGeometryAreContent(t *testing.T) {
	for name, test := range placed {
		render := strings.NewReplacer
		base := extracted.Of(t, []byte(render("CATEGORY", "moderate", "PLACE", "45.25").Replace(test.body)))
		next := extracted.Of(t, []byte(render("CATEGORY", "severe", "PLACE", "46.5").Replace(test.body)))
		u := judge.Compare(base, next)
		if len(u.Entries.Changed) != 1 || strings.Join(u.Entries.Changed[0].Fields, " ") != test.fields {
			t.Errorf("%s: changed %+v, want fields %s", name, u.Entries.Changed, test.fields)
		}
		for _, line := range []string{test.category + "severe", test.place + "46.5"} {
			if !strings.Contains(u.Diff, line) {
				t.Errorf("%s: no line %q in\n%s", name, line, u.Diff)
			}
		}
		if e := next.Entries[0]; next.Kind == content.KindFeed && (!slices.Contains(e.Categories, "severe") || !strings.Contains(e.Geometry, "46.5")) {
			t.Errorf("%s: entry %+v", name, e)
		}
		if again, err := content.ParseCore(slices.Clone(next.Text)); err != nil || !slices.Equal(again.Entries[0].Categories, next.Entries[0].Categories) {
			t.Errorf("%s: read back as %+v, %v", name, again, err)
		}
	}
}

// The order of categories is none.
func TestCategoriesHaveNoOrder(t *testing.T) {
	feed := func(categories string) *content.Core {
		return extracted.Of(t, []byte(`<rss><channel><title>t</title><item><guid>1</guid>`+categories+`</item></channel></rss>`))
	}
	a := feed("<category>a</category><category>b</category><category>b</category><category/>")
	if b := feed("<category> b </category><category>a</category>"); a.Hash != b.Hash {
		t.Errorf("%s\nand\n%s", a.Content(), b.Content())
	}
}
