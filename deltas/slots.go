package deltas

import (
	"bytes"
	"slices"
	"strings"
)

// memberMark stands between the name and the value of a JSON member.
const memberMark = `": `

// reader finds the slots of lines. It is a buffer for one goroutine.
type reader struct {
	shape   []byte   // of the last line: a NUL stands for each number
	numbers [][]byte // of the last line
	at      []int    // where they stand in shape
}

// slots calls f with the slots of a line, which may be a build stamp if its
// content is stamped, and what stands there; with its numbers if they are wanted.
func (r *reader) slots(line []byte, stamped, numbers bool, f func(key slotKey, value []byte)) {
	if isHead(line) {
		return
	}
	f(newKey(slotLine, line), line)
	if stamped {
		if masked := maskStamp(string(line)); masked != string(line) {
			f(newKey(slotStamp, []byte(masked)), line)
			return
		}
	}
	if !numbers {
		return
	}
	r.read(line)
	for i, value := range r.numbers {
		f(r.key(i), value)
	}
}

// stamps calls f with the slots of a content's build stamps.
func (r *reader) stamps(c *Core, f func(slotKey)) {
	if !c.has(oddStamp) {
		return
	}
	for line := range strings.Lines(c.content) {
		line = strings.TrimSuffix(line, "\n")
		if masked := maskStamp(line); masked != line && !isHead([]byte(line)) {
			f(newKey(slotStamp, []byte(masked)))
		}
	}
}

// isHead reports the lines that make a content what it is: they are never masked.
func isHead(line []byte) bool {
	return len(line) == 0 || bytes.HasPrefix(line, []byte(entryLabel)) || bytes.HasPrefix(line, []byte(textMagic))
}

// read takes a line's numbers and shape. A JSON member without a value counts as
// a number: what counts often begins with none.
func (r *reader) read(line []byte) {
	r.shape, r.numbers, r.at = r.shape[:0], r.numbers[:0], r.at[:0]
	line, isNull := bytes.CutSuffix(line, []byte("null"))
	if isNull && !bytes.HasSuffix(line, []byte(memberMark)) {
		line, isNull = line[:len(line)+len("null")], false
	}
	for {
		n := digitAt(line)
		r.shape = append(r.shape, line[:n]...)
		if line = line[n:]; len(line) == 0 {
			break
		}
		n = numberEnd(line)
		r.number(line[:n])
		line = line[n:]
	}
	if isNull {
		r.number([]byte("null"))
	}
}

// number takes a number, and notes where it stands.
func (r *reader) number(value []byte) {
	r.at = append(r.at, len(r.shape))
	r.numbers = append(r.numbers, value)
	r.shape = append(r.shape, 0)
}

// numberEnd returns the length of the number that s begins with: digits, with
// single characters between them that numbers, times and dates are written with.
func numberEnd(s []byte) int {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
		if end+1 < len(s) && strings.IndexByte(".,:/-'", s[end]) >= 0 && isDigit(s[end+1]) {
			end++
		}
	}
	return end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// key returns the slot of the line's number i.
func (r *reader) key(i int) slotKey {
	from, to := r.around(i)
	return newKey(slotNumber, r.shape[from:to])
}

// around returns what of the shape number i is known by: what stands around it up
// to a word on either side, so that "Pulls: 7,093" is one slot in whatever line.
func (r *reader) around(i int) (from, to int) {
	from, to = r.at[i], r.at[i]+1
	for word := false; from > 0; from-- {
		letter := isWordByte(r.shape[from-1])
		if word && !letter {
			break
		}
		word = word || letter
	}
	for word := false; to < len(r.shape); to++ {
		letter := isWordByte(r.shape[to])
		if word && !letter {
			break
		}
		word = word || letter
	}
	return from, to
}

// ticks are the slots in which two contents differ where the rest of the line is
// the same, and in how many entries; a page or text is one.
type ticks struct {
	slots map[slotKey]int
	units int // entries that both have
}

func compareSlots(base, next *Core) ticks {
	t := ticks{slots: make(map[slotKey]int)}
	t.unit(base.body, next.body)
	t.unit(titleLabel+base.Title, titleLabel+next.Title)
	was := base.index()
	for i := range next.ids {
		if at, ok := was[next.ids[i]]; ok {
			t.units++
			t.unit(base.sections[at], next.sections[i])
		}
	}
	return t
}

// unit compares two states of an entry, or of a page.
func (t *ticks) unit(was, is string) {
	if was == is {
		return
	}
	gone, come := differing(was, is)
	found := make(map[slotKey]bool)
	byShape := make(map[string][]string, len(gone))
	var r reader
	for _, line := range gone {
		shape := r.shapeOf(line)
		byShape[shape] = append(byShape[shape], line)
	}
	var toggled []string
	for _, line := range come {
		shape := r.shapeOf(line)
		if same := byShape[shape]; len(same) > 0 {
			byShape[shape] = same[1:]
			pairSlots(same[0], line, found)
		} else {
			toggled = append(toggled, line)
		}
	}
	for _, line := range byShape {
		toggled = append(toggled, line...)
	}
	if len(toggled) <= maxToggled {
		for _, line := range toggled {
			found[newKey(slotLine, []byte(line))] = true
		}
	}
	for key := range found {
		t.slots[key]++
	}
}

// shapeOf returns what a line shares with its other states.
func (r *reader) shapeOf(line string) string {
	if masked := maskStamp(line); masked != line {
		return masked
	}
	r.read([]byte(line))
	return string(r.shape)
}

// pairSlots adds the slots in which two lines of one shape differ.
func pairSlots(was, is string, found map[slotKey]bool) {
	if masked := maskStamp(is); masked != is {
		found[newKey(slotStamp, []byte(masked))] = true
		return
	}
	var a, b reader
	a.read([]byte(was))
	b.read([]byte(is))
	for i := range b.numbers {
		if !slices.Equal(a.numbers[i], b.numbers[i]) {
			found[b.key(i)] = true
		}
	}
}

// differing returns the lines that only one of two texts has, in their order. A
// line that one has twice counts twice.
func differing(was, is string) (gone, come []string) {
	count := make(map[string]int)
	for line := range strings.Lines(is) {
		count[line]++
	}
	for line := range strings.Lines(was) {
		if count[line]--; count[line] < 0 {
			gone = append(gone, strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(is) {
		if count[line] > 0 {
			count[line]--
			come = append(come, strings.TrimSuffix(line, "\n"))
		}
	}
	return gone, come
}
