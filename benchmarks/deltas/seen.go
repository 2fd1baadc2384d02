//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// document is what a person would see of a document.
type document struct {
	ids   []string       // of a feed's entries, as feed readers name them
	lines map[string]int // how often each thing is said
	links map[string]int // how often something leads to each address

	entries map[string]map[string]int // of a feed, by ID: the lines of each entry
}

// see reads a document as a person would, by means that the engine does not use.
func see(body []byte) document {
	if feed, err := gofeed.NewParser().Parse(bytes.NewReader(body)); err == nil {
		return seeFeed(feed)
	}
	d := document{lines: make(map[string]int), links: make(map[string]int)}
	var value any
	if json.Unmarshal(body, &value) == nil {
		d.addJSON("", value)
	} else {
		d.addHTML("", string(body))
	}
	return d
}

func seeFeed(feed *gofeed.Feed) document {
	d := document{lines: map[string]int{"title " + feed.Title: 1}, links: make(map[string]int), entries: make(map[string]map[string]int)}
	for _, item := range feed.Items {
		id := item.GUID
		if id == "" {
			id = item.Link
		}
		d.ids = append(d.ids, id)
		d.links[item.Link]++
		d.addHTML(id+" title ", item.Title)
		text := document{lines: make(map[string]int), links: d.links}
		text.addHTML("", item.Description)
		text.addHTML("", item.Content)
		d.entries[id] = text.lines
		for line, n := range text.lines {
			d.lines[id+" "+line] += n
		}
	}
	return d
}

// unseen are elements whose text no browser shows.
var unseen = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true}

func (d *document) addHTML(prefix, text string) {
	tokens := html.NewTokenizer(strings.NewReader(text))
	hidden := 0
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			hidden += d.open(tokens)
		case html.EndTagToken:
			if name, _ := tokens.TagName(); unseen[atom.Lookup(name)] {
				hidden = max(hidden-1, 0)
			}
		case html.TextToken:
			if said := strings.Join(strings.Fields(string(tokens.Text())), " "); said != "" && hidden == 0 {
				d.lines[prefix+said]++
			}
		}
	}
}

// open returns 1 for an element that hides its text, and notes where one leads.
func (d *document) open(tokens *html.Tokenizer) int {
	name, more := tokens.TagName()
	for more {
		var key, value []byte
		if key, value, more = tokens.TagAttr(); string(key) == "href" && atom.Lookup(name) == atom.A {
			d.links[string(value)]++
		}
	}
	if unseen[atom.Lookup(name)] {
		return 1
	}
	return 0
}

// addJSON adds a value's leaves. An object in a list goes by the first of its
// members that names it.
func (d *document) addJSON(path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			d.addJSON(path+"."+name, member)
		}
	case []any:
		for _, member := range v {
			d.addJSON(path+jsonName(member), member)
		}
	default:
		d.lines[fmt.Sprintf("%s %v", path, v)]++
	}
}

func jsonName(value any) string {
	object, _ := value.(map[string]any)
	for _, name := range [...]string{"id", "guid", "link", "url"} {
		if object[name] != nil {
			return fmt.Sprintf("[%v]", object[name])
		}
	}
	return "[]"
}

// The ways in which two documents differ, for a person.
const (
	seesNothing = "nothing"
	seesLinks   = "links"  // that lead elsewhere, and nothing else
	seesDigits  = "digits" // and nothing else
	seesWords   = "words"
)

func seesBetween(was, is document) string {
	gone, come := differing(was.lines, is.lines)
	if len(gone)+len(come) == 0 {
		if maps.Equal(was.links, is.links) {
			return seesNothing
		}
		return seesLinks
	}
	for i := range gone {
		gone[i] = withoutNumbers(gone[i])
	}
	for i := range come {
		come[i] = withoutNumbers(come[i])
	}
	slices.Sort(gone)
	slices.Sort(come)
	if slices.Equal(gone, come) {
		return seesDigits
	}
	return seesWords
}

var (
	numbers   = regexp.MustCompile(`[0-9][0-9.,:]*`)
	jsonNulls = regexp.MustCompile(` <nil>$`)
)

// withoutNumbers makes lines equal that differ in numbers alone. A JSON counter
// often begins with null.
func withoutNumbers(line string) string {
	return jsonNulls.ReplaceAllString(numbers.ReplaceAllString(line, "0"), " 0")
}

// differing returns what only one of two documents says, sorted.
func differing(was, is map[string]int) (gone, come []string) {
	for line, n := range was {
		for range n - is[line] {
			gone = append(gone, line)
		}
	}
	for line, n := range is {
		for range n - was[line] {
			come = append(come, line)
		}
	}
	slices.Sort(gone)
	slices.Sort(come)
	return gone, come
}
