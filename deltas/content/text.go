package content

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/extract/lines"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// ParseCore returns the core content whose Text is text, as [extract.Content] and
// [codec.Apply] wrote it. The error is [ErrCorrupt] or [ErrVersion]. The Core
// keeps text, which is not to be written to afterwards.
func ParseCore(text []byte) (*Core, error) { return parseCore(text, nil) }

// parseCore is ParseCore for text many of whose entries are those of base, which
// may be nil.
func parseCore(text []byte, base *Core) (*Core, error) {
	all := scan.StringOf(text)
	content, tail, ok := strings.Cut(all, NotesMark)
	if !ok || content == "" || !strings.HasSuffix(content, "\n") {
		return nil, fmt.Errorf("%w: core text without notes", ErrCorrupt)
	}
	if strings.IndexByte(content, 0) >= 0 { // package judge has it stand for numbers
		return nil, fmt.Errorf("%w: core text with a control character", ErrCorrupt)
	}
	c := &Core{Text: text, content: content}
	if err := c.parseContent(content, base); err != nil {
		return nil, err
	}
	n, err := ParseNotes(tail, len(c.Entries))
	if err != nil {
		return nil, err
	}
	c.apply(n)
	c.Hash = HashOf(c.Content())
	return c, nil
}

// parseContent reads the content. Entries come in the order of the content.
func (c *Core) parseContent(content string, base *Core) error {
	first, rest, _ := strings.Cut(content, "\n")
	name, ok := strings.CutPrefix(first, TextMagic)
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
	if title, ok := strings.CutPrefix(rest, TitleLabel); ok {
		c.Title, rest, _ = strings.Cut(title, "\n")
	}
	if kind == KindHTML || kind == KindText {
		if c.body, ok = strings.CutPrefix(rest, "\n"); !ok {
			return fmt.Errorf("%w: no empty line after the head of core text", ErrCorrupt)
		}
		return nil
	}
	return c.parseSections(rest, base)
}

// parseSections reads the lines of the document itself and the entries.
func (c *Core) parseSections(rest string, base *Core) error {
	if base != nil && base.Kind != c.Kind {
		base = nil
	}
	end := 0
	if !strings.HasPrefix(rest, EntryLabel) {
		end = nextSection(rest)
	}
	c.body = rest[:end]
	if c.body != "" && !strings.HasPrefix(c.body, Indent) {
		return fmt.Errorf("%w: core text has %.40q where an entry was due", ErrCorrupt, c.body)
	}
	rest = rest[end:]
	c.expect(min(strings.Count(rest, "\n"+EntryLabel)+1, MaxEntries))
	for rest != "" {
		if len(c.Entries) == MaxEntries {
			return fmt.Errorf("%w: core text has more than %d entries", ErrCorrupt, MaxEntries)
		}
		end := nextSection(rest)
		if err := c.parseEntry(rest[:end], base); err != nil {
			return err
		}
		rest = rest[end:]
	}
	return nil
}

// expect makes room for so many entries.
func (c *Core) expect(entries int) {
	c.Entries, c.sections, c.ids = make([]Entry, 0, entries), make([]string, 0, entries), make([]uint64, 0, entries)
}

// nextSection returns where the next entry's lines begin.
func nextSection(s string) int {
	if i := strings.Index(s, "\n"+EntryLabel); i >= 0 {
		return i + 1
	}
	return len(s)
}

// parseEntry reads the entry of a section, unless base has the same.
func (c *Core) parseEntry(section string, base *Core) error {
	name, _, _ := strings.Cut(section, "\n")
	id := IdentityOf(strings.TrimPrefix(name, EntryLabel))
	if known := base.entryOf(id, section); known != nil {
		c.Entries = append(c.Entries, *known)
		last := &c.Entries[len(c.Entries)-1]
		last.Published, last.Updated = "", ""
	} else {
		entry, err := parseSection(c.Kind, section)
		if err != nil {
			return err
		}
		c.Entries = append(c.Entries, entry)
	}
	c.sections, c.ids = append(c.sections, section), append(c.ids, id)
	return nil
}

// entryOf returns the entry of an identity, nil if it has not that section.
func (c *Core) entryOf(id uint64, section string) *Entry {
	if c == nil {
		return nil
	}
	if i, ok := c.Index()[id]; ok && c.sections[i] == section {
		return &c.Entries[i]
	}
	return nil
}

func parseSection(kind Kind, section string) (Entry, error) {
	var room [24]string // nearly all entries have few lines
	d, err := readSection(section, room[:0])
	if err != nil {
		return Entry{}, err
	}
	if kind == KindJSON {
		return jsonEntry(d.ID, d.Lines), nil
	}
	summary := d.Summary
	if summary == "" {
		summary = lines.Summarise(d.Lines)
	}
	e := Entry{ID: d.ID, Title: d.Title, Link: d.Link, Summary: summary}
	for _, line := range d.More {
		if category, ok := strings.CutPrefix(line, CategoryLabel); ok {
			e.Categories = append(e.Categories, category)
		} else {
			e.Geometry = strings.TrimPrefix(line, GeometryLabel)
		}
	}
	return e, nil
}

// readSection is the inverse of [DraftEntry.section]. The lines are appended to
// those given.
func readSection(section string, lines []string) (DraftEntry, error) {
	e := DraftEntry{Lines: lines}
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, Indent); ok {
			e.Lines = append(e.Lines, text)
			continue
		}
		label, value, _ := strings.Cut(line, ": ")
		switch {
		case label+": " == EntryLabel:
			e.ID = value
		case label+": " == TitleLabel:
			e.Title = value
		case label+": " == linkLabel:
			e.Link = value
		case label+": " == sumLabel:
			e.Summary = value
		case label+": " == GeometryLabel, label+": " == CategoryLabel:
			e.More = append(e.More, line)
		default:
			return DraftEntry{}, fmt.Errorf("%w: core text has line %.40q in an entry", ErrCorrupt, line)
		}
	}
	return e, nil
}

// ParseNotes reads what stands behind [NotesMark] in the text of a content with so
// many entries. The error is [ErrCorrupt].
func ParseNotes(tail string, entries int) (n Notes, err error) {
	n.Entries = make([]Note, 0, entries)
	seen := make([]bool, entries)
	for line := range strings.Lines(tail) {
		line = strings.TrimSuffix(line, "\n")
		if feed, ok := strings.CutPrefix(line, feedLabel); ok {
			n.FeedURL = feed
			continue
		}
		e, ok := parseNote(line)
		if !ok || e.Place >= entries || seen[e.Place] {
			return Notes{}, fmt.Errorf("%w: core text has note %.40q", ErrCorrupt, line)
		}
		seen[e.Place] = true
		n.Entries = append(n.Entries, e)
	}
	return n, nil
}

func parseNote(line string) (Note, bool) {
	first, dates, _ := strings.Cut(line, " ")
	published, updated, ok := strings.Cut(dates, " ")
	place, err := strconv.ParseUint(first, 10, 31)
	return Note{int(place), undash(published), undash(updated)}, err == nil && ok && !strings.Contains(updated, " ")
}

// apply puts the entries into the order of the notes and dates them. Entries
// without a note come last, in the order of the content.
func (c *Core) apply(n Notes) {
	c.FeedURL = n.FeedURL
	entries, sections, ids := c.Entries, c.sections, c.ids
	c.Entries, c.sections, c.ids = make([]Entry, 0, len(entries)), make([]string, 0, len(entries)), make([]uint64, 0, len(entries))
	c.places = make([]int, 0, len(entries))
	for _, e := range n.Entries {
		entries[e.Place].Published, entries[e.Place].Updated = e.Published, e.Updated
		c.places = append(c.places, e.Place)
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
