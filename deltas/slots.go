package deltas

import "strings"

// memberMark stands between the name and the value of a JSON member.
const memberMark = `": `

// reader finds the slots of lines. It is a buffer for one goroutine.
type reader struct {
	shape   []byte   // of the last line: a NUL stands for each number
	numbers []string // of the last line
	at      []int    // where they stand in shape
}

// slots calls f with the slots of a line and what stands there, as far as they are
// of the kinds that are wanted. A build stamp's numbers are none.
func (r *reader) slots(line string, wanted [slotKinds]bool, f func(key slotKey, value string)) {
	if isHead(line) {
		return
	}
	if wanted[slotLine] {
		f(newKey(slotLine, line), line)
	}
	if wanted[slotStamp] {
		if masked := maskStamp(line); masked != line {
			f(newKey(slotStamp, masked), line)
			return
		}
	}
	if !wanted[slotNumber] {
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
		if masked := maskStamp(line); masked != line && !isHead(line) {
			f(newKey(slotStamp, masked))
		}
	}
}

// isHead reports the lines that make a content what it is: they are never masked.
func isHead(line string) bool {
	return line == "" || strings.HasPrefix(line, entryLabel) || strings.HasPrefix(line, textMagic)
}

// read takes a line's numbers and shape. A JSON member without a value counts as
// a number: what counts often begins with none.
func (r *reader) read(line string) {
	r.shape, r.numbers, r.at = r.shape[:0], r.numbers[:0], r.at[:0]
	line, isNull := strings.CutSuffix(line, "null")
	if isNull && !strings.HasSuffix(line, memberMark) {
		line, isNull = line[:len(line)+len("null")], false
	}
	tried := 0 // up to here there is no token
	for {
		n := digitAt(line)
		if n == len(line) {
			r.shape = append(r.shape, line...)
			break
		}
		from, to := n, n+numberEnd(line[n:])
		if n >= tried {
			if begin, end, ok := tokenAround(line, n); ok {
				from, to = begin, end
			} else {
				tried = end
			}
		}
		r.shape = append(r.shape, line[:from]...)
		r.number(line[from:to])
		line, tried = line[to:], tried-to
	}
	if isNull {
		r.number("null")
	}
}

// number takes a number, and notes where it stands.
func (r *reader) number(value string) {
	r.at = append(r.at, len(r.shape))
	r.numbers = append(r.numbers, value)
	r.shape = append(r.shape, 0)
}

// numberEnd returns the length of the number that s begins with: digits, with
// single characters between them that numbers, times and dates are written with.
func numberEnd(s string) int {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
		if end+1 < len(s) && strings.IndexByte(".,:/-'", s[end]) >= 0 && isDigit(s[end+1]) {
			end++
		}
	}
	return end
}

// The lengths in bytes of words that are taken for tokens.
const (
	shortestToken = 8
	longestToken  = 128
)

// tokenAround returns where the token stands that has a digit at the given place, as
// requests, sessions and builds are named by: hexadecimal digits, letters among them,
// and hyphens. False if there is none up to its end.
func tokenAround(line string, at int) (from, to int, ok bool) {
	from, to = at, at
	letters := 0
	for from > 0 && at-from < longestToken && isTokenByte(line[from-1]) {
		from--
	}
	for to < len(line) && to-at < longestToken && isTokenByte(line[to]) {
		to++
	}
	for _, c := range []byte(line[from:to]) {
		if !isDigit(c) && c != '-' {
			letters++
		}
	}
	whole := (from == 0 || !isWordByte(line[from-1])) && (to == len(line) || !isWordByte(line[to]))
	return from, to, whole && letters > 1 && to-from >= shortestToken
}

func isTokenByte(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '-'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// key returns the slot of the line's number i.
func (r *reader) key(i int) slotKey {
	from, to := r.around(i)
	return newKey(slotNumber, stringOf(r.shape[from:to]))
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

// sameLines reports whether two texts have the same lines, in another order.
func sameLines(was, is string) bool {
	if len(was) != len(is) || was == is {
		return false
	}
	gone, come := new(ticks).differing(was, is)
	return len(gone)+len(come) == 0
}
