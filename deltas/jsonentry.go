package deltas

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What members of JSON objects are called that mean the same, the likeliest first.
var (
	titleNames     = [...]string{"title", "name", "headline", "subject", "label", "full_name"}
	linkNames      = [...]string{"html_url", "link", "permalink", "url", "href"}
	summaryNames   = [...]string{"summary", "description", "excerpt", "content_text", "text", "body", "content_html", "content"}
	publishedNames = [...]string{"published", "published_at", "publishedat", "date_published", "pubdate", "created", "created_at", "createdat", "date"}
	updatedNames   = [...]string{"updated", "updated_at", "updatedat", "date_modified", "modified", "modified_at", "last_modified"}

	// stampNames are the members that tell when a document was made or what an
	// item's dates are. They are not content: see the notes.
	stampNames = set("generated", "generatedat", "generatedon", "dategenerated", "timegenerated", "generationtime", "generationtimems",
		"timestamp", "ts", "lastupdated", "lastupdatedat", "lastupdate", "lastrefreshed", "lastrefresh", "lastfetched", "lastchecked",
		"lastbuilddate", "builddate", "buildtime", "fetchedat", "scrapedat", "crawledat", "retrievedat", "renderedat", "cachedat", "refreshedat",
		"servertime", "servertimestamp", "currenttime", "now", "asof",
		"requestid", "xrequestid", "traceid", "correlationid", "etag", "nonce", "csrf", "csrftoken", "xsrftoken", "sessionid",
		"took", "tookms", "elapsed", "elapsedms", "elapsedtime", "responsetime", "responsetimems", "querytime", "querytimems",
		"processingtime", "processingtimems", "executiontime", "executiontimems",
		"published", "publishedat", "datepublished", "pubdate",
		"updated", "updatedat", "datemodified", "modified", "modifiedat", "lastmodified")
)

// isStamp reports a member that is named as one of stampNames, unless it is a list or
// says yes or no: what was modified, or that it is published, is content.
func (v *jsonValue) isStamp() bool {
	return v.kind != '[' && v.text != "true" && v.text != "false" && isStampName(v.name)
}

// isStampName reports a name that is one of stampNames, however its words are joined:
// generated_at, generatedAt, Generated-At.
func isStampName(name string) bool {
	var room [24]byte
	bare := room[:0]
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
		case len(bare) == len(room):
			return false
		default:
			bare = append(bare, lowerByte(c))
		}
	}
	return stampNames[string(bare)]
}

// jsonEntry reads an entry back from the lines of its object.
func jsonEntry(id string, lines []string) Entry {
	var shown shownMembers
	for _, line := range lines {
		name, value, ok := cutMember(line)
		if !ok || !strings.HasPrefix(value, `"`) {
			continue
		}
		if at, ok := shownNames[strings.ToLower(name)]; ok {
			r := jsonReader{text: value}
			if text := r.string(); r.at == len(value) && !r.failed {
				shown[at] = text
			}
		}
	}
	titles, links, summaries := shown[:len(titleNames)], shown[len(titleNames):beforeSummary], shown[beforeSummary:]
	e := Entry{
		ID:      id,
		Title:   plainLine(firstOf(titles...), maxTitle),
		Summary: summarise(htmlLines(firstOf(summaries...), page{})),
	}
	if i := slices.IndexFunc(links, isHTTP); i >= 0 {
		e.Link = cleanLink(links[i], nil)
	}
	return e
}

// shownMembers are the texts of the members that an entry shows, each at the place
// of its name in shownNames.
type shownMembers [beforeSummary + len(summaryNames)]string

const beforeSummary = len(titleNames) + len(linkNames)

// shownNames are titleNames, linkNames and summaryNames, in that order.
var shownNames = ranked(slices.Concat(titleNames[:], linkNames[:], summaryNames[:])...)

// cutMember cuts a line that begins with a member of the entry itself into name
// and value.
func cutMember(line string) (name, value string, ok bool) {
	if !strings.HasPrefix(line, `"`) {
		return "", "", false
	}
	r := jsonReader{text: line}
	name = r.string()
	value, ok = strings.CutPrefix(line[r.at:], ": ")
	return name, value, ok && !r.failed
}

// dateNames are publishedNames and updatedNames, in that order.
var dateNames = ranked(slices.Concat(publishedNames[:], updatedNames[:])...)

// memberDates returns the members that are dates, as RFC 3339: those whose names,
// in lower case, have the lowest ranks.
func memberDates(item *jsonValue) (published, updated string) {
	var dates [len(publishedNames) + len(updatedNames)]string
	for i := range item.children {
		m := &item.children[i]
		if rank, ok := dateNames[strings.ToLower(m.name)]; ok {
			dates[rank] = firstOf(dates[rank], jsonDate(m))
		}
	}
	return firstOf(dates[:len(publishedNames)]...), firstOf(dates[len(publishedNames):]...)
}

// ranked gives names their places as ranks.
func ranked(names ...string) map[string]int {
	ranks := make(map[string]int, len(names))
	for i, name := range names {
		ranks[name] = i
	}
	return ranks
}

// jsonDate reads RFC 3339 and seconds since 1970.
func jsonDate(v *jsonValue) string {
	switch v.kind {
	case '"':
		return clampDate(nil, v.text)
	case '0':
		if seconds, err := strconv.ParseInt(v.text, 10, 64); err == nil && seconds > 0 && seconds < 1<<33 {
			t := time.Unix(seconds, 0)
			return clampDate(&t, "")
		}
	}
	return ""
}

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
		link:      firstOf(item.scalar("url"), item.scalar("external_url")),
		summary:   item.scalar("summary"),
		content:   firstOf(item.scalar("content_html"), item.scalar("content_text")),
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

// changedMembers returns the names of the members that differ between two
// entries' lines, in order.
func changedMembers(was, is string) []string {
	before, after := membersOf(was), membersOf(is)
	both := maps.Clone(before)
	maps.Copy(both, after)
	fields := make([]string, 0, 4)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if before[name] != after[name] {
			fields = append(fields, name)
		}
	}
	return fields
}

// membersOf returns the text of each member in an entry's lines.
func membersOf(section string) map[string]string {
	members := make(map[string]string)
	name := ""
	for line := range strings.Lines(section) {
		line = strings.TrimPrefix(line, indent)
		if member, _, ok := cutMember(line); ok {
			name = member
		}
		members[name] += line
	}
	delete(members, "")
	return members
}
