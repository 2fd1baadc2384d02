package html

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// Outline is what [OutlineOf] finds of a piece of HTML.
type Outline struct {
	// Simple: a parser that makes a tree of it and writes that down again makes
	// nothing else of it than white space, quotes and entities.
	Simple   bool
	Tops     int  // elements that stand in no other
	Div      bool // the first of them is a <div>
	From, To int  // what stands in it
}

// IsSimple reports HTML of which a tree makes nothing else: known elements, each
// where HTML has it, all closed.
func IsSimple(s string) bool {
	return strings.IndexByte(s, '<') < 0 || OutlineOf(s).Simple
}

// OutlineOf returns the outline of a piece of HTML.
func OutlineOf(s string) (o Outline) {
	r := reader{rest: s}
	var room [16]string
	open := nesting(room[:0])
	for before := len(r.rest); r.next(); before = len(r.rest) {
		place := simplePlaces[r.name]
		switch {
		case r.raw != "":
			if open.refusesText() && strings.Trim(r.raw, " \t\r\n") != "" {
				return Outline{}
			}
		case place == 0, r.end && open.last() != r.name, !r.end && !open.admits(r.name, place):
			return Outline{}
		case r.end:
			open = open[:len(open)-1]
			if len(open) == 0 && o.Tops == 1 {
				o.To = len(s) - before
			}
		default:
			if len(open) == 0 {
				o.top(r.name, len(s)-len(r.rest))
			}
			if place != placeVoid {
				open = append(open, r.name)
			}
		}
	}
	o.Simple = r.rest == "" && len(open) == 0
	return o
}

func (o *Outline) top(name string, at int) {
	if o.Tops++; o.Tops == 1 {
		o.Div, o.From, o.To = name == "div", at, at
	}
}

// places are where elements may stand.
type places uint8

const (
	placeWord  places = 1 + iota // within a line
	placeBlock                   // not in a paragraph or heading
	placePart                    // in its parent alone: see simpleParents
	placeVoid                    // as placeWord, without content
)

var simplePlaces = func() map[string]places {
	m := make(map[string]places)
	for place, names := range map[places]string{
		placeWord: "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup time tt u var",
		placeBlock: "address article aside blockquote center details div dl figcaption figure footer h1 h2 h3 h4 h5 h6 header main nav ol p pre " +
			"section summary table ul",
		placePart: "caption dd dt li tbody td tfoot th thead tr",
		placeVoid: "br img wbr",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = place
		}
	}
	return m
}()

// simpleParents are where parts may stand.
var simpleParents = map[string]string{
	"caption": "table", "dd": "dl", "dt": "dl", "li": "ol ul", "tbody": "table", "tfoot": "table", "thead": "table",
	"tr": "table tbody tfoot thead", "td": "tr", "th": "tr",
}

// nesting are the elements that are open, by name.
type nesting []string

func (n nesting) last() string {
	if len(n) == 0 {
		return ""
	}
	return n[len(n)-1]
}

// refusesText reports that text does not belong here.
func (n nesting) refusesText() bool {
	switch n.last() {
	case "table", "tbody", "tfoot", "thead", "tr":
		return true
	}
	return false
}

// admits reports that an element may stand here.
func (n nesting) admits(name string, place places) bool {
	if place == placePart {
		for parent := range strings.FieldsSeq(simpleParents[name]) {
			if parent == n.last() {
				return true
			}
		}
		return false
	}
	if n.refusesText() || len(n) >= scan.MaxDepth {
		return false
	}
	for _, outer := range n {
		if name == "a" && outer == "a" || place == placeBlock && closedByBlocks[outer] {
			return false
		}
	}
	return true
}

// closedByBlocks are the elements that a block within ends.
var closedByBlocks = scan.Set("p", "h1", "h2", "h3", "h4", "h5", "h6")
