package content

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/extract/links"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// What members of JSON objects are called that mean the same, the likeliest first.
var (
	TitleNames   = [...]string{"title", "name", "headline", "subject", "label", "full_name"}
	linkNames    = [...]string{"html_url", "link", "permalink", "url", "href"}
	SummaryNames = [...]string{"summary", "description", "excerpt", "content_text", "text", "body", "content_html", "content"}
)

// jsonEntry reads an entry back from the lines of its object.
func jsonEntry(id string, object []string) Entry {
	var shown shownMembers
	for _, line := range object {
		name, value, ok := cutMember(line)
		if !ok || !strings.HasPrefix(value, `"`) {
			continue
		}
		if at, ok := shownNames[strings.ToLower(name)]; ok {
			if text := ""; json.Unmarshal([]byte(value), &text) == nil {
				shown[at] = text
			}
		}
	}
	titles, addresses, summaries := shown[:len(TitleNames)], shown[len(TitleNames):beforeSummary], shown[beforeSummary:]
	e := Entry{
		ID:      id,
		Title:   html.PlainLine(cmp.Or(titles...), lines.MaxTitle),
		Summary: lines.Summarise(html.Lines(cmp.Or(summaries...), nil)),
	}
	if i := slices.IndexFunc(addresses, links.IsHTTP); i >= 0 {
		e.Link = links.Clean(addresses[i], nil)
	}
	return e
}

// shownMembers are the texts of the members that an entry shows, each at the place
// of its name in shownNames.
type shownMembers [beforeSummary + len(SummaryNames)]string

const beforeSummary = len(TitleNames) + len(linkNames)

// shownNames are TitleNames, linkNames and SummaryNames, in that order.
var shownNames = scan.Ranks(slices.Concat(TitleNames[:], linkNames[:], SummaryNames[:])...)

// cutMember cuts a line that begins with a member of the entry itself into name
// and value.
func cutMember(line string) (name, value string, ok bool) {
	if !strings.HasPrefix(line, `"`) {
		return "", "", false
	}
	dec := json.NewDecoder(strings.NewReader(line))
	if err := dec.Decode(&name); err != nil {
		return "", "", false
	}
	value, ok = strings.CutPrefix(line[dec.InputOffset():], ": ")
	return name, value, ok
}

// ChangedMembers returns the names of the members that differ between two
// entries' lines, in order.
func ChangedMembers(was, is string) []string {
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

// membersOf returns the lines of each member in an entry's lines, where they follow each
// other.
func membersOf(section string) map[string]string {
	members := make(map[string]string)
	name, from, at := "", 0, 0
	for line := range strings.Lines(section) {
		if member, _, ok := cutMember(strings.TrimPrefix(line, Indent)); ok {
			members[name] = section[from:at]
			name, from = member, at
		}
		at += len(line)
	}
	members[name] = section[from:]
	delete(members, "")
	return members
}
