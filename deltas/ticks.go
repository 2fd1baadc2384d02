package deltas

import (
	"slices"
	"strings"
)

// ticks are the slots in which two contents differ where the rest of the line is
// the same, and in how many entries; a page or text is one.
type ticks struct {
	slots map[slotKey]int
	units int // entries that both have

	stamped    bool       // there may be build stamps
	gone, come []someLine // buffers
	was, is    reader
	found      []slotKey // in the entry that is compared
}

func compareSlots(base, next *Core) ticks {
	t := ticks{slots: make(map[slotKey]int), stamped: base.has(oddStamp) || next.has(oddStamp)}
	t.unit(base.body, next.body)
	if base.Title != next.Title {
		t.unit(titleLabel+base.Title+"\n", titleLabel+next.Title+"\n")
	}
	was := base.index()
	for i := range next.ids {
		if at, ok := was[next.ids[i]]; ok {
			t.units++
			t.unit(base.sections[at], next.sections[i])
		}
	}
	return t
}

// unit compares two states of an entry, or of a page: its lines that have the same
// shape, in their order. Of the others few have come or gone.
func (t *ticks) unit(was, is string) {
	if was == is {
		return
	}
	t.found = t.found[:0]
	gone, come := t.differing(was, is)
	t.shape(gone)
	t.shape(come)
	gone, come = unmatched(gone, come, t.pair)
	if len(gone)+len(come) <= maxToggled {
		for _, line := range slices.Concat(gone, come) {
			t.found = append(t.found, newKey(slotLine, line.text))
		}
	}
	slices.Sort(t.found)
	for _, key := range slices.Compact(t.found) {
		t.slots[key]++
	}
}

// pair takes in two lines of one shape.
func (t *ticks) pair(was, is string) {
	if masked := t.masked(is); masked != is {
		t.found = append(t.found, newKey(slotStamp, masked))
		return
	}
	t.was.read(was)
	t.is.read(is)
	for i, number := range t.is.numbers {
		if number != t.was.numbers[i] {
			t.found = append(t.found, t.is.key(i))
		}
	}
}

// masked is [maskStamp], which changes nothing where there are no stamps.
func (t *ticks) masked(line string) string {
	if !t.stamped {
		return line
	}
	return maskStamp(line)
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
		if line.key = t.masked(line.text); line.key != line.text {
			continue
		}
		if t.is.read(line.text); len(t.is.numbers) > 0 {
			line.key = string(t.is.shape)
		}
	}
}

// differing returns the lines that only one of two texts has. A line that one has
// twice counts twice.
func (t *ticks) differing(was, is string) (gone, come []someLine) {
	head := commonHead(was, is)
	tail := commonTail(was[head:], is[head:])
	t.gone, t.come = appendLines(t.gone[:0], was[head:len(was)-tail]), appendLines(t.come[:0], is[head:len(is)-tail])
	return unmatched(t.gone, t.come, func(was, is string) {})
}

// appendLines appends the lines of a text, each compared by all that it says.
func appendLines(lines []someLine, text string) []someLine {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, someLine{line, line, len(lines)})
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
