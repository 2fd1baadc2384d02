package deltas

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// What members of JSON objects are called that mean the same, the likeliest first.
var (
	titleNames   = [...]string{"title", "name", "headline", "subject", "label", "full_name"}
	linkNames    = [...]string{"html_url", "link", "permalink", "url", "href"}
	summaryNames = [...]string{"summary", "description", "excerpt", "content_text", "text", "body", "content_html", "content"}
)

// jsonEntry reads an entry back from the lines of its object.
func jsonEntry(id string, object []string) Entry {
	var shown shownMembers
	var scratch []byte
	for _, line := range object {
		name, value, ok := cutMember(line)
		if !ok || !strings.HasPrefix(value, `"`) {
			continue
		}
		if at, ok := shownNames[strings.ToLower(name)]; ok {
			if text, size := jsonString(value, &scratch); size == len(value) {
				shown[at] = text
			}
		}
	}
	titles, addresses, summaries := shown[:len(titleNames)], shown[len(titleNames):beforeSummary], shown[beforeSummary:]
	e := Entry{
		ID:      id,
		Title:   plainLine(cmp.Or(titles...), maxTitle),
		Summary: summarise(htmlLines(cmp.Or(summaries...), page{})),
	}
	if i := slices.IndexFunc(addresses, isHTTP); i >= 0 {
		e.Link = cleanLink(addresses[i], nil)
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
	var scratch []byte
	name, size := jsonString(line, &scratch)
	value, ok = strings.CutPrefix(line[size:], ": ")
	return name, value, ok
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
