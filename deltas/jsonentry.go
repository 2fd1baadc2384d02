package deltas

import (
	"encoding/json"
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
	stampNames = set("generated", "generated_at", "generatedat", "timestamp", "last_updated", "lastupdated", "last_update", "lastupdate",
		"lastbuilddate", "build_date", "builddate", "fetched_at", "scraped_at", "crawled_at", "retrieved_at", "server_time", "servertime",
		"now", "request_id", "requestid", "took", "elapsed", "nonce", "csrf_token",
		"published", "published_at", "publishedat", "date_published", "pubdate",
		"updated", "updated_at", "updatedat", "date_modified", "modified", "modified_at", "last_modified")
)

// jsonEntry reads an entry back from the lines of its object.
func jsonEntry(id string, lines []string) Entry {
	members := make(map[string]string)
	for _, line := range lines {
		name, value, ok := cutMember(line)
		if name = strings.ToLower(name); ok && shownNames[name] && strings.HasPrefix(value, `"`) {
			var text string
			if json.Unmarshal([]byte(value), &text) == nil {
				members[name] = text
			}
		}
	}
	e := Entry{
		ID:      id,
		Title:   plainLine(firstMember(members, titleNames[:]), maxTitle),
		Summary: summarise(htmlLines(firstMember(members, summaryNames[:]), nil)),
	}
	for _, name := range linkNames {
		if isHTTP(members[name]) {
			e.Link = cleanLink(members[name], nil)
			break
		}
	}
	return e
}

// shownNames are the members that an entry shows.
var shownNames = set(slices.Concat(titleNames[:], linkNames[:], summaryNames[:])...)

// cutMember cuts a line that begins with a member of the entry itself into name
// and value.
func cutMember(line string) (name, value string, ok bool) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil || !strings.HasPrefix(line, `"`) {
		return "", "", false
	}
	name = quoted[1 : len(quoted)-1]
	if strings.Contains(name, `\`) && json.Unmarshal([]byte(quoted), &name) != nil {
		return "", "", false
	}
	value, ok = strings.CutPrefix(line[len(quoted):], ": ")
	return name, value, ok
}

func firstMember(members map[string]string, names []string) string {
	for _, name := range names {
		if members[name] != "" {
			return members[name]
		}
	}
	return ""
}

// memberDate returns the first member that is a date, as RFC 3339.
func memberDate(item map[string]any, names []string) string {
	present := sortedNames(item)
	for _, wanted := range names {
		for _, name := range present {
			if strings.ToLower(name) == wanted {
				if date := jsonDate(item[name]); date != "" {
					return date
				}
			}
		}
	}
	return ""
}

// jsonDate reads RFC 3339 and seconds since 1970.
func jsonDate(v any) string {
	switch v := v.(type) {
	case string:
		return clampDate(nil, v)
	case json.Number:
		if seconds, err := v.Int64(); err == nil && seconds > 0 && seconds < 1<<33 {
			t := time.Unix(seconds, 0)
			return clampDate(&t, "")
		}
	}
	return ""
}

// extractJSONFeed reads JSON Feed. Items of the wrong type, null among them, are
// passed over.
func extractJSONFeed(text string, base *url.URL) (*draft, error) {
	root, err := parseJSON(text, KindFeed)
	if err != nil {
		return nil, err
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, &ParseError{Kind: KindFeed, Reason: "JSON Feed is no object"}
	}
	array, _ := object["items"].([]any)
	items := make([]feedItem, 0, len(array))
	for _, member := range array {
		if item, ok := member.(map[string]any); ok {
			items = append(items, jsonFeedItem(item))
		}
	}
	return newFeedDraft(scalar(object["title"]), scalar(object["home_page_url"]), items, base), nil
}

func jsonFeedItem(item map[string]any) feedItem {
	return feedItem{
		guid:      scalar(item["id"]),
		title:     scalar(item["title"]),
		link:      firstOf(scalar(item["url"]), scalar(item["external_url"])),
		summary:   scalar(item["summary"]),
		content:   firstOf(scalar(item["content_html"]), scalar(item["content_text"])),
		published: clampDate(nil, scalar(item["date_published"])),
		updated:   clampDate(nil, scalar(item["date_modified"])),
	}
}

// changedMembers returns the names of the members that differ between two
// entries' lines, in order.
func changedMembers(was, is string) []string {
	before, after := membersOf(was), membersOf(is)
	both := make(map[string]any, len(before))
	for name := range before {
		both[name] = nil
	}
	for name := range after {
		both[name] = nil
	}
	fields := make([]string, 0, 4)
	for _, name := range sortedNames(both) {
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
