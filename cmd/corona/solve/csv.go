package solve

import (
	"bytes"
	"errors"
	"io"
)

// csvReader splits a block into records of comma-separated fields by the rules of
// encoding/csv, without its string per record: plain lines are split where they
// lie, quoted ones in a buffer that is used again. Blank lines are no records.
type csvReader struct {
	rest   []byte // of the block
	line   int    // where the last record begins, from 1
	next   int    // lines read
	plain  bool   // no line has a quote
	quoted []byte
	fields [][]byte
}

// maxRecord is the most bytes of a line, and of a record of several lines.
const maxRecord = 256 << 10

var (
	errLongRecord = errors.New("is longer than 256 KiB")
	errBareQuote  = errors.New(`has a " inside of a field that is not quoted`)
	errOpenQuote  = errors.New(`has a " that is never closed`)
	errAfterQuote = errors.New(`has text between a closing " and the next comma`)
)

// newCSVReader reads a block that begins at the start of a record.
func newCSVReader(b block) *csvReader {
	return &csvReader{rest: b.text, next: b.line, plain: b.plain}
}

// read returns the fields of the next record, valid until the next call, or
// io.EOF.
func (r *csvReader) read() ([][]byte, error) {
	line, plain, err := r.begin()
	if err != nil {
		return nil, err
	}
	return r.split(line, plain)
}

// begin returns the first line of the next record, and whether it is without quotes,
// thus all of it.
func (r *csvReader) begin() (line []byte, plain bool, err error) {
	for len(line) == 0 && err == nil {
		line, err = r.readLine()
		r.line = r.next
	}
	return line, r.plain || bytes.IndexByte(line, '"') < 0, err
}

// split returns the fields of the record that a line begins.
func (r *csvReader) split(line []byte, plain bool) ([][]byte, error) {
	if !plain {
		return r.readQuoted(line)
	}
	r.fields = split(line, r.fields[:0])
	return r.fields, nil
}

// readLine returns the next line without its end.
func (r *csvReader) readLine() ([]byte, error) {
	r.next++
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	end := bytes.IndexByte(r.rest, '\n') + 1
	if end == 0 {
		end = len(r.rest) + 1 // as if it had one
	}
	if end > maxRecord {
		return nil, errLongRecord
	}
	line := r.rest[:min(end, len(r.rest))]
	r.rest = r.rest[len(line):]
	if r.next == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// readQuoted returns the fields of a record that begins with a line.
func (r *csvReader) readQuoted(line []byte) ([][]byte, error) {
	r.quoted = append(r.quoted[:0], line...)
	cut := r.gather(bytes.Count(line, []byte(`"`)))
	if cut != nil && cut != io.EOF && cut != errLongRecord {
		return nil, cut
	}
	var err error
	r.fields, err = splitQuoted(r.quoted, r.fields[:0])
	if err == errOpenQuote && cut == errLongRecord {
		err = errLongRecord
	}
	return r.fields, err
}

// gather appends lines to a record until its quotes are even. Where they stay
// odd, some quote is not as it should be, which [splitQuoted] finds.
func (r *csvReader) gather(quotes int) error {
	for quotes%2 != 0 {
		line, err := r.readLine()
		switch {
		case err != nil:
			return err
		case len(r.quoted)+len(line) >= maxRecord:
			return errLongRecord
		}
		r.quoted = append(append(r.quoted, '\n'), line...)
		quotes += bytes.Count(line, []byte(`"`))
	}
	return nil
}

// split appends the fields of a line without quotes.
func split(line []byte, fields [][]byte) [][]byte {
	for {
		comma := bytes.IndexByte(line, ',')
		if comma < 0 {
			return append(fields, line)
		}
		fields = append(fields, line[:comma])
		line = line[comma+1:]
	}
}

// splitQuoted appends the fields of a record, and overwrites it.
func splitQuoted(record []byte, fields [][]byte) ([][]byte, error) {
	for more := true; more; {
		var field []byte
		var err error
		if len(record) > 0 && record[0] == '"' {
			field, record, more, err = unquote(record[1:])
		} else {
			field, record, more = bytes.Cut(record, []byte(","))
			if bytes.IndexByte(field, '"') >= 0 {
				err = errBareQuote
			}
		}
		if err != nil {
			return fields, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// unquote returns a field, without its quotes, of text that begins behind the
// first of them, and the text behind the comma that follows, if there is more.
// The field lies where the text was: it is never longer.
func unquote(text []byte) (field, rest []byte, more bool, err error) {
	field = text[:0]
	for {
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			return nil, nil, false, errOpenQuote
		}
		field = append(field, text[:quote]...)
		text = text[quote+1:]
		switch {
		case len(text) == 0:
			return field, nil, false, nil
		case text[0] == ',':
			return field, text[1:], true, nil
		case text[0] != '"':
			return nil, nil, false, errAfterQuote
		}
		field = append(field, '"')
		text = text[1:]
	}
}
