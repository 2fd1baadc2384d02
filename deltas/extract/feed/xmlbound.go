package feed

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/extract/html"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// Caps on an XML document before a parser that builds a tree sees it.
const (
	maxElements   = 500_000
	maxAttributes = 256    // of one element
	maxNamespaces = 20_000 // elements that declare some
)

// boundXML scans a feed's tags, without building anything, and returns the feed
// cut after [content.MaxEntries] items, all elements closed. What is nested too deep or
// holds too much is refused.
func boundXML(text string) (string, error) {
	s := xmlScan{text: text}
	for at := strings.IndexByte(text, '<'); at >= 0 && at < len(text); {
		next, err := s.markup(at)
		if err != nil {
			return "", err
		}
		if s.items > content.MaxEntries {
			return text[:at] + s.closing(), nil
		}
		i := strings.IndexByte(text[next:], '<')
		if i < 0 {
			break
		}
		at = next + i
	}
	return text, nil
}

// boundTrees returns an Atom feed without the texts of which gofeed would build trees
// that are too large, see [html.Grows]. It reads tokens as gofeed does.
func boundTrees(text string) string {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, text io.Reader) (io.Reader, error) { return text, nil } // it is UTF-8, whatever it declares
	based := strings.Contains(text, ":base")
	var b strings.Builder
	kept, depth := 0, 0
	from, within, nested := 0, 0, false // of the text that is read: where it begins, its depth, and whether another stands in it
	for {
		at := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return b.String() + text[kept:]
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			switch {
			case !holdsHTML(token):
			case within == 0:
				from, within, nested = int(d.InputOffset()), depth, false
			default:
				nested = true
			}
		case xml.EndElement:
			if depth == within {
				if within = 0; nested && html.Many(text[from:at]) || growsTree(text[from:at], based) {
					b.WriteString(text[kept:from])
					kept = at
				}
			}
			depth--
		}
	}
}

// holdsHTML reports the types whose text gofeed makes a tree of.
func holdsHTML(t xml.StartElement) bool {
	return slices.ContainsFunc(t.Attr, func(a xml.Attr) bool {
		if a.Name.Local != "type" {
			return false
		}
		kind := strings.ToLower(a.Value)
		return kind == "html" || strings.Contains(kind, "xhtml")
	})
}

// growsTree reports a text whose tree may be too large: as it is written, and decoded if
// its links are resolved.
func growsTree(raw string, based bool) bool {
	x := xmlText{raw: raw, sections: strings.Contains(raw, cdataOpen)}
	return !x.sections && html.Grows(raw) || based && html.Grows(decodeContent(x))
}

type xmlScan struct {
	text       string
	open       []string
	items      int
	elements   int
	namespaces int
}

// markup reads what begins with the '<' at at and returns where it ends.
func (s *xmlScan) markup(at int) (int, error) {
	rest := s.text[at:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return after(s.text, at, "-->"), nil
	case strings.HasPrefix(rest, "<![CDATA["):
		return after(s.text, at, "]]>"), nil
	case strings.HasPrefix(rest, "<?"):
		return after(s.text, at, "?>"), nil
	case strings.HasPrefix(rest, "<!"):
		return after(s.text, at, ">"), nil
	case strings.HasPrefix(rest, "</"):
		s.close(localName(rest[2:min(len(rest), 80)]))
		return after(s.text, at, ">"), nil
	}
	return s.start(at)
}

// close pops what an end tag closes. The parser closes forgotten elements by
// itself, so an end tag without its start is passed over.
func (s *xmlScan) close(name string) {
	for i := len(s.open) - 1; i >= 0 && i >= len(s.open)-4; i-- {
		if strings.EqualFold(localName(s.open[i]+">"), name) {
			s.open = s.open[:i]
			return
		}
	}
}

func (s *xmlScan) start(at int) (int, error) {
	name, end, attributes, declares := scanTag(s.text, at)
	s.elements++
	if declares {
		s.namespaces++
	}
	if local := localName(name + ">"); local == "item" || local == "entry" {
		s.items++
	}
	if s.items > content.MaxEntries {
		return end, nil
	}
	if !strings.HasSuffix(s.text[at:end], "/>") {
		s.open = append(s.open, name)
	}
	switch {
	case len(s.open) > scan.MaxDepth:
		return 0, &content.ParseError{Kind: content.KindFeed, Reason: "elements nested too deep"}
	case attributes > maxAttributes:
		return 0, &content.ParseError{Kind: content.KindFeed, Reason: "too many attributes in one element"}
	case s.elements > maxElements, s.namespaces > maxNamespaces:
		return 0, &content.ParseError{Kind: content.KindFeed, Reason: "too many elements"}
	}
	return end, nil
}

// scanTag returns the name of the start tag at at, where it ends, how many
// attributes it has, and whether one declares a namespace.
func scanTag(text string, at int) (name string, end, attributes int, declares bool) {
	i := at + 1
	for i < len(text) && strings.IndexByte(" \t\r\n/>", text[i]) < 0 {
		i++
	}
	name = text[at+1 : i]
	for quote := byte(0); i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '=':
			attributes++
		case c == '>':
			tag := text[at : i+1]
			return name, i + 1, attributes, strings.Contains(tag, "xmlns")
		}
	}
	return name, len(text), attributes, false
}

func (s *xmlScan) closing() string {
	var b strings.Builder
	for i := len(s.open) - 1; i >= 0; i-- {
		b.WriteString("</" + s.open[i] + ">")
	}
	return b.String()
}
