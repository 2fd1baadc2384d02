package lists

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"golang.org/x/net/html/charset"
)

// maxTag bounds what is read for one tag or text of OPML, in bytes.
const maxTag = 1 << 20

// readOPML yields the xmlUrl of every outline, however deep it stands. An
// outline of type rss without one is an entry without a URL; any other is a
// folder. Attributes are found in any spelling.
func readOPML(r io.Reader) iter.Seq2[listEntry, error] {
	return func(yield func(listEntry, error) bool) {
		capped := &tagReader{r: r, left: maxTag}
		decoder := xml.NewDecoder(capped)
		decoder.Strict = false // unquoted attributes, unknown entities: lists are written by hand
		decoder.Entity = xml.HTMLEntity
		decoder.CharsetReader = charset.NewReaderLabel
		for root := true; ; {
			line, _ := decoder.InputPos()
			capped.left = maxTag
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) && !root {
				return
			}
			if err != nil {
				yield(listEntry{line: line}, opmlError(err))
				return
			}
			tag, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if root && !strings.EqualFold(tag.Name.Local, "opml") {
				yield(listEntry{line: line}, fmt.Errorf("<%s> is not OPML", tag.Name.Local))
				return
			}
			root = false
			if entry, ok := outline(tag); ok {
				entry.line, entry.end = line, decoder.InputOffset()
				if !yield(entry, nil) {
					return
				}
			}
		}
	}
}

// outline returns the entry of a tag, if it is one.
func outline(tag xml.StartElement) (listEntry, bool) {
	if !strings.EqualFold(tag.Name.Local, "outline") {
		return listEntry{}, false
	}
	if url, ok := attribute(tag, "xmlUrl"); ok && strings.TrimSpace(url) != "" {
		return listEntry{url: strings.TrimSpace(url)}, true
	}
	if kind, _ := attribute(tag, "type"); strings.EqualFold(kind, "rss") {
		text, _ := attribute(tag, "text")
		return listEntry{url: text, reason: "the outline has no xmlUrl"}, true
	}
	return listEntry{}, false
}

func attribute(tag xml.StartElement, name string) (value string, ok bool) {
	for _, a := range tag.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value, true
		}
	}
	return "", false
}

// opmlError takes off the line that the XML decoder puts before its errors: the
// caller names it.
func opmlError(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("broken XML: %s", syntax.Msg)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("no OPML in it")
	}
	return err
}

// tagReader ends what would be one endless tag.
type tagReader struct {
	r    io.Reader
	left int
}

func (t *tagReader) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, fmt.Errorf("a tag or text longer than %d bytes", maxTag)
	}
	n, err := t.r.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}
