package judge

import (
	"slices"
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// ticks are the slots in which two contents differ where the rest of the line is
// the same, and in how many entries; and the runs of lines that came to a page and
// left it.
type ticks struct {
	slots map[slotKey]int
	units int // entries that both have

	left, come []int // the lines of the two pages that differ in more than numbers, by their numbers

	lost, got []someLine // buffers
	was, is   reader
	found     []slotKey // in the entry that is compared
}

func compareSlots(base, next *content.Core) ticks {
	t := ticks{slots: make(map[slotKey]int)}
	if base.Body() != next.Body() {
		lost, got := t.unit(base.Body(), next.Body(), slotNumber)
		t.left, t.come = placesIn(lost), placesIn(got)
	}
	if base.Title != next.Title {
		t.unit(content.TitleLabel+base.Title+"\n", content.TitleLabel+next.Title+"\n", slotNumber)
	}
	was := base.Index()
	for i := range next.Identities() {
		if at, ok := was[next.Identities()[i]]; ok {
			t.units++
			t.unit(base.Sections()[at], next.Sections()[i], slotField)
		}
	}
	return t
}

// changed reports whether a slot differs, of entries in half of those that both have.
func (t *ticks) changed(key slotKey) bool {
	n := t.slots[key]
	return n > 0 && (key.kind() != slotField || 2*n >= t.units)
}

func placesIn(lines []someLine) []int {
	numbers := make([]int, len(lines))
	for i, line := range lines {
		numbers[i] = line.place
	}
	return numbers
}

// unit compares two states of an entry, or of a page: its lines that have the same
// shape, in their order. It returns the others.
func (t *ticks) unit(was, is string, kind slotKind) (lost, got []someLine) {
	if was == is {
		return nil, nil
	}
	t.found = t.found[:0]
	lost, got = t.differing(was, is)
	t.shape(lost)
	t.shape(got)
	lost, got = unmatched(lost, got, func(was, is string) { t.pair(was, is, kind) })
	slices.Sort(t.found)
	for _, key := range slices.Compact(t.found) {
		t.slots[key]++
	}
	return lost, got
}

// pair reads two lines of one shape.
func (t *ticks) pair(was, is string, kind slotKind) {
	t.was.read(was)
	t.is.read(is)
	for i, number := range t.is.numbers {
		if number != t.was.numbers[i] {
			t.found = append(t.found, t.is.key(kind, i))
		}
	}
}

// someLine is a line of a text, and what it is compared by.
type someLine struct {
	key, text string
	place     int // in the text
}

// shape makes lines compared by what they share with their other states.
func (t *ticks) shape(lines []someLine) {
	for i := range lines {
		line := &lines[i]
		if t.is.read(line.text); len(t.is.numbers) > 0 {
			line.key = string(t.is.shape)
		}
	}
}

// differing returns the lines that only one of two texts has. A line that one has
// twice counts twice.
func (t *ticks) differing(was, is string) (gone, come []someLine) {
	head := scan.CommonHead(was, is)
	tail := scan.CommonTail(was[head:], is[head:])
	first := strings.Count(was[:head], "\n")
	t.lost, t.got = appendLines(t.lost[:0], was[head:len(was)-tail], first), appendLines(t.got[:0], is[head:len(is)-tail], first)
	return unmatched(t.lost, t.got, func(was, is string) {})
}

// appendLines appends the lines of a text, the first of which has a number, each
// compared by all that it says.
func appendLines(lines []someLine, text string, first int) []someLine {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, someLine{line, line, first + len(lines)})
	}
	return lines
}

// unmatched calls match with lines of a and b that are compared by the same, the
// first with the first, and returns the others, in the memory of a and b.
func unmatched(a, b []someLine, match func(a, b string)) (onlyA, onlyB []someLine) {
	slices.SortFunc(a, compareLines)
	slices.SortFunc(b, compareLines)
	onlyA, onlyB = a[:0], b[:0]
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0].key, b[0].key); {
		case c < 0:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case c > 0:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			match(a[0].text, b[0].text)
			a, b = a[1:], b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}

func compareLines(a, b someLine) int {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c
	}
	return a.place - b.place
}
