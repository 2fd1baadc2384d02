package loadgen

import (
	"strconv"
	"time"
)

func (d *document) appendRSS(dst []byte) []byte {
	dst = append(dst, `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom">
<channel>
<title>`...)
	dst = d.appendName(dst)
	dst = append(dst, "</title>\n<link>"...)
	dst = d.appendSite(dst)
	dst = append(dst, "</link>\n<description>"...)
	dst = d.appendName(dst)
	dst = append(dst, "</description>\n<language>en</language>\n<lastBuildDate>"...)
	dst = d.appendDate(dst, d.revision, time.RFC1123Z)
	dst = append(dst, "</lastBuildDate>\n"...)
	for entry := range d.entries {
		dst = d.appendItem(dst, entry)
	}
	return append(dst, "</channel>\n</rss>\n"...)
}

func (d *document) appendItem(dst []byte, entry int64) []byte {
	dst = append(dst, "<item>\n<title>"...)
	dst = d.appendTitle(dst, entry)
	dst = append(dst, "</title>\n<link>"...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, "</link>\n<guid isPermaLink=\"true\">"...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, "</guid>\n<pubDate>"...)
	dst = d.appendDate(dst, entry, time.RFC1123Z)
	dst = append(dst, "</pubDate>\n<description><![CDATA[<p>"...)
	dst = d.appendSummary(dst, entry)
	return append(dst, "</p>]]></description>\n</item>\n"...)
}

func (d *document) appendAtom(dst []byte) []byte {
	dst = append(dst, `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>`...)
	dst = d.appendSite(dst)
	dst = append(dst, "</id>\n<title>"...)
	dst = d.appendName(dst)
	dst = append(dst, "</title>\n<link href=\""...)
	dst = d.appendSite(dst)
	dst = append(dst, "\"/>\n<updated>"...)
	dst = d.appendDate(dst, d.revision, time.RFC3339)
	dst = append(dst, "</updated>\n"...)
	for entry := range d.entries {
		dst = d.appendAtomEntry(dst, entry)
	}
	return append(dst, "</feed>\n"...)
}

func (d *document) appendAtomEntry(dst []byte, entry int64) []byte {
	dst = append(dst, "<entry>\n<id>"...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, "</id>\n<title>"...)
	dst = d.appendTitle(dst, entry)
	dst = append(dst, "</title>\n<link rel=\"alternate\" href=\""...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, "\"/>\n<published>"...)
	dst = d.appendDate(dst, entry, time.RFC3339)
	dst = append(dst, "</published>\n<updated>"...)
	dst = d.appendDate(dst, entry, time.RFC3339)
	dst = append(dst, "</updated>\n<summary type=\"html\">&lt;p&gt;"...)
	dst = d.appendSummary(dst, entry)
	return append(dst, "&lt;/p&gt;</summary>\n</entry>\n"...)
}

// appendJSON prints on one line, as most JSON feeds are.
func (d *document) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"version":"https://jsonfeed.org/version/1.1","title":"`...)
	dst = d.appendName(dst)
	dst = append(dst, `","home_page_url":"`...)
	dst = d.appendSite(dst)
	dst = append(dst, `","items":[`...)
	for entry := range d.entries {
		if entry != d.revision {
			dst = append(dst, ',')
		}
		dst = d.appendJSONItem(dst, entry)
	}
	return append(dst, "]}"...)
}

func (d *document) appendJSONItem(dst []byte, entry int64) []byte {
	dst = append(dst, `{"id":"`...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, `","url":"`...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, `","title":"`...)
	dst = d.appendTitle(dst, entry)
	dst = append(dst, `","date_published":"`...)
	dst = d.appendDate(dst, entry, time.RFC3339)
	dst = append(dst, `","content_html":"<p>`...)
	dst = d.appendSummary(dst, entry)
	return append(dst, `</p>"}`...)
}

// appendHTML makes a front page: what does not change weighs about as much as
// the articles, and asset names change with every build, as on real pages.
func (d *document) appendHTML(dst []byte) []byte {
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	dst = d.appendName(dst)
	dst = append(dst, "</title>\n<link rel=\"stylesheet\" href=\"/assets/site."...)
	dst = strconv.AppendUint(dst, d.Tag(d.channel, d.revision), 36)
	dst = append(dst, ".css\">\n"...)
	dst = d.appendScript(dst)
	dst = append(dst, "</head>\n<body>\n"...)
	dst = d.appendNavigation(dst)
	dst = append(dst, "<main>\n"...)
	for entry := range d.entries {
		dst = d.appendArticle(dst, entry)
	}
	return append(dst, "</main>\n<footer><p>All rights reserved.</p></footer>\n</body>\n</html>\n"...)
}

func (d *document) appendScript(dst []byte) []byte {
	random := source(d.hash(d.channel, saltShape, 3))
	dst = append(dst, "<script>\nwindow.settings = {"...)
	for range 100 + random.intn(300) {
		dst = append(dst, '"')
		dst = append(append(dst, random.word()...), '-')
		dst = append(dst, random.word()...)
		dst = append(dst, `":{"enabled":true,"weight":`...)
		dst = strconv.AppendInt(dst, int64(random.intn(1000)), 10)
		dst = append(dst, "},"...)
	}
	return append(dst, "\"\":{}};\n</script>\n"...)
}

func (d *document) appendNavigation(dst []byte) []byte {
	random := source(d.hash(d.channel, saltShape, 4))
	dst = append(dst, "<nav>\n<ul>\n"...)
	for range 20 + random.intn(60) {
		word := random.word()
		dst = append(dst, "<li class=\"menu-item\"><a href=\"/"...)
		dst = append(dst, word...)
		dst = append(dst, "\">"...)
		dst = append(dst, word...)
		dst = append(dst, "</a></li>\n"...)
	}
	return append(dst, "</ul>\n</nav>\n"...)
}

func (d *document) appendArticle(dst []byte, entry int64) []byte {
	dst = append(dst, "<article>\n<h2><a href=\""...)
	dst = d.appendLink(dst, entry)
	dst = append(dst, "\">"...)
	dst = d.appendTitle(dst, entry)
	dst = append(dst, "</a></h2>\n<time datetime=\""...)
	dst = d.appendDate(dst, entry, time.RFC3339)
	dst = append(dst, "\"></time>\n<p>"...)
	dst = d.appendSummary(dst, entry)
	return append(dst, "</p>\n</article>\n"...)
}
