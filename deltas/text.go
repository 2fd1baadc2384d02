package deltas

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseCore returns the core content whose Text is text, as [Extract] and
// [ApplyDelta] wrote it. The error is [ErrCorrupt] or [ErrVersion]. The Core
// keeps text, which is not to be written to afterwards.
func ParseCore(text []byte) (*Core, error) {
	all := string(text)
	content, tail, ok := strings.Cut(all, notesMark)
	if !ok || content == "" || !strings.HasSuffix(content, "\n") {
		return nil, fmt.Errorf("%w: core text without notes", ErrCorrupt)
	}
	c := &Core{Text: text, content: len(content)}
	if err := c.parseContent(content); err != nil {
		return nil, err
	}
	n, err := parseNotes(tail, len(c.Entries))
	if err != nil {
		return nil, err
	}
	c.apply(n)
	c.Hash = hashOf(c.Content())
	return c, nil
}

// parseContent reads the content. Entries come in the order of the content.
func (c *Core) parseContent(content string) error {
	first, rest, _ := strings.Cut(content, "\n")
	name, ok := strings.CutPrefix(first, textMagic)
	if !ok {
		if strings.HasPrefix(first, "corona-core ") {
			return fmt.Errorf("%w of core text: %.40q", ErrVersion, first)
		}
		return fmt.Errorf("%w: core text begins %.40q", ErrCorrupt, first)
	}
	kind, err := ParseKind(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	c.Kind = kind
	if title, ok := strings.CutPrefix(rest, titleLabel); ok {
		c.Title, rest, _ = strings.Cut(title, "\n")
	}
	if kind == KindHTML || kind == KindText {
		if c.body, ok = strings.CutPrefix(rest, "\n"); !ok {
			return fmt.Errorf("%w: no empty line after the head of core text", ErrCorrupt)
		}
		return nil
	}
	return c.parseSections(rest)
}

// parseSections reads the lines of the document itself and the entries.
func (c *Core) parseSections(rest string) error {
	end := 0
	if !strings.HasPrefix(rest, entryLabel) {
		end = nextSection(rest)
	}
	c.body = rest[:end]
	if c.body != "" && !strings.HasPrefix(c.body, indent) {
		return fmt.Errorf("%w: core text has %.40q where an entry was due", ErrCorrupt, c.body)
	}
	for rest = rest[end:]; rest != ""; {
		if len(c.Entries) == MaxEntries {
			return fmt.Errorf("%w: core text has more than %d entries", ErrCorrupt, MaxEntries)
		}
		end := nextSection(rest)
		entry, err := parseSection(c.Kind, rest[:end])
		if err != nil {
			return err
		}
		c.Entries = append(c.Entries, entry)
		c.sections = append(c.sections, rest[:end])
		c.ids = append(c.ids, identityOf(entry.ID))
		rest = rest[end:]
	}
	return nil
}

// nextSection returns where the next entry's lines begin.
func nextSection(s string) int {
	if i := strings.Index(s, "\n"+entryLabel); i >= 0 {
		return i + 1
	}
	return len(s)
}

func parseSection(kind Kind, section string) (Entry, error) {
	var e Entry
	var lines []string
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		label, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, indent):
			lines = append(lines, line[len(indent):])
		case label+": " == entryLabel:
			e.ID = value
		case label+": " == titleLabel:
			e.Title = value
		case label+": " == linkLabel:
			e.Link = value
		case label+": " == sumLabel:
			e.Summary = value
		default:
			return Entry{}, fmt.Errorf("%w: core text has line %.40q in an entry", ErrCorrupt, line)
		}
	}
	if kind == KindJSON {
		return jsonEntry(e.ID, lines), nil
	}
	if e.Summary == "" {
		e.Summary = summarise(lines)
	}
	return e, nil
}

func parseNotes(tail string, entries int) (n notes, err error) {
	n.entries = make([]note, 0, entries)
	seen := make([]bool, entries)
	for line := range strings.Lines(tail) {
		line = strings.TrimSuffix(line, "\n")
		if feed, ok := strings.CutPrefix(line, feedLabel); ok {
			n.feedURL = feed
			continue
		}
		e, ok := parseNote(line)
		if !ok || e.place >= entries || seen[e.place] {
			return notes{}, fmt.Errorf("%w: core text has note %.40q", ErrCorrupt, line)
		}
		seen[e.place] = true
		n.entries = append(n.entries, e)
	}
	return n, nil
}

func parseNote(line string) (note, bool) {
	fields := strings.Split(line, " ")
	if len(fields) != 3 {
		return note{}, false
	}
	place, err := strconv.ParseUint(fields[0], 10, 31)
	return note{int(place), undash(fields[1]), undash(fields[2])}, err == nil
}

// apply puts the entries into the order of the notes and dates them. Entries
// without a note come last, in the order of the content.
func (c *Core) apply(n notes) {
	c.FeedURL = n.feedURL
	entries, sections, ids := c.Entries, c.sections, c.ids
	c.Entries, c.sections, c.ids = make([]Entry, 0, len(entries)), make([]string, 0, len(entries)), make([]uint64, 0, len(entries))
	c.places = make([]int, 0, len(entries))
	for _, e := range n.entries {
		entries[e.place].Published, entries[e.place].Updated = e.published, e.updated
		c.places = append(c.places, e.place)
	}
	noted := make([]bool, len(entries))
	for _, place := range c.places {
		noted[place] = true
	}
	for place := range entries {
		if !noted[place] {
			c.places = append(c.places, place)
		}
	}
	for _, place := range c.places {
		c.Entries = append(c.Entries, entries[place])
		c.sections = append(c.sections, sections[place])
		c.ids = append(c.ids, ids[place])
	}
}
