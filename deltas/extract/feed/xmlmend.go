package feed

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// mendXML returns a feed that can be read, of one that cannot be or shows no
// entries: without what its publisher forgot to close or to escape, and ended behind its
// last whole item if it is cut short. It is "" if there is nothing to mend.
func mendXML(text string) (mended string, cut bool) {
	m := mender{text: text}
	for at := 0; m.items <= content.MaxEntries; {
		open := strings.IndexByte(text[at:], '<')
		if open < 0 {
			break
		}
		if at = m.markup(at + open); len(m.open) > maxOpen {
			return "", false
		}
	}
	end, closing := len(text), ""
	if cut = len(m.open) > 0; cut {
		if m.items == 0 {
			return "", false
		}
		end, closing = m.wholeTo, m.closing()
	}
	if !cut && len(m.edits) == 0 {
		return "", false
	}
	return m.edited(end) + closing, cut
}

// maxOpen is how many elements are open at most: as if one was forgotten for each item.
// Each whole item costs a copy of what is open.
const maxOpen = content.MaxEntries

// mender looks for what keeps a feed from being read.
type mender struct {
	text  string
	open  []openTag
	edits []edit
	items int // whole ones

	whole   []openTag // what was open behind the last whole item
	wholeTo int
}

// edit is a byte of the text that is replaced.
type edit struct {
	at int
	by string
}

type openTag struct {
	name string
	end  int // behind the start tag
}

// markup reads what begins with the '<' at at and returns where it ends.
func (m *mender) markup(at int) int {
	switch rest := m.text[at:]; {
	case strings.HasPrefix(rest, "<!--"):
		return after(m.text, at, "-->")
	case strings.HasPrefix(rest, cdataOpen):
		return after(m.text, at, cdataClose)
	case strings.HasPrefix(rest, "<?"), strings.HasPrefix(rest, "<!"):
		return after(m.text, at, ">")
	case strings.HasPrefix(rest, "</"):
		name, _, ended := strings.Cut(rest[len("</"):], ">")
		if end := after(m.text, at, ">"); ended {
			m.close(strings.TrimRight(name, " \t\r\n"), end)
			return end
		}
		return len(m.text)
	case !namesTag(rest):
		m.edits = append(m.edits, edit{at, "&lt;"})
		return at + 1
	}
	name, end, _, _ := scanTag(m.text, at)
	if tag := m.text[at:end]; !strings.HasSuffix(tag, "/>") {
		m.open = append(m.open, openTag{name, end})
	}
	return end
}

// namesTag reports a '<' that a name follows. Any other, as in "I <3 you", is text.
func namesTag(text string) bool {
	if len(text) < 2 {
		return false
	}
	c := text[1]
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == ':' || c >= 0x80
}

// maxForgotten is how many elements within each other may be left open.
const maxForgotten = 8

// close reads an end tag. What is open within its element was forgotten.
func (m *mender) close(name string, end int) {
	for i := len(m.open) - 1; i >= 0 && i >= len(m.open)-1-maxForgotten; i-- {
		if m.open[i].name == name {
			m.forget(m.open[i+1:])
			m.open = m.open[:i]
			break
		}
	}
	if local := localName(name + ">"); local == "item" || local == "entry" {
		m.items++
		m.whole, m.wholeTo = append(m.whole[:0], m.open...), end
	}
}

// forget reads elements that were not closed, those of other vocabularies: what
// stands behind their start tags is their parent's.
func (m *mender) forget(tags []openTag) {
	for _, t := range tags {
		if isExtension(t.name) {
			m.edits = append(m.edits, edit{t.end - 1, "/>"})
		}
	}
}

func isExtension(name string) bool {
	return strings.Contains(name, ":") && !IsRoot(localName(name+">"))
}

// closing returns the end tags of what is open behind the last whole item.
func (m *mender) closing() string {
	m.forget(m.whole)
	var b strings.Builder
	for _, t := range slices.Backward(m.whole) {
		if !isExtension(t.name) {
			b.WriteString("</" + t.name + ">")
		}
	}
	return b.String()
}

// edited returns the text up to end, with the elements empty that were forgotten, and
// what is text escaped.
func (m *mender) edited(end int) string {
	slices.SortFunc(m.edits, func(x, y edit) int { return x.at - y.at })
	var b strings.Builder
	at := 0
	for _, e := range slices.Compact(m.edits) { // open behind the last whole item, it may have been forgotten later
		if e.at < end {
			b.WriteString(m.text[at:e.at] + e.by)
			at = e.at + 1
		}
	}
	return b.String() + m.text[at:end]
}
