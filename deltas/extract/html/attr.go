package html

import (
	"bytes"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// attributes are those of a tag that matter here, as they are written.
type attributes struct {
	values [attributeCount]string
	had    uint16 // a bit for each that the tag has
}

// attribute is one that matters.
type attribute uint8

const (
	attrHref attribute = iota
	attrAlt
	attrRel
	attrType
	attrStyle
	attrHidden

	attributeCount
)

var attributeNames = [attributeCount]string{"href", "alt", "rel", "type", "style", "hidden"}

// set keeps an attribute, if it matters. Of several with a name the first counts,
// as for browsers.
func (a *attributes) set(name, value string) {
	if name == "" {
		return
	}
	for _, i := range attributesBy[name[0]|0x20] {
		if known := attributeNames[i]; len(name) == len(known) && strings.EqualFold(name, known) {
			if !a.has(i) {
				a.had |= 1 << i
				a.values[i] = value
			}
			return
		}
	}
}

// attributesBy holds the attributes by the letter that they begin with.
var attributesBy = func() (table [256][]attribute) {
	for i, name := range attributeNames {
		table[name[0]] = append(table[name[0]], attribute(i))
	}
	return table
}()

// has reports that the tag has the attribute, which may be empty.
func (a *attributes) has(name attribute) bool { return a.had&(1<<name) != 0 }

// value returns what the attribute says, "" if the tag has it not.
func (a *attributes) value(name attribute) string {
	if !a.has(name) {
		return ""
	}
	return decodeValue(a.values[name])
}

// hide reports attributes that keep an element from being seen.
func (a *attributes) hide() bool {
	return a.has(attrHidden) && a.value(attrHidden) != "until-found" || a.has(attrStyle) && styleHides(a.value(attrStyle))
}

func styleHides(style string) bool {
	var room [128]byte
	said := room[:0]
	for i := range len(style) {
		if style[i] != ' ' {
			said = append(said, scan.LowerByte(style[i]))
		}
	}
	return bytes.Contains(said, []byte("display:none")) || bytes.Contains(said, []byte("visibility:hidden"))
}

// decodeValue returns what an attribute's value stands for.
func decodeValue(s string) string {
	s = unixLines(s)
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\ufffd")
	}
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	var b strings.Builder
	eachDecoded(s, true, func(piece string) { b.WriteString(piece) })
	return b.String()
}
