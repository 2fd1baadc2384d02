package html

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// element is an element's name, in lower case, and what is known of it.
type element struct {
	name string
	traits
}

// traits are what is known of elements by their name.
type traits uint32

const (
	unread    traits = 1 << iota // its content is no text for readers
	breaks                       // makes lines
	structure                    // is more than a paragraph: a table row with one inside is layout, not data
	void                         // has no content
	loose                        // its end tag may be left out
	rawTag                       // its content is no markup
	rootTag                      // is shown by a script sooner or later
	titleTag
	linkTag
	anchorTag
	imageTag
	cellTag
	rowTag
	preTag
	formatting // stays open behind the end of what it stands in, see [Grows]
)

func (t traits) is(some traits) bool { return t&some != 0 }

// elements holds what is known of elements, by nameHash.
var elements = func() (table [256][]element) {
	known := make(map[string]traits)
	for t, names := range map[traits]string{
		unread: "script style noscript template svg math canvas iframe object embed audio video input select textarea datalist noembed noframes",
		breaks: "address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption figure footer " +
			"form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol p section summary table tbody tfoot thead tr ul",
		structure: "article aside blockquote body dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header html li main nav ol section " +
			"table tbody tfoot thead ul",
		void:    "area base br col embed hr img input link meta param source track wbr",
		loose:   "p li dd dt tr td th tbody thead tfoot option optgroup colgroup rt rp",
		rawTag:  "iframe noembed noframes noscript plaintext script style textarea title xmp",
		rootTag: "body html",

		formatting: "a b big code em font i nobr s small strike strong tt u",

		titleTag: "title", linkTag: "link", anchorTag: "a", imageTag: "img", cellTag: "td th", rowTag: "tr", preTag: "pre",
	} {
		for name := range strings.FieldsSeq(names) {
			known[name] |= t
		}
	}
	for name, t := range known {
		h := nameHash(name)
		table[h] = append(table[h], element{name, t})
	}
	return table
}()

// nameHash is the same for a name in any case.
func nameHash(name string) uint8 {
	first, last := name[0]|0x20, name[len(name)-1]|0x20
	return first*31 + last*7 + uint8(len(name))*101
}

// elementNamed returns the element whose name, which is not empty, is spelt so.
func elementNamed(name string) element {
	for _, e := range elements[nameHash(name)] {
		if len(name) == len(e.name) && strings.EqualFold(name, e.name) {
			return e
		}
	}
	return element{name: htmlName(name)}
}

// htmlName returns a name in lower case, as HTML has it.
func htmlName(name string) string {
	at := 0
	for at < len(name) && name[at] != 0 && name[at] == scan.LowerByte(name[at]) {
		at++
	}
	if at == len(name) {
		return name
	}
	lower := []byte(name)
	for i, c := range lower {
		lower[i] = scan.LowerByte(c)
	}
	return strings.ReplaceAll(string(lower), "\x00", "\ufffd")
}
