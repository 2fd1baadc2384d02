package feed

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// plainFeed reads RSS and Atom as nearly all publishers write them, in place.
// What it cannot be sure to read as the parser behind it would, it leaves to
// that parser: see [Read].
type plainFeed struct {
	xmlReader
	spaces []binding // what prefixes mean
	native func(uri string) bool
	base   *url.URL // xml:base of the last tag, or of what it stands in; nil if there is none

	title, otherTitle, link string
	items                   []feedItem
	words                   hintWords

	known    *content.Familiar
	within   string // the tags that items stand in, as written
	unlikely bool   // an item ended elsewhere than at the next end tag: none is looked for any more
	checked  int    // behind the last item that was taken: up to there all references are legal
}

// binding is a prefix and what it means: the format's own vocabulary (""), one
// of those in namespaces, by its name there, or another.
type binding struct{ prefix, uri, space string }

// other are vocabularies that are not read here.
const other = "other"

// namespaces are those that are read, by the prefix they usually have.
var namespaces = map[string]string{
	"http://purl.org/dc/elements/1.1/":             "dc",
	"http://purl.org/dc/terms/":                    "dcterms",
	"http://purl.org/rss/1.0/modules/content/":     "content",
	"http://purl.org/rss/1.0/modules/syndication/": "sy",
	"http://www.georss.org/georss":                 "georss",
	"http://www.w3.org/2003/01/geo/wgs84_pos#":     "geo",
	"http://www.itunes.com/DTDs/PodCast-1.0.dtd":   "itunes",
	"http://example.com/DTDs/PodCast-1.0.dtd":      "itunes",
	atomNamespace: "atom",
}

// usual are the prefixes that mean something wherever they stand.
var usual = scan.Set("dc", "dcterms", "content", "sy", "itunes", "atom", "georss", "geo", "rss", "rdf")

const (
	atomNamespace   = "http://www.w3.org/2005/Atom"
	atom03Namespace = "http://purl.org/atom/ns#"
	rdfNamespace    = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
)

func isAtomNamespace(uri string) bool {
	return uri == "" || uri == atomNamespace || uri == atom03Namespace
}

func isRSSNamespace(uri string) bool {
	switch uri {
	case "", rdfNamespace, "http://purl.org/rss/1.0/", "http://channel.netscape.com/rdf/simple/0.9/", "http://my.netscape.com/rdf/simple/0.9/":
		return true
	}
	return false
}

// readPlain reads a feed; false if it is not plain.
func readPlain(text string, base *url.URL, known *content.Familiar) (*content.Draft, bool) {
	p := &plainFeed{xmlReader: newXMLReader(text), known: known}
	root, _ := p.tag()
	p.stand()
	name := strings.ToLower(root.name)
	p.fallback = p.fallback || root.empty
	switch {
	case name == "rss" && root.prefix == "", name == "rdf" && root.prefix == "rdf":
		p.native = isRSSNamespace
		p.declare(bogusNamespaces)
		p.rss(root)
	case name == "feed" && root.prefix == "":
		p.native = isAtomNamespace
		p.declare(nil)
		p.atom(root)
	default:
		return nil, false
	}
	if p.fallback || len(p.items) > content.MaxEntries || hasIllegalReference(text[p.checked:]) {
		return nil, false
	}
	d := newFeedDraft(cmp.Or(p.title, p.otherTitle), p.link, p.items, base, p.within)
	d.Hints = p.words.hints()
	return d, true
}

// declare reads the namespaces and the base that the root declares. The default
// namespace is the format's own, or one that is taken for it.
func (p *plainFeed) declare(taken map[string]bool) {
	for _, a := range p.attributes {
		prefix, ok := declaredPrefix(a.name)
		if !ok {
			continue
		}
		uri := strings.TrimSpace(a.value)
		p.fallback = p.fallback || strings.IndexByte(uri, '&') >= 0
		if prefix == "" {
			p.fallback = p.fallback || !p.native(uri) && !taken[uri]
			continue
		}
		space := p.meaning(prefix, uri)
		for _, b := range p.spaces {
			p.fallback = p.fallback || b.prefix == prefix || b.uri == uri && b.space != space
		}
		p.spaces = append(p.spaces, binding{prefix, uri, space})
	}
	p.rebase()
}

// bogusNamespaces are default ones that people gave RSS 2.0, which has none.
var bogusNamespaces = scan.Set("http://backend.userland.com/rss2", "http://backend.userland.com/RSS2", "http://blogs.law.harvard.edu/tech/rss")

// meaning returns what a prefix means that is bound to a URI. A usual one means
// what it usually does, whatever its unknown URI.
func (p *plainFeed) meaning(prefix, uri string) string {
	known := namespaces[uri]
	switch {
	case p.native(uri):
		return ""
	case known != "":
		return known
	case usual[prefix]:
		return p.usually(prefix)
	}
	return other
}

func (p *plainFeed) declared(prefix string) bool {
	for _, b := range p.spaces {
		if b.prefix == prefix {
			return true
		}
	}
	return false
}

func (p *plainFeed) usually(prefix string) string {
	p.fallback = p.fallback || prefix == "rss" || prefix == "rdf"
	return prefix
}

// space returns what the prefix of the last tag means there.
func (p *plainFeed) space(prefix string) string {
	space, found := "", prefix == ""
	for _, b := range p.spaces {
		if b.prefix == prefix {
			space, found = b.space, true
		}
	}
	for _, a := range p.attributes {
		if bound, ok := declaredPrefix(a.name); ok {
			if meaning := p.bind(bound, a.value, prefix); bound == prefix {
				space, found = meaning, true
			}
		}
	}
	switch {
	case found:
		return space
	case usual[prefix]:
		return p.usually(prefix)
	}
	return other
}

// declaredPrefix returns the prefix that an attribute declares, "" for the default
// namespace; false if it declares none.
func declaredPrefix(attribute string) (prefix string, ok bool) {
	if attribute == "xmlns" {
		return "", true
	}
	return strings.CutPrefix(attribute, "xmlns:")
}

// bind returns what a prefix, or the lack of one, means that an element declares
// for itself. It is not known within: what matters there must mean the same
// undeclared.
func (p *plainFeed) bind(prefix, uri, own string) string {
	meaning := p.meaning(prefix, strings.TrimSpace(uri))
	p.fallback = p.fallback || strings.IndexByte(uri, '&') >= 0 || meaning != other && meaning != prefix && own != prefix
	for _, b := range p.spaces {
		p.fallback = p.fallback || (b.prefix == prefix || b.uri == uri) && b.space != meaning
	}
	return meaning
}

// rebase reads the base that the last tag declares.
func (p *plainFeed) rebase() {
	raw := p.attribute("xml:base")
	if raw == "" {
		return
	}
	if u, err := url.Parse(raw); err == nil {
		if p.base != nil {
			u = p.base.ResolveReference(u)
		}
		p.base = u
	}
}

// uri returns the address that an attribute of the last tag says, "" if it is missing.
func (p *plainFeed) uri(attribute string) string {
	for _, a := range p.attributes {
		if a.name == attribute {
			return links.Resolve(p.base, decodeXML(a.value))
		}
	}
	return ""
}

// children calls f for each child of the element whose start tag was read, with
// its name in lower case and what its prefix means; f reads the child to its end.
func (p *plainFeed) children(parent xmlTag, f func(space, name string, t xmlTag)) {
	base := p.base
	for !p.fallback && !parent.empty {
		t, ok := p.next()
		switch {
		case !ok:
			return
		case t.end:
			p.fallback = t.name != parent.name || t.prefix != parent.prefix
			return
		}
		space, name := "", t.name
		if t.prefix != "" || len(p.attributes) > 0 {
			space = p.space(t.prefix)
			p.rebase()
		}
		if space != other {
			name = lowerName(name)
		}
		p.fallback = p.fallback || space == "" && t.prefix != "" && containers[name] && !p.declared(t.prefix)
		f(space, name, t)
		p.base = base
	}
}

// stand notes the last tag as one that items stand in.
func (p *plainFeed) stand() { p.within += p.text[p.begin:p.at] }

// item reads the item whose start tag was read, unless the document before had it.
func (p *plainFeed) item(t xmlTag, read func(xmlTag) feedItem) feedItem {
	end := p.likelyEnd(t)
	if end == 0 {
		return read(t)
	}
	source := content.SourceOf(p.text[p.begin:end])
	if e, ok := p.known.Take(source); ok {
		p.fallback = p.fallback || hasIllegalReference(p.text[p.checked:p.begin])
		p.at, p.checked = end, end
		return feedItem{known: &e}
	}
	it := read(t)
	if p.unlikely = p.at != end; !p.unlikely {
		it.source = source
	}
	return it
}

// likelyEnd returns where the item ends whose start tag was read, unless a comment
// or a section of text shows the end tag of one; 0 for what is not looked for.
func (p *plainFeed) likelyEnd(t xmlTag) int {
	// What is taken is not counted: there must not be more elements than may be.
	if p.unlikely || t.empty || t.prefix != "" || len(p.text) > maxElements*len("<a/>") {
		return 0
	}
	end := itemEnds[t.name]
	n := strings.Index(p.text[p.at:], end)
	if p.unlikely = end == "" || n < 0; p.unlikely {
		return 0
	}
	return p.at + n + len(end)
}

var itemEnds = map[string]string{"item": "</item>", "entry": "</entry>"}

// containers are the elements whose children are read: what they declare would
// matter within.
var containers = scan.Set("channel", "item", "entry", "skiphours", "skipdays")

// lowerName is strings.ToLower without a copy of the names that feeds are full of.
func lowerName(name string) string {
	if name == "pubDate" {
		return "pubdate"
	}
	return strings.ToLower(name)
}

// feedOther reads the children of a feed that all formats share.
func (p *plainFeed) feedOther(space, name string, t xmlTag) {
	switch {
	case space == "sy" && name == "updateperiod" && p.words.period == "":
		p.words.period = p.foreign(t)
	case space == "sy" && name == "updatefrequency" && p.words.frequency == "":
		p.words.frequency = p.foreign(t)
	default:
		p.skip(t)
	}
}

// more reads an element of another vocabulary that all formats share, or reports that
// it is none.
func (p *plainFeed) more(space string, t xmlTag, it *feedItem) bool {
	switch {
	case space == "dc" && t.name == "subject":
		it.categories = append(it.categories, p.foreign(t))
	case geometrySpaces[space]:
		if place := p.foreign(t); place != "" {
			it.geometry = append(it.geometry, t.name+" "+place)
		}
	default:
		return false
	}
	return true
}

// date reads the ways in which nearly all dates are written.
func (p *plainFeed) date(s string) string {
	if s == "" {
		return ""
	}
	s = strings.TrimSpace(s)
	layouts := mailLayouts[:]
	if len(s) > 4 && s[4] == '-' {
		layouts = isoLayouts[:]
	} else if at := strings.LastIndexByte(s, ' '); zones[s[at+1:]] != "" {
		s = s[:at+1] + zones[s[at+1:]]
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return content.ClampDate(&t, "")
		}
	}
	p.fallback = true
	return ""
}

// The layouts of dates, those of RSS and of Atom, the likeliest first.
var (
	mailLayouts = [...]string{"Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 06 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05"}
	isoLayouts  = [...]string{time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05", "2006-01-02"}
)

// zones are those that RFC 822 knows by name, and UTC.
var zones = map[string]string{
	"GMT": "+0000", "UTC": "+0000", "UT": "+0000", "EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500",
	"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}
