package api

import (
	"bytes"
	"encoding/json"
)

// The lines of a batch are read and written by the million, so their usual shape
// has a way of its own beside encoding/json: what it writes is what encoding/json
// writes, what it reads is what encoding/json reads from the same bytes, and
// whatever is unusual it leaves to encoding/json. Fuzz tests hold the two together.

// lineScanner reads JSON that has no escapes, no other characters than ASCII, and
// nothing twice. It is done as soon as something else comes.
type lineScanner struct {
	rest []byte
	bad  bool
}

// end reports whether everything was read, and was as it should be.
func (s *lineScanner) end() bool {
	s.space()
	return !s.bad && len(s.rest) == 0
}

func (s *lineScanner) fail() { s.bad = true }

func (s *lineScanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\r' || s.rest[0] == '\n') {
		s.rest = s.rest[1:]
	}
}

// next takes a byte if it comes next, after space.
func (s *lineScanner) next(c byte) bool {
	s.space()
	if s.bad || len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *lineScanner) want(c byte) {
	if !s.next(c) {
		s.fail()
	}
}

// word takes a word such as null, if it comes next.
func (s *lineScanner) word(word string) bool {
	s.space()
	if len(s.rest) < len(word) || string(s.rest[:len(word)]) != word {
		return false
	}
	s.rest = s.rest[len(word):]
	return true
}

// object reads an object. field is called for each name that comes, reads its
// value and returns a bit of its own, 0 for a name that it does not know.
func (s *lineScanner) object(field func(name []byte) (bit uint)) (seen uint) {
	s.want('{')
	if s.next('}') {
		return 0
	}
	for !s.bad {
		name := s.text()
		s.want(':')
		bit := field(name)
		if bit == 0 || seen&bit != 0 {
			s.fail()
		}
		seen |= bit
		if !s.next(',') {
			s.want('}')
			return seen
		}
	}
	return seen
}

// text returns the content of a string, a part of the line.
func (s *lineScanner) text() []byte {
	s.want('"')
	for i, c := range s.rest {
		if plain[c] {
			continue
		}
		if c != '"' {
			break
		}
		text := s.rest[:i]
		s.rest = s.rest[i+1:]
		return text
	}
	s.fail()
	return nil
}

// string returns a string, which is last if it is equal to that.
func (s *lineScanner) string(last string) string {
	if text := s.text(); string(text) != last {
		return string(text)
	}
	return last
}

// number returns a whole number below 10^18.
func (s *lineScanner) number() (n uint64) {
	const most = 18
	s.space()
	digits := 0
	for digits < len(s.rest) && s.rest[digits] >= '0' && s.rest[digits] <= '9' && digits <= most {
		n = 10*n + uint64(s.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > most || digits > 1 && s.rest[0] == '0' {
		s.fail()
		return 0
	}
	s.rest = s.rest[digits:]
	return n
}

// plain holds the bytes that stand in a JSON string as they are.
var plain = func() (table [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// appendText appends a JSON string.
func appendText(line []byte, text string) []byte {
	for i := range len(text) {
		if !plain[text[i]] {
			return bytes.TrimSuffix(appendJSON(line, text), []byte("\n"))
		}
	}
	line = append(line, '"')
	line = append(line, text...)
	return append(line, '"')
}

// appendJSON appends a value as encoding/json writes it, without making < > & safe
// for web pages, and a line's end.
func appendJSON(line []byte, value any) []byte {
	buffer := bytes.NewBuffer(line)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the types of this package can always be encoded
	}
	return buffer.Bytes()
}
