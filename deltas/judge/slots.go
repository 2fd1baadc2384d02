package judge

import (
	"strings"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// memberMark stands between the name and the value of a JSON member.
const memberMark = `": `

// reader finds the slots of lines. It is a buffer for one goroutine.
type reader struct {
	shape   []byte   // of the last line: a NUL stands for each number
	numbers []string // of the last line
	at      []int    // where they stand in shape
}

// slots calls f with the slots of a line and what stands there.
func (r *reader) slots(line string, kind slotKind, f func(key slotKey, value string)) {
	if isHead(line) {
		return
	}
	r.read(line)
	for i, value := range r.numbers {
		f(r.key(kind, i), value)
	}
}

// isHead reports the lines that make a content what it is: they are never masked.
func isHead(line string) bool {
	return line == "" || strings.HasPrefix(line, content.EntryLabel) || strings.HasPrefix(line, content.TextMagic)
}

// read takes a line's numbers and shape. A JSON member without a value counts as
// a number: what counts often begins with none. So does a whole date, words and all.
func (r *reader) read(line string) {
	r.shape, r.numbers, r.at = r.shape[:0], r.numbers[:0], r.at[:0]
	isNull := strings.HasSuffix(line, memberMark+"null")
	if isNull {
		line = line[:len(line)-len("null")]
	}
	for {
		n := scan.DigitAt(line)
		if n == len(line) {
			r.shape = append(r.shape, line...)
			break
		}
		from, to, token := tokenAround(line, n)
		if !token {
			from, to = wholeNumber(line, n, n+numberEnd(line[n:]))
		}
		r.shape = append(r.shape, line[:from]...)
		r.number(line[from:to])
		line = line[to:]
	}
	if isNull {
		r.number("null")
	}
}

// wholeNumber returns where the number ends that has digits at a place: with its unit
// ("1.2K", "3h 20m"), or with the words of the date that it belongs to ("Mon Nov 2, 2026
// 3:04 pm").
func wholeNumber(line string, from, to int) (int, int) {
	digits := line[from:to]
	if end := unitEnd(line, to); end > to {
		return from, nextUnits(line, end)
	}
	begin := wordsBefore(line, from)
	end, words := datesAfter(line, to)
	if begin < from || words || strings.Contains(digits, ":") || strings.Count(digits, "-") == 2 || strings.Count(digits, "/") == 2 {
		return begin, end
	}
	return from, to
}

// unitEnd returns the end of the unit that follows a number without a space, or at.
func unitEnd(line string, at int) int {
	end := at
	for end < len(line) && end-at <= longestUnit && scan.IsLetter(line[end]) {
		end++
	}
	if end < len(line) && scan.IsWordByte(line[end]) || !isAmong(units, line[at:end]) {
		return at
	}
	return end
}

const longestUnit = 4

// units are what stands behind a number and is one with it.
var units = scan.Set("s", "sec", "secs", "m", "min", "mins", "h", "hr", "hrs", "d", "w", "mo", "y", "yr", "ms", "k", "mn", "mio", "b", "bn", "kb", "mb", "gb", "tb")

// nextUnits returns the end of the numbers with units that follow after a space.
func nextUnits(line string, at int) int {
	for at+1 < len(line) && line[at] == ' ' && scan.IsDigit(line[at+1]) {
		number := at + 1 + numberEnd(line[at+1:])
		end := unitEnd(line, number)
		if end == number {
			break
		}
		at = end
	}
	return at
}

// wordsBefore returns where the words of a date begin that end before a place.
func wordsBefore(line string, at int) int {
	for {
		end := at
		for end > 0 && (line[end-1] == ' ' || line[end-1] == ',' || line[end-1] == '.') {
			end--
		}
		begin := end
		for begin > 0 && scan.IsLetter(line[begin-1]) {
			begin--
		}
		if end == at || begin == end || begin > 0 && scan.IsWordByte(line[begin-1]) || !isAmong(calendarWords, line[begin:end]) {
			return at
		}
		at = begin
	}
}

// datesAfter returns where the words and numbers of a date end that begin at a place,
// and whether there is a word among them. Without one, what follows belongs to no date.
// Numbers that may yet belong to one are looked at no further than a date has parts, so
// that a list of numbers is read in linear time.
func datesAfter(line string, at int) (end int, words bool) {
	end = at
	for next, loose := at, 0; loose <= mostLoose; {
		begin := next
		for begin < len(line) && begin-next <= mostLoose && (line[begin] == ' ' || line[begin] == ',') {
			begin++
		}
		switch {
		case begin == next && next > at || begin == len(line):
			return end, words
		case scan.IsDigit(line[begin]) && begin > next:
			next = begin + numberEnd(line[begin:])
			if words || strings.Contains(line[begin:next], ":") {
				end, loose = next, 0
			} else {
				loose++
			}
		default:
			last := begin
			for last < len(line) && scan.IsLetter(line[last]) {
				last++
			}
			if last < len(line) && scan.IsWordByte(line[last]) || !isAmong(calendarWords, line[begin:last]) {
				return end, words
			}
			next, end, words, loose = last, last, true, 0
		}
	}
	return end, words
}

// mostLoose is how many numbers in a row, or spaces and commas, may stand in a date
// before a word or a time shows that it is one.
const mostLoose = 4

// calendarWords are words that stand in dates and times.
var calendarWords = scan.Set("jan", "january", "feb", "february", "mar", "march", "apr", "april", "may", "jun", "june", "jul", "july",
	"aug", "august", "sep", "sept", "september", "oct", "october", "nov", "november", "dec", "december",
	"mon", "monday", "tue", "tues", "tuesday", "wed", "wednesday", "thu", "thurs", "thursday", "fri", "friday",
	"sat", "saturday", "sun", "sunday", "am", "pm", "utc", "gmt")

// isAmong reports a word of letters, in any case, that is one of those given. Most
// words near numbers are none, and many numbers have no word near.
func isAmong(words map[string]bool, word string) bool {
	var room [len("september")]byte
	if word == "" || len(word) > len(room) {
		return false
	}
	for i := range len(word) {
		room[i] = scan.LowerByte(word[i])
	}
	return words[string(room[:len(word)])]
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
	for end < len(s) && scan.IsDigit(s[end]) {
		end++
		if end+1 < len(s) && joinsDigits[s[end]] && scan.IsDigit(s[end+1]) {
			end++
		}
	}
	return end
}

var joinsDigits = [256]bool{'.': true, ',': true, ':': true, '/': true, '-': true, '\'': true}

// tokenAround returns the word of hexadecimal digits, letters among them, around a
// digit: requests, sessions and builds are named so.
func tokenAround(line string, digit int) (from, to int, ok bool) {
	letters := 0
	for from = digit; from > 0 && scan.IsHex(line[from-1]); from-- {
		letters++
	}
	for to = digit; to < len(line) && (scan.IsHex(line[to]) || line[to] == '-' && to+1 < len(line) && scan.IsHex(line[to+1])); to++ {
		if scan.IsLetter(line[to]) {
			letters++
		}
	}
	return from, to, letters > 1 && to-from >= shortestToken
}

const shortestToken = 8 // bytes

// key returns the slot of the line's number i.
func (r *reader) key(kind slotKind, i int) slotKey {
	from, to := r.around(i)
	return newKey(kind, scan.StringOf(r.shape[from:to]))
}

// around returns what of the shape number i is known by: what stands around it up
// to a word on either side, so that "Pulls: 7,093" is one slot in whatever line; of
// lines without words near, mostAround bytes.
func (r *reader) around(i int) (from, to int) {
	at := r.at[i]
	from, to = at, at+1
	for word := false; from > max(0, at-mostAround); from-- {
		letter := scan.IsWordByte(r.shape[from-1])
		if word && !letter {
			break
		}
		word = word || letter
	}
	for word := false; to < min(len(r.shape), at+1+mostAround); to++ {
		letter := scan.IsWordByte(r.shape[to])
		if word && !letter {
			break
		}
		word = word || letter
	}
	return from, to
}

// mostAround bounds what of a line a number is known by, in bytes on either side.
const mostAround = 128
